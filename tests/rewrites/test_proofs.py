"""Equalities that follow from the laws: one for each algebraic fact, and some that are none.

`_follows` lets laws fire wherever they hold; `proves` alone, only where somebody needs them.
"""

from typing import Any

import numpy as np

from egraph_opt.check.proving import proves
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import (
    ConvWindow,
    batchnorm,
    binary,
    cast,
    concat,
    conv,
    gather,
    matmul,
    none,
    pad,
    reduce,
    reshape,
    slice_,
    split,
    transpose,
    unary,
)
from egraph_opt.operators import output as output_of
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.terms import listed

WINDOW = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


def _operands() -> Operands:
    return Operands(np.random.default_rng(0))


def test_transposes_around_a_function_cancel() -> None:
    g = _operands()
    x, two = g.input((2, 3, 4, 5)), g.constant(np.array(2.0))
    there, back = (0, 2, 3, 1), (0, 3, 1, 2)
    inside = unary("Sigmoid", (), binary("Mul", transpose(x, there), two))
    assert proves(g, transpose(inside, back), unary("Sigmoid", (), binary("Mul", x, two)))


def test_a_batch_normalization_between_transposes_is_one_along_the_other_axis_undone() -> None:
    g = _operands()
    x = g.input((1, 4, 6, 6))
    parameters = [g.constant(np.abs(g.rng.standard_normal(4)) + 0.5) for _ in range(4)]
    once = transpose(transpose(batchnorm(x, *parameters, 1e-5), (0, 2, 3, 1)), (0, 3, 1, 2))
    assert proves(g, once, batchnorm(x, *parameters, 1e-5))


def test_slices_over_h_w_h_w_are_one() -> None:
    g = _operands()
    x = g.input((1, 2, 20, 20))
    cut = slice_(
        slice_(slice_(slice_(x, ((2, 1, 19, 1),)), ((3, 2, 18, 1),)), ((2, 0, 16, 2),)), ((3, 1, 9, 1),)
    )
    assert proves(g, cut, slice_(x, ((2, 1, 17, 2), (3, 3, 11, 1))))


def test_a_concat_of_a_split_in_order_is_its_operand_and_in_another_order_is_not() -> None:
    g = _operands()
    x = g.input(("N", 6))
    parts = split(x, 1, (2, 4))
    assert proves(g, concat(listed(output_of(parts, 0), output_of(parts, 1)), 1), x)
    assert not proves(g, concat(listed(output_of(parts, 1), output_of(parts, 0)), 1), x)


def test_gathers_of_neighbours_are_parts_of_a_slice() -> None:
    g = _operands()
    x = g.input(("N", 6))
    one = gather(x, g.constant(np.array([1, 2])), 1)
    assert proves(
        g, concat(listed(one, gather(x, g.constant(np.array([3])), 1)), 1), slice_(x, ((1, 1, 4, 1),))
    )


def test_a_mean_in_two_steps_without_dims_is_one() -> None:
    g = _operands()
    x = g.input(("N", 3, 4, 5))
    assert proves(
        g, reduce("ReduceMean", reduce("ReduceMean", x, (3,), 0), (2,), 0), reduce("ReduceMean", x, (2, 3), 0)
    )


def test_views_and_casts_of_constants_on_the_way_cancel() -> None:
    g = _operands()
    x = g.input(("N", 4))
    there = reshape(reshape(cast(x, 11), ("N", 1, 4)), ("N", 2, 2))
    assert proves(g, cast(reshape(there, ("N", 4)), 1), x)


def test_a_shift_behind_a_convolution_without_bias_is_its_bias() -> None:
    g = _operands()
    x, w, b = g.input((1, 3, 8, 8)), g.random(4, 3, 1, 1), g.random(4)
    shifted = binary("Add", conv(x, w, none(), WINDOW), reshape(b, (1, 4, 1, 1)))
    assert proves(g, shifted, conv(x, w, b, WINDOW))


