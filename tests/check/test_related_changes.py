"""What is tried beside examples and differs from them in several things that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, parser

from egraph_opt.check.beside.at_run_time import with_operands_at_run_time
from egraph_opt.check.beside.cast_sources import with_other_sources
from egraph_opt.check.beside.crossed import with_crossed_operands
from egraph_opt.check.beside.followed_sizes import with_followed_sizes
from egraph_opt.check.beside.kept_sums import with_kept_moments, with_kept_sums
from egraph_opt.check.beside.known_ranges import with_other_ranges
from egraph_opt.check.beside.magnitudes import with_other_magnitudes
from egraph_opt.check.beside.more_copies import with_copies_along_another_axis
from egraph_opt.check.beside.more_groups import with_more_groups
from egraph_opt.check.beside.numbers_by_type import with_numbers_beyond_halves
from egraph_opt.check.beside.orders import with_other_orders
from egraph_opt.check.beside.other_constants import with_other_constants
from egraph_opt.check.beside.other_flags import with_other_flags
from egraph_opt.check.beside.other_layers import with_other_layers
from egraph_opt.check.beside.other_letters import with_other_letters
from egraph_opt.check.beside.other_masks import with_other_masks
from egraph_opt.check.beside.parts_between import with_parts_between
from egraph_opt.check.beside.ties import with_tied_comparisons
from egraph_opt.check.beside.turned_slices import with_ends_that_follow
from egraph_opt.check.beside.variants import dims_of, without_names
from egraph_opt.check.feeds.inputs import Inputs
from egraph_opt.check.feeds.roles import roles_of
from egraph_opt.check.feeds.sizes import PATTERNS
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    binary,
    cast,
    concat,
    conv,
    cumsum,
    dequantize,
    einsum,
    expand,
    gather,
    gather_elements,
    gemm,
    none,
    output,
    reduce,
    reshape,
    slice_,
    split,
    transpose,
    unary,
)
from egraph_opt.operators.composites import masked_attention
from egraph_opt.operators.norm_pools import lp_pool
from egraph_opt.operators.recurrent import RecurrentLayer, recurrent
from egraph_opt.operators.terms import listed
from egraph_opt.operators.windows import PoolWindow

from .examples import example


def constants(made: Example) -> list[Any]:
    return [None if v.const_value is None else v.const_value.numpy().tolist() for v in made.operands.values]


def ranges(made: Example) -> list[tuple[float, float]]:
    clips = [n for n in nodes_of(made) if n.head.name == "unary" and n.arguments[0].head.value == "Clip"]
    bounds = [dict(n.arguments[1].head.value) for n in clips]
    return [(b["min"], b["max"]) for b in bounds]


def clip(g: Operands, low: float, high: float, dtype: int = TensorProto.INT64):
    return unary("Clip", (("max", high), ("min", low)), g.input((2,), dtype))


def test_a_constant_is_known_at_run_time_only_and_so_is_a_zero_point_that_is_not_there() -> None:
    def bytes_(g: Operands):
        return dequantize(g.input((3,), TensorProto.INT8), g.constant(np.float32(0.5)), none(), 0)

    scale, zero = with_operands_at_run_time(example(bytes_))
    assert constants(scale) == [None, None]
    assert constants(zero) == [None, 0.5, None]
    assert zero.operands.facts[2].dtype == TensorProto.INT8
    assert "leaf(2)" in repr(zero.term)


def test_elements_change_and_their_sum_or_product_does_not() -> None:
    made = [
        np.array(constants(e)[1])
        for e in with_kept_sums(example(lambda g: g.input((3,)) * g.constant([2.0] * 3)))
    ]
    assert len(made) == 9 and all(len(set(array)) > 1 for array in made)
    assert all(
        array.sum() == 6 or array.prod() == 8 or np.isclose((array**2).sum(), 12, rtol=1e-5) for array in made
    )


def test_constants_that_stand_in_relation_one_by_one_are_a_row_and_a_column() -> None:
    pair = example(lambda g: g.input((2, 2)) * g.constant(2.0) * g.constant(0.5))
    found = [constants(made)[1:] for made in with_crossed_operands(pair)]
    assert [[[2.0, 4.0]], [[0.5], [0.25]]] in found and [[[2.0], [1.0]], [[0.5, 1.0]]] in found


def test_two_ranges_move_at_once_and_meet() -> None:
    pair = example(lambda g: clip(g, 0, 9) + clip(g, 0, 4))
    found = [sorted(ranges(made)) for made in with_other_ranges(pair, (128.0,))]
    for both in ([(-1, 9), (1, 4)], [(0, 1), (0, 127)], [(0, 4), (5, 9)], [(-1, 4), (0, 2**31 - 1)]):
        assert both in found


def test_a_wide_input_takes_the_place_of_one_that_is_widened() -> None:
    widened = example(lambda g: cast(g.input((3,), TensorProto.UINT8), TensorProto.INT64))
    assert [ranges(made)[0] for made in with_other_ranges(widened, ())] == [(-(2**40), 5), (-5, 2**40)]


def test_a_comparison_is_with_what_comes_out_of_numbers_that_inputs_hold() -> None:
    rounded = example(
        lambda g: binary("Less", cast(g.input((2,), TensorProto.INT32), TensorProto.FLOAT), g.constant(2.5))
    )
    assert {constants(made)[1] for made in with_tied_comparisons(rounded)} == {5.0, 2.0**24 + 4}
    scaled = example(lambda g: binary("GreaterOrEqual", g.input((2,)) * g.constant(3.0), g.constant(6.0)))
    products = [constants(made)[1:] for made in with_tied_comparisons(scaled)]
    assert len(products) == 4
    assert all(np.float32(c) * np.float32(c) == np.float32(d) for c, d in products)


def test_inputs_of_what_compares_hold_constants_and_the_numbers_next_to_them() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (int64[2] x) => (bool[2] y)'
        "<double[1] c = {16777220.0}> { f = Cast<to = 11> (x) y = Less (f, c) }"
    )
    model = onnx.shape_inference.infer_shapes(parser.parse_model(text))
    inputs = Inputs(model)
    held = {int(n) for feeds in inputs.feeds({}, "ties") for n in feeds["x"]}
    assert {16777219, 16777220, 16777221} <= held
    assert not list(Inputs(_without_comparison(model)).feeds({}, "ties"))


def _without_comparison(model: onnx.ModelProto) -> onnx.ModelProto:
    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.node[-1].op_type = "Add"
    return other


def test_an_index_within_bounds_is_any_number() -> None:
    def model(first: str) -> onnx.ModelProto:
        return parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[8] x, int64[1] e) => (float[N] y)'
            f"{{ z = Constant<value_ints = [0]> () {first} y = Slice (x, z, f) }}"
        )

    assert roles_of(model("f = Identity (e)"))["e"] == "index"
    assert roles_of(model("l = Constant<value_int = 0> () f = Clip (e, l)"))["e"] == "value"


def test_constants_are_beyond_what_is_cast_to_and_powers_are_high() -> None:
    def narrowed(g: Operands):
        double = TensorProto.DOUBLE
        return cast(g.input((3,), double) * g.constant(np.array(2.0), double), TensorProto.FLOAT)

    assert {1e40, 1e-46} <= {constants(made)[1] for made in with_other_magnitudes(example(narrowed))}
    power = example(lambda g: binary("Pow", g.input((3,)) * g.constant(0.5), g.constant(2.0)))
    assert [None, np.float32(1e-3), 6.0] in [constants(made) for made in with_other_magnitudes(power)]
    window = PoolWindow((2,), (2,), (0, 0), (1,))
    pooled = example(lambda g: lp_pool(2, g.input((1, 1, 4)) * g.constant(0.5), window))
    assert 6 in [made.term.arguments[0].head.value for made in with_other_magnitudes(pooled)]
    product = example(lambda g: reduce("ReduceProd", g.input((3,)), (0,), 1))
    assert (200,) in [made.operands.facts[0].shape for made in with_other_magnitudes(product)]


def test_dims_of_views_follow_a_size() -> None:
    def copies(g: Operands):
        return reshape(expand(reshape(g.input((1, 2)), (1, 1, 2)), (1, 3, 2)), (3, 2))

    made = [dims_of(each.operands.values[0]) for each in with_followed_sizes(example(copies))]
    assert {(2, 2), (3, 2), (1, 4), (1, 6)} == set(made)
    assert made.count((3, 2)) > 1  # three rows: of each three copies, or nine of one


def test_a_layer_is_one_of_every_kind_with_halves_of_a_bias_in_their_relation() -> None:
    layer = RecurrentLayer("RNN", (("direction", "forward"), ("hidden_size", 2)))

    def run(g: Operands):
        bias = g.constant(np.array([[1.0, 2.0, -1.0, -2.0]], np.float32))
        weights = listed(g.random(1, 2, 3), g.random(1, 2, 2), bias, none())
        return output(recurrent(g.input((4, 1, 3)), weights, none(), none(), none(), layer), 1)

    made = list(with_other_layers(example(run)))
    kinds = [dict(n.arguments[5].head.value.settings) | {"kind": n.arguments[5].head.value.kind}
             for each in made for n in nodes_of(each) if n.head.name == "recurrent"]  # fmt: skip
    others, turned, functions = kinds[:3], kinds[3], kinds[4:]
    assert [kind["kind"] for kind in others] == ["GRU", "LSTM", "GRU"]
    assert [kind.get("linear_before_reset", 0) for kind in others] == [0, 0, 1]
    assert (turned["kind"], turned["direction"]) == ("RNN", "reverse")
    assert {kind["activations"] for kind in functions} >= {("Softplus",), ("Affine",)}
    assert constants(made[0])[0] == [[1, 2, 1, 2, 1, 2, -1, -2, -1, -2, -1, -2]]


def test_rows_of_places_go_on_and_differ_in_the_middle_alone() -> None:
    places = np.array([[0, 0, 0], [1, 1, 1]])
    (longer,) = with_kept_moments(example(lambda g: gather_elements(g.input((2, 3)), g.constant(places), 0)))
    assert constants(longer)[1] == [[0] * 8, [1, 2, 0, 1, 1, 0, 2, 1]]
    (square,) = with_kept_moments(
        example(lambda g: gather_elements(g.input((2, 2)), g.constant(places[:, :2]), 0))
    )
    rows = constants(square)[1]
    assert [row[0] for row in rows] == list(range(8)) and rows[4] == [4, 5, 3, 4, 4, 3, 5, 4]


def test_settings_of_halves_are_infinite_or_nothing() -> None:
    scaled = example(lambda g: gemm(g.input((2, 3)), g.input((3, 4)), none(), GemmSettings(alpha=2.0)))
    made = list(with_numbers_beyond_halves(scaled))
    settings = [attributes(each, "gemm", 3)[0] for each in made]
    assert {(s.alpha, s.beta) for s in settings} == {(1e-8, 1.0), (1e5, 1.0), (2.0, 1e-8), (2.0, 1e5)}
    assert {fact.dtype for each in made for fact in each.operands.facts} == {TensorProto.FLOAT16}


def test_constants_are_small_whole_numbers_and_nearly_what_they_were_in_double() -> None:
    made = list(
        with_other_constants(example(lambda g: binary("Mod", g.input((2,)), g.constant(np.array(7)))))
    )
    assert {c for each in made for c in constants(each) if c is not None} >= set(range(2, 17))
    made = list(with_other_constants(example(lambda g: g.input((2,)) * g.constant(0.625))))
    assert any(0 < abs(c - 0.625) < 1e-7 for each in made for c in constants(each) if c is not None)


def test_flags_are_turned_over_wherever_they_stand() -> None:
    def sums(g: Operands):
        x, k = g.input((2, 3)), g.constant(np.array(1))
        both = [cumsum(y, k, (("exclusive", 0), ("reverse", 1))) for y in (x, -x)]
        return both[0] + reduce("ReduceSum", both[1], (1,), 1)

    made = list(with_other_flags(example(sums)))
    settings = [[tuple(v for _, v in s) for s in attributes(each, "cumsum", 2)] for each in made]
    assert [(1, 1), (1, 1)] in settings and [(0, 1), (1, 1)] in settings and [(0, 0), (0, 0)] in settings
    assert [0] in [attributes(each, "reduce", 3) for each in made]


def test_copies_are_made_along_the_axis_beside() -> None:
    made = list(with_copies_along_another_axis(example(lambda g: expand(g.input((2, 1, 4)), (2, 3, 4)))))
    found = [(dims_of(each.operands.values[0]), attributes(each, "expand", 1)[0]) for each in made]
    assert found == [((1, 2, 4), (3, 2, 4)), ((2, 4, 1), (2, 4, 3))]


def test_masks_differ_from_key_to_key_for_one_query() -> None:
    def attends(g: Operands):
        q, k, v = (g.input((1, 2, n, 4)) for n in (3, 5, 5))
        return masked_attention(q, k, v, g.input((1, 1, 1, 1)), 0.5, 0)

    found = {tuple(dims_of(v) for v in each.operands.values) for each in with_other_masks(example(attends))}
    assert ((1, 2, 1, 4), (1, 2, 5, 4), (1, 2, 5, 4), (1, 1, 1, 5)) in found


def test_what_is_cast_has_another_type_alone() -> None:
    term = example(lambda g: binary("Greater", cast(g.input((2,)), TensorProto.FLOAT), g.constant(0.0)))
    types = {tuple(fact.dtype for fact in made.operands.facts) for made in with_other_sources(term)}
    assert (TensorProto.DOUBLE, TensorProto.FLOAT) in types and len(types) == 7


def test_slices_that_go_to_the_end_follow_the_size() -> None:
    whole = example(lambda g: slice_(g.input((2, 5)), ((1, 4, None, -1),)))
    made = {
        (dims_of(m.operands.values[0]), attributes(m, "slice_", 1)[0]) for m in with_ends_that_follow(whole)
    }
    assert ((2, 6), ((1, 5, None, -1),)) in made


def test_channels_are_in_fewer_groups() -> None:
    made = example(
        lambda g: conv(
            g.input((1, 4, 3, 3)), g.random(4, 1, 2, 2), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), 4)
        )
    )
    found = {attributes(each, "conv", 3)[0].group: each for each in with_more_groups(made)}
    shapes = {group: np.shape(constants(each)[1]) for group, each in found.items()}
    assert shapes == {1: (4, 4, 2, 2), 2: (4, 2, 2, 2)}


def test_dims_without_names_differ_along_any_axis() -> None:
    made = without_names(example(lambda g: g.input((1, 2, 5)) + g.input((1, 2, 5))))
    assert [fact.shape for fact in made.operands.facts] == [(None, None, None)] * 2
    for axis in range(3):
        assert any(pattern(0, axis) != pattern(1, axis) for pattern in PATTERNS)


def attributes(made: Example, operator: str, place: int) -> list[Any]:
    return [n.arguments[place].head.value for n in nodes_of(made) if n.head.name == operator]


def orders_of(given: Example) -> list[tuple[Any, list[int]]]:
    """The dims of the input and the indices of each example beside one."""
    return [(dims_of(made.operands.values[0]), constants(made)[1]) for made in with_other_orders(given)]


def test_an_order_is_longer_and_its_middle_another() -> None:
    found = orders_of(example(lambda g: gather(g.input((2, 3)), g.constant(np.array([2, 0, 1])), 1)))
    orders = [order for _, order in found]
    assert [1, 0, 3, 4, 2, 6, 5] in orders and [1, 1, 2, 2, 3, 6, 6] in orders
    assert all(dims == (2, len(order)) for dims, order in found)


def test_steps_are_uneven_in_the_middle_along_an_axis_that_is_long_enough() -> None:
    taken = example(lambda g: gather(g.input((2, 6)), g.constant(np.array([0, 2, 4])), 1))
    assert ((2, 9), [0, 2, 3, 7, 8]) in orders_of(taken)


def test_axes_go_round_between_others() -> None:
    turned = example(lambda g: transpose(transpose(g.input((2, 3, 4, 5)), (1, 0, 2, 3)), (1, 0, 2, 3)))
    _, middle, _ = with_other_orders(turned)
    assert attributes(middle, "transpose", 1) == [(1, 0, 3, 4, 2, 5, 6)] * 2
    assert dims_of(middle.operands.values[0]) == (2, 3, 2, 3, 2, 4, 5)


def test_letters_are_in_the_other_order_and_two_more_change_places() -> None:
    dot = example(lambda g: einsum("abc,abc->ab", listed(*(g.input((2, 3, 4)) for _ in range(2)))))
    backwards, longer, *fewer, first, second, third = with_other_letters(dot)
    assert attributes(backwards, "einsum", 0) == ["cba,cba->cb"]
    assert attributes(longer, "einsum", 0) == ["adebc,adebc->aedb"]
    assert [dims_of(value) for value in longer.operands.values] == [(2, 2, 3, 3, 4)] * 2
    assert [attributes(made, "einsum", 0) for made in fewer] == [["aba,aba->ab"], ["abb,abb->ab"]]
    assert {dims_of(value) for made in fewer for value in made.operands.values} == {(3, 3, 3)}
    in_both_cases = [attributes(made, "einsum", 0) for made in (first, second, third)]
    assert in_both_cases == [["aAc,aAc->aA"], ["abA,abA->ab"], ["abB,abB->ab"]]


def test_parts_in_the_middle_are_in_the_wrong_order_or_of_other_sizes() -> None:
    def halves(g: Operands):
        x = g.input((3, 6))
        return concat(listed(slice_(x, ((1, 0, 4, 1),)), slice_(x, ((1, 4, 6, 1),))), 1)

    (joined,) = with_parts_between(example(halves))
    assert [spec[0][1:3] for spec in attributes(joined, "slice_", 1)] == [(0, 4), (6, 8), (4, 6), (8, 10)]
    assert dims_of(joined.operands.values[0]) == (3, 10)
    parts = list(with_parts_between(example(lambda g: output(split(g.input((3, 6)), 1, (2, 2, 2)), 1))))
    assert [attributes(made, "split", 2) for made in parts] == [[(2, 2, 3, 2, 1, 2)]] * 6
    assert [attributes(made, "output", 1) for made in parts] == [[k] for k in range(6)]


def test_each_two_of_several_slices_change_places() -> None:
    def phases(g: Operands):
        x = g.input((2, 9))
        return concat(listed(*(slice_(x, ((1, k, k + 7, 3),)) for k in range(3))), 1)

    made = list(with_parts_between(example(phases)))
    assert [[spec[0][1] for spec in attributes(each, "slice_", 1)] for each in made] == [[1, 0, 2], [0, 2, 1]]


def test_a_range_goes_on_for_a_period_and_what_is_its_end_goes_with_it() -> None:
    wave = example(lambda g: unary("Cos", (), clip(g, -1.0, 1.0, TensorProto.FLOAT)))
    assert {(-1.0, 7.25), (-7.25, 1.0)} <= {ranges(made)[0] for made in with_other_ranges(wave, [])}
    bits = example(lambda g: binary("BitwiseAnd", clip(g, 0, 15), g.constant(np.array(15))))
    found = [(ranges(made)[0], constants(made)[-1]) for made in with_other_ranges(bits, [])]
    assert ((0, 23), 23) in found and ((0, 30), 30) in found
