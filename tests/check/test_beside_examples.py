"""What is tried beside examples: other orders, types, lengths, blocks; and kernels that laws ask for."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.check.beside.around_images import with_windows_around_images
from egraph_opt.check.beside.crossed import with_crossed_operands
from egraph_opt.check.beside.known_ranges import with_other_ranges
from egraph_opt.check.beside.magnitudes import with_other_magnitudes
from egraph_opt.check.beside.more_groups import with_more_groups
from egraph_opt.check.beside.near_values import near, near_equations, near_slices, other_arrays
from egraph_opt.check.beside.neighbours import neighbours
from egraph_opt.check.beside.variants import BEYOND_16_BITS, long_ones, variants
from egraph_opt.check.blocks import block_of, sequence_lengths, time_axis
from egraph_opt.check.choices import Choices
from egraph_opt.check.feeds.sizes import sizes_of
from egraph_opt.check.judging.excuses import is_no_rounding
from egraph_opt.check.trying import Trying
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.constants import array_fact
from egraph_opt.laws import Operands, Tensor, hosted, kernel, listed, relu, rewrite
from egraph_opt.laws.dropping import asking_kernels
from egraph_opt.laws.law import Law
from egraph_opt.operators import (
    PoolWindow,
    cast,
    conv,
    dequantize,
    gather,
    group_norm,
    none,
    pool,
    quantize,
    reduce,
    resize,
    unary,
    variadic,
)
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.scattering import lengths
from egraph_opt.operators.terms import opset
from egraph_opt.rewrites.conditions.values import all_are, fits, is_float, is_kernel_float

from .examples import example

NEAREST = (("coordinate_transformation_mode", "asymmetric"), ("mode", "nearest"), ("nearest_mode", "floor"))


def test_letters_of_an_equation_change_places() -> None:
    found = set(near_equations("abc,cd->abd"))
    assert {"bac,cd->abd", "abc,dc->abd", "abc,cd->bad"} <= found


def test_a_slice_cuts_one_axis_more() -> None:
    found = list(near_slices(((0, 1, 3, 1),)))
    assert ((0, 1, 3, 1), (1, 0, 2, 1)) in found and all(spec[0] == (0, 1, 3, 1) for spec in found)


def test_settings_that_are_words_are_others() -> None:
    modes = {dict(value)["nearest_mode"] for value in near(NEAREST, ())}
    assert modes == {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}


def test_bytes_that_are_added_are_more_than_floats_count_in_terms_of_several_outputs_too() -> None:
    def sums(g: Operands):
        x = cast(g.input((2, 3), TensorProto.UINT8), TensorProto.INT64)
        return reduce("ReduceSum", x, (0,), 1), reduce("ReduceSum", x, (1,), 1)

    shapes = {made.operands.facts[0].shape for made in long_ones(example(sums))}
    assert {(2**24 + 1, 1), (1, 2**24 + 1)} <= shapes


def test_a_setting_that_two_operators_share_changes_in_both() -> None:
    def twice(g: Operands):
        scales = g.constant(np.array([1, 1, 2, 2], np.float32))
        once = resize(g.input((1, 2, 3, 3)), none(), scales, none(), NEAREST)
        return resize(once, none(), scales, none(), NEAREST)

    terms = [repr(made().term) for kind in neighbours(example(twice)) for made in kind]
    assert any(term.count("'ceil'") == 2 for term in terms) and any(
        term.count("'ceil'") == 1 for term in terms
    )


def test_constants_are_others_in_one_place_in_another_order_and_longer_along_an_axis_of_one() -> None:
    found = [array.tolist() for array in other_arrays(np.array([1.0, 1, 1, 1, 1], np.float32), ())]
    assert any(row[0] == row[2] == row[4] == 1 != row[1] for row in found)
    orders = [array.tolist() for array in other_arrays(np.eye(3, dtype=np.float32), ())]
    assert np.eye(3)[[1, 2, 0]].tolist() in orders or np.eye(3)[[2, 0, 1]].tolist() in orders
    shapes = {array.shape for array in other_arrays(np.ones((1, 3), np.float32), ())}
    assert (2, 3) in shapes


def test_bytes_become_integers_of_16_bits_also_where_they_are_written() -> None:
    def there_and_back(g: Operands):
        scale, zero = g.constant(0.5), g.constant(np.array(3, np.uint8))
        numbers = dequantize(g.input(("N", 3), TensorProto.UINT8), scale, zero, 0)
        return quantize(numbers, scale, zero, 0, TensorProto.UINT8)

    wide = dict(variants(example(there_and_back)))["in 16 bits"]
    assert wide.opset == 21 and {f.dtype for f in wide.operands.facts} == {
        TensorProto.FLOAT,
        TensorProto.UINT16,
    }
    candidate = Trying(_law(turned_twice)).candidate(wide)
    assert candidate is not None, "onnxruntime runs it"
    written = candidate.lowered.facts[candidate.lowered.outputs[0]]
    assert written is not None and written.dtype == TensorProto.UINT16


def test_axes_are_longer_than_16_bits_count_and_ends_of_slices() -> None:
    given = example(lambda g: unary("Relu", (), g.input(("N", 3))))
    assert {each.operands.facts[0].shape for each in long_ones(given)} >= {(1, BEYOND_16_BITS)}
    assert max(sizes["N"] for sizes in sizes_of(frozenset("N"), (), {4096})) > 4096


@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_a_block_is_as_long_as_what_is_written(op: str) -> None:
    x, part = Fact(TensorProto.FLOAT, (6, 4, 5)), Fact(TensorProto.FLOAT, (3, 4, 5))
    choices = Choices()
    for _ in range(50):
        choices.begin()
        block = block_of(choices, (6, 4, 5), {"op": op, "slices": [((0, 2, 4, 1),)]}, (x, part))
        assert lengths(block) == (3, 4, 5)[: len(block)] and [axis for axis, *_ in block] == [
            *range(len(block))
        ]
        assert all(0 <= start < end <= d for (_, start, end, _), d in zip(block, (6, 4, 5), strict=False))


def test_sequences_are_no_longer_than_their_axis() -> None:
    choices, found = Choices(), set[int]()
    for _ in range(50):
        choices.begin()
        given = array_fact(sequence_lengths(choices, (5, 4, 3)), TensorProto.INT64)
        time = time_axis(choices, (5, 4, 3), {}, (Fact(TensorProto.FLOAT, (5, 4, 3)), given))
        assert given.shape == ((4, 5)[time],) and max(map(int, given.data or ())) <= (5, 4)[time]
        found.add(time)
    assert found == {0, 1}


def _law(function) -> Law:
    return Law("tests", "law", "", "", "finite", function, None)


@hosted()
def is_whatever(x: Fact) -> bool:
    return True


@hosted()
def has_relu(x: Fact, number: int) -> bool:
    """ONNX has Relu of its type; onnxruntime has no kernel for int64."""
    return x.dtype == TensorProto.FLOAT or (number >= 14 and x.dtype == TensorProto.INT64)


def turned_twice(x: Tensor):
    """Neg(Neg(x)) = x"""
    yield rewrite(unary("Neg", (), unary("Neg", (), x)), x, kernel(is_float(x)), because="forgets both")


def relu_where(has_kernel):
    """The law Max(x, 0) = Relu(x), of which onnxruntime has no kernel for int64."""

    def law(x: Tensor, c: Tensor):
        known = (all_are(c, 0), fits(c, x), has_relu(x, opset()), kernel(has_kernel(x)))
        yield rewrite(variadic("Max", listed(x, c)), relu(x), *known, because="one way")

    return _law(law)


def test_a_law_that_asks_for_kernels_asks_that_as_it_asks_what_is_true() -> None:
    asking = asking_kernels(_law(turned_twice))
    assert asking is not None and asking.asks_kernels and not Trying(_law(turned_twice)).needs_kernels
    assert Trying(asking).needs_kernels, "what it writes where it asks for them has to run"
    assert asking_kernels(asking) is None


def test_what_a_law_writes_has_to_run_where_its_kernel_conditions_hold() -> None:
    check_law(relu_where(is_kernel_float), terms=200, conditions=False, neighbours=False)
    with pytest.raises(LawRefusedError, match="kernel"):
        check_law(relu_where(is_whatever), terms=200, conditions=False, neighbours=False)


def test_one_constant_is_huge_beside_ones_and_all_are_large_together() -> None:
    made = example(lambda g: (g.input((2, 1)) + g.constant(1.5)) @ g.random(1, 2))
    found = [other.operands.facts for other in with_other_magnitudes(made)]
    splats = {tuple(fact.splat and round(fact.splat, 30) for fact in facts[1:]) for facts in found}
    assert {(1.0, float(np.float32(3e38))), (float(np.float32(3e38)), 1.0)} <= splats
    assert {facts[2].shape for facts in found} == {(1, 2), (2, 2)}, "a sum of one number overflows nothing"


def test_a_large_input_may_be_known_as_well() -> None:
    made = example(lambda g: (g.input((2,)) * g.input((2,))) * g.constant(1.5))
    known = {tuple(fact.const for fact in other.operands.facts) for other in with_other_magnitudes(made)}
    assert {(True, False, True), (False, True, True)} <= known


def test_of_two_operands_one_is_a_row_and_the_other_a_column() -> None:
    made = example(lambda g: g.input((2, 3)) + g.random(2, 3))
    shapes = [[fact.shape for fact in other.operands.facts] for other in with_crossed_operands(made)]
    of_length_1 = [[(1, 3), (2, 3)], [(2, 1), (2, 3)]]
    assert shapes == [*of_length_1, [(3,), (2, 1)], [(2, 1), (3,)]]


def test_a_convolution_is_tried_in_more_groups() -> None:
    window = ConvWindow((1, 1), (0,) * 4, (1, 1))
    made = example(lambda g: conv(g.input((1, 4, 3, 3)), g.random(2, 4, 1, 1), none(), window))
    found = list(with_more_groups(made))
    assert [other.operands.facts[1].shape for other in found] == [(2, 2, 1, 1), (2, 1, 1, 1)]
    assert [other.term.arguments[3].head.value.group for other in found] == [2, 4]


def test_channels_are_normalised_in_more_groups_and_mixed_in_the_last_ones_only() -> None:
    settings = (("epsilon", 1e-5), ("num_groups", 2))

    def ordered(g: Operands):
        normal = group_norm(g.input((1, 6, 4)), g.random(6), g.random(6), settings)
        return gather(normal, g.constant(np.array([2, 1, 0, 5, 4, 3])), 1)

    found = {
        dict(other.term.arguments[0].arguments[3].head.value)["num_groups"]: other.operands.facts[3].data
        for other in with_more_groups(example(ordered))
    }
    assert found == {2: (0, 1, 3, 2, 4, 5), 3: (0, 1, 2, 4, 3, 5), 6: (0, 1, 2, 3, 5, 4)}


def test_of_integers_one_is_no_float_beside_twos() -> None:
    made = example(lambda g: g.input((3,), TensorProto.INT64) + g.constant(5) + g.constant(6))
    found = [[fact.splat for fact in other.operands.facts[1:]] for other in with_other_magnitudes(made)]
    wrapping = [[2**63 - 1, 3], [2**62, 2**62 + 1], [3, 2**63 - 1], [2**62 + 1, 2**62]]
    assert found == [[2**53 + 1, 2], [2, 2**53 + 1], *wrapping]


def test_large_summands_stay_in_their_type_since_one_between_them_is_opposite() -> None:
    made = example(lambda g: ((g.input((2,)) + g.constant(1.0)) + g.input((2,))) + g.constant(2.0))
    most, law = float(np.finfo(np.float32).max), _law(turned_twice)
    found = [e for e in with_other_magnitudes(made) if len(e.operands.facts) == 5]
    shares = {tuple(round(f.splat / most, 1) if f.const else None for f in e.operands.facts) for e in found}
    assert {(0.4, 0.4, None, 0.4, -0.6), (None, 0.4, 0.4, 0.4, -0.6)} <= shares
    assert any(candidate is not None for candidate in map(Trying(law).candidate, found))


def test_what_is_divided_ends_where_a_law_says_and_the_divisor_is_a_part_of_that() -> None:
    bounds = (("max", 255), ("min", 0))
    made = example(
        lambda g: unary("Clip", bounds, g.input((3,), TensorProto.INT64)) / g.constant(np.int64(10))
    )
    found = [(repr(other.term), other.operands.facts[1].splat) for other in with_other_ranges(made, (4095,))]
    assert {n for term, n in found if "('max', 4095)" in term} == {10, 1023, 2048}


def test_a_window_of_a_pool_lies_around_its_image() -> None:
    window = PoolWindow((3, 3), (2, 2), (1,) * 4, (1, 1))
    made = example(lambda g: pool("MaxPool", g.input((1, 2, 5, 5)), window))
    first, *_ = with_windows_around_images(made)
    assert first.operands.facts[0].shape == (1, 2, 2, 2)
    candidate = Trying(_law(turned_twice)).candidate(first)
    assert candidate is not None and candidate.original.trials[0].expected[0].max() < -1e38


def test_the_greatest_of_nothing_is_no_rounding() -> None:
    nothing = np.array([np.finfo(np.float32).min], np.float32)
    assert is_no_rounding(np.zeros(1, np.float32), nothing) and not is_no_rounding(nothing, nothing)