def test_different_functions_stay_apart() -> None:
    g = _operands()
    x, y = g.input((2, 3)), g.input((2, 3))
    assert not proves(g, binary("Sub", x, y), binary("Sub", y, x))


# --- sums and products, element by element ----------------------------------------------------------------


def _follows(g: Operands, left: Any, right: Any) -> bool:
    return proves(g, left, right, guards=False)


def _vectors(count: int) -> tuple[Any, ...]:
    g = _operands()
    return g, *(g.input((3, 4)) for _ in range(count))


def _add(*terms: Any) -> Any:
    """The sum, from the left to the right."""
    total, *others = terms
    for other in others:
        total = binary("Add", total, other)
    return total


def _mul(x: Any, y: Any) -> Any:
    return binary("Mul", x, y)


def _join(axis: int, *terms: Any) -> Any:
    return concat(listed(*terms), axis)


def test_sums_in_any_order_are_one() -> None:
    g, x, y, z = _vectors(3)
    assert _follows(g, _add(x, y, z), _add(z, _add(y, x)))


def test_sums_of_sums_that_share_a_term_are_one() -> None:
    g, x, y, z = _vectors(3)
    assert _follows(g, _add(_add(x, y), _add(y, z)), _add(y, _add(y, _add(x, z))))


def test_products_in_any_order_are_one() -> None:
    g, x, y, z = _vectors(3)
    assert _follows(g, _mul(_mul(x, y), _mul(y, z)), _mul(y, _mul(_mul(z, x), y)))


def test_differences_do_not_commute() -> None:
    g, x, y, z = _vectors(3)
    assert not _follows(g, binary("Sub", x, binary("Sub", y, z)), binary("Sub", binary("Sub", x, y), z))


def test_a_product_distributes_over_a_sum() -> None:
    g, x, y, z = _vectors(3)
    assert _follows(g, _mul(x, _add(y, z)), _add(_mul(z, x), _mul(x, y)))


def test_a_common_factor_of_nested_products_comes_out() -> None:
    g, x, y, z = _vectors(3)
    assert _follows(g, _add(_mul(x, y), _mul(z, _mul(x, y))), _mul(y, _add(x, _mul(x, z))))


def test_a_sum_does_not_distribute_over_a_product() -> None:
    g, x, y, z = _vectors(3)
    assert not _follows(g, _add(x, _mul(y, z)), _mul(_add(x, y), _add(x, z)))


def test_scales_and_divisors_of_a_chain_are_one_scale() -> None:
    g = _operands()
    x, a, b, c = g.input((3, 4)), *(g.constant(np.float32(v)) for v in (2, 3, 5))
    inverse = unary("Reciprocal", (), b)
    assert proves(g, _mul(binary("Div", _mul(x, a), b), c), _mul(x, _mul(_mul(a, inverse), c)))


def test_scales_meet_across_a_factor() -> None:
    g = _operands()
    x, y, a, c = g.input((3, 4)), g.input((3, 4)), g.random(4), g.constant(np.float32(3))
    assert proves(g, _mul(_mul(_mul(x, a), y), c), _mul(_mul(x, _mul(a, c)), y))


def test_a_scale_leaves_a_product_for_the_weight_behind() -> None:
    g = _operands()
    x, y, c, w = g.input((2, 3)), g.input((2, 3)), g.random(3), g.random(3, 4)
    assert proves(g, matmul(_mul(_mul(x, c), y), w), matmul(_mul(x, y), _mul(w, reshape(c, (3, 1)))))


# --- products of matrices ---------------------------------------------------------------------------------


def _matrices(*shapes: tuple[int, ...]) -> tuple[Any, ...]:
    g = _operands()
    return g, *(g.input(shape) for shape in shapes)


def test_matrix_products_associate() -> None:
    g, a, b, c, d = _matrices((2, 3), (3, 4), (4, 5), (5, 6))
    assert _follows(g, matmul(matmul(a, b), matmul(c, d)), matmul(a, matmul(matmul(b, c), d)))


