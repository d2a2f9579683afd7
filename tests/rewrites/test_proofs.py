"""Equalities that no law states, and that follow from the laws: one line each."""

import numpy as np

from egraph_opt.law_testing import Operands, listed, proves
from egraph_opt.operators import (
    ConvWindow,
    batchnorm,
    binary,
    cast,
    concat,
    conv,
    gather,
    none,
    reduce,
    reshape,
    slice_,
    split,
    transpose,
    unary,
)
from egraph_opt.operators import output as output_of

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