def test_matrix_products_do_not_commute() -> None:
    g, a, b = _matrices((3, 3), (3, 3))
    assert not _follows(g, matmul(a, b), matmul(b, a))


def test_a_matrix_product_is_computed_in_the_cheaper_order() -> None:
    g, a, b, x = _matrices((64, 64), (64, 64), (64, 1))
    assert proves(g, matmul(matmul(a, b), x), matmul(a, matmul(b, x)))


def test_a_product_of_transposes_is_the_transpose_of_the_product() -> None:
    g, a, b = _matrices((2, 3, 4), (2, 4, 5))
    swap = (0, 2, 1)
    assert _follows(g, transpose(matmul(a, b), swap), matmul(transpose(b, swap), transpose(a, swap)))


def test_products_with_one_left_factor_add_up() -> None:
    g, a, b, c = _matrices((2, 3), (3, 4), (3, 4))
    assert proves(g, _add(matmul(a, b), matmul(a, c)), matmul(a, _add(b, c)))


def test_products_with_one_right_factor_add_up() -> None:
    g, a, b, c = _matrices((2, 3), (2, 3), (3, 4))
    assert proves(g, binary("Sub", matmul(a, c), matmul(b, c)), matmul(binary("Sub", a, b), c))


def test_a_sum_of_products_is_a_product_of_concatenations() -> None:
    g, a, b, c, d = _matrices((2, 3), (3, 4), (2, 5), (5, 4))
    assert _follows(g, _add(matmul(a, b), matmul(c, d)), matmul(_join(1, a, c), _join(0, b, d)))


def test_joined_rows_of_products_are_the_product_of_joined_rows() -> None:
    g, a, b, c = _matrices((2, 3), (5, 3), (3, 4))
    assert proves(g, _join(0, matmul(a, c), matmul(b, c)), matmul(_join(0, a, b), c))


def test_joined_columns_of_products_are_the_product_of_joined_columns() -> None:
    g, a, b, c = _matrices((2, 3), (3, 5), (3, 4))
    assert proves(g, _join(1, matmul(a, b), matmul(a, c)), matmul(a, _join(1, b, c)))


def test_parts_of_a_joint_product_are_the_products() -> None:
    g, a, b, c = _matrices((2, 3), (3, 5), (3, 4))
    parts = split(matmul(a, _join(1, b, c)), 1, (5, 4))
    assert proves(g, (output_of(parts, 0), output_of(parts, 1)), (matmul(a, b), matmul(a, c)))


def test_products_of_constants_in_sequence_are_one() -> None:
    g = _operands()
    x, v, w = g.input(("N", 3)), g.random(3, 4), g.random(4, 2)
    assert proves(g, matmul(matmul(x, v), w), matmul(x, matmul(v, w)))


def test_a_pair_of_low_rank_stays_a_pair() -> None:
    g = _operands()
    x, v, w = g.input(("N", 96)), g.random(96, 2), g.random(2, 96)
    assert not proves(g, matmul(matmul(x, v), w), matmul(x, matmul(v, w)))


# --- convolutions -----------------------------------------------------------------------------------------

RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))
PAIRS = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)


def _images() -> tuple[Any, ...]:
    """Two images and two weights, with 4 channels that go in and 6 that come out."""
    return _matrices((2, 4, 5, 5), (2, 4, 5, 5), (6, 4, 3, 3), (6, 4, 3, 3))


def _conv(x: Any, w: Any, window: ConvWindow = RING) -> Any:
    return conv(x, w, none(), window)


def test_a_convolution_is_linear_in_the_image() -> None:
    g, x, y, v, _ = _images()
    assert proves(g, _conv(_add(x, y), v), _add(_conv(x, v), _conv(y, v)))


def test_a_convolution_is_linear_in_the_weight() -> None:
    g, x, _, v, w = _images()
    assert proves(g, _conv(x, _add(v, w)), _add(_conv(x, w), _conv(x, v)))


def test_convolutions_of_one_image_along_channels_are_one() -> None:
    g, x, _, v, w = _images()
    assert proves(g, _join(1, relu(_conv(x, v)), relu(_conv(x, w))), relu(_conv(x, _join(0, v, w))))


def test_convolutions_with_one_weight_along_the_batch_are_one() -> None:
    g, x, y, v, _ = _images()
    assert proves(g, _join(0, _conv(x, v), _conv(y, v)), _conv(_join(0, x, y), v))


def test_a_sum_of_convolutions_is_one_of_all_channels() -> None:
    g, x, y, v, w = _images()
    assert _follows(g, _add(_conv(x, v), _conv(y, w)), _conv(_join(1, x, y), _join(1, v, w)))


def test_channels_that_go_in_may_be_in_any_order() -> None:
    g, x, y, v, w = _images()
    assert _follows(g, _conv(_join(1, x, y), _join(1, v, w)), _conv(_join(1, y, x), _join(1, w, v)))


def test_convolutions_beside_each_other_are_one_in_groups() -> None:
    g, x, y, v, w = _images()
    assert _follows(g, _join(1, _conv(x, v), _conv(y, w)), _conv(_join(1, x, y), _join(0, v, w), PAIRS))


def test_a_kernel_of_one_beside_a_bigger_one_is_that_size() -> None:
    g = _operands()
    x, point, v = g.input((1, 4, 5, 5)), g.random(6, 4, 1, 1), g.random(6, 4, 3, 3)
    grown = pad(point, "constant", (0, 0, 1, 1, 0, 0, 1, 1), 0.0)
    assert proves(g, _add(_conv(x, point, WINDOW), _conv(x, v)), _conv(x, _add(grown, v)))


def test_parts_of_a_joint_convolution_are_the_convolutions() -> None:
    g, x, _, v, w = _images()
    parts = split(relu(_conv(x, _join(0, v, w))), 1, (6, 6))
    assert proves(g, (output_of(parts, 0), output_of(parts, 1)), (relu(_conv(x, v)), relu(_conv(x, w))))


def test_parts_of_a_batch_are_convolutions_of_the_parts() -> None:
    g, x, y, v, _ = _images()
    parts = split(_conv(_join(0, x, y), v), 0, (2, 2))
    assert proves(g, (output_of(parts, 0), output_of(parts, 1)), (_conv(x, v), _conv(y, v)))


def test_pads_in_front_of_a_convolution_are_its_own() -> None:
    g, x, _, v, _ = _images()
    assert proves(g, _conv(pad(x, "constant", (0, 0, 1, 1, 0, 0, 1, 1), 0.0), v, WINDOW), _conv(x, v))


# --- concatenations ---------------------------------------------------------------------------------------


def test_a_function_of_a_concatenation_is_one_of_its_parts() -> None:
    g, x, y = _vectors(2)
    assert proves(g, slice_(relu(_join(1, x, y)), ((1, 4, 8, 1),)), relu(y))


def test_sums_of_concatenations_are_concatenations_of_sums() -> None:
    g, x, y, z, w = _vectors(4)
    assert _follows(g, _add(_join(1, x, z), _join(1, y, w)), _join(1, _add(y, x), _add(z, w)))


def test_concatenations_along_two_axes_are_one_table() -> None:
    g, x, y, z, w = _vectors(4)
    rows = _join(0, _join(1, x, y), _join(1, z, w))
    assert _follows(g, rows, _join(1, _join(0, x, z), _join(0, y, w)))


def test_a_table_is_not_its_transpose() -> None:
    g, x, y, z, w = _vectors(4)
    assert not _follows(g, _join(0, _join(1, x, y), _join(1, z, w)), _join(0, _join(1, x, z), _join(1, y, w)))
