"""Knowledge base 2, MergeConsecutiveSlice: Slice_t(Slice_s(x)) = Slice_(t after s)(x)."""

from collections import Counter
from itertools import pairwise

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper

from egraph_opt import optimize

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, outcome

FAR = 2**63 - 1
ONE = Counter(Slice=1)
NONE = Counter(Identity=1)
"""What is left of an output that is an input."""

Bounds = tuple[int, int, int, int]
"""Axis, start, end, step."""


def sliced(g: Graph, x: str, *cuts: Bounds) -> str:
    """A Slice along several axes at once."""
    axes, starts, ends, steps = (g.constant(list(values)) for values in zip(*cuts, strict=True))
    return g.add("Slice", x, starts, ends, axes, steps)


def chain(dims: Dims, *slices: tuple[Bounds, ...], opset: int = 17) -> onnx.ModelProto:
    """Slices one after the other."""
    g = Graph(x=dims)
    y = "x"
    for cuts in slices:
        y = sliced(g, y, *cuts)
    return g.model(y, opset=opset)


def operands(model: onnx.ModelProto) -> list[list[int]]:
    """Starts, ends, axes and steps, as far as they are there, of the only Slice."""
    (node,) = [node for node in model.graph.node if node.op_type == "Slice"]
    known = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer}
    for constant in model.graph.node:
        if constant.op_type == "Constant":
            known[constant.output[0]] = onnx.helper.get_node_attr_value(constant, "value_ints")
    return [known[name] for name in node.input[1:]]


@pytest.mark.parametrize("opset", OPSETS)
def test_disjoint_axes_on_every_opset(opset: int) -> None:
    model = chain([2, 8, 8], ((1, 1, 5, 1),), ((2, 2, 6, 1),), opset=opset)
    assert check_settled(model) == ONE


@pytest.mark.parametrize("opset", OPSETS)
def test_height_width_height_width_is_one(opset: int) -> None:
    cuts = ((2, 1, 31, 1), (3, 2, 30, 1), (2, 0, 16, 2), (-1, -20, FAR, 1))
    assert check_settled(chain([1, 3, 32, 32], *((cut,) for cut in cuts), opset=opset)) == ONE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 2, 11, 1), (1, 1, 4, 1)),
        ((1, 1, 12, 3), (1, 1, 4, 2)),
        ((1, 0, 12, 2), (1, 5, -7, -2)),
        ((1, 11, -13, -1), (1, 11, -13, -1)),
        ((1, -1, -FAR, -2), (1, 1, FAR, 2)),
        ((1, 2, 100, 1), (1, -100, 4, 1)),
        ((-2, 2, 11, 1), (1, -4, -1, 1)),
        ((1, 10, 3, -3), (1, -1, -FAR, -1)),
    ],
)
def test_one_axis_with_steps_and_bounds_from_either_end(first: Bounds, second: Bounds) -> None:
    result = outcome(chain([2, 12, 3], (first,), (second,)))
    assert result.counts in (ONE, NONE)
    taken = np.arange(12)[first[1] : _end(first) : first[3]][second[1] : _end(second) : second[3]]
    if result.counts == ONE and len(taken) > 1:
        starts, ends, axes, *steps = operands(result.model)
        step = steps[0][0] if steps else 1
        end = None if abs(ends[0]) > 100 else ends[0]
        assert (axes, list(np.arange(12)[starts[0] : end : step])) == ([1], list(taken))


def _end(bounds: Bounds) -> int | None:
    """The end as numpy takes it: downwards, one beyond the front is none."""
    return None if bounds[3] < 0 and bounds[2] < -12 else bounds[2]


@pytest.mark.parametrize(("rank", "axis"), [(1, 0), (2, 1), (3, 0), (4, -1), (5, -3)])
def test_every_rank(rank: int, axis: int) -> None:
    dims: Dims = [9] * rank
    assert check_settled(chain(dims, ((axis, 1, 8, 1),), ((axis, 1, 6, 2),))) == ONE


def test_dims_that_are_not_known() -> None:
    dims: Dims = ["N", "L", 4]
    assert check_settled(chain(dims, ((1, 1, FAR, 1),), ((1, 2, FAR, 1),))) == ONE
    assert check_settled(chain(dims, ((1, 1, FAR, 1),), ((1, 0, -1, 1),))) == ONE
    assert check_settled(chain(dims, ((1, -5, FAR, 1),), ((2, 1, 3, 1),))) == ONE
    assert check_settled(chain(dims, ((0, 0, 7, 1),), ((0, 2, 9, 1),))) == ONE


def test_what_the_second_one_takes_of_an_unknown_dim_may_not_be_expressible() -> None:
    check_untouched(chain(["N", "L", 4], ((1, -3, FAR, 1),), ((1, 0, 2, 1),)))
    check_untouched(chain(["N", "L", 4], ((1, 0, -3, 1),), ((1, 0, 2, 1),)))


def test_two_that_undo_each_other_or_take_all_are_nothing() -> None:
    assert check_settled(chain([2, 12], ((1, 11, -13, -1),), ((1, 11, -13, -1),))) == NONE
    assert check_settled(chain([2, 12], ((1, 0, FAR, 1),), ((0, -2, 2, 1),))) == NONE
    assert check_settled(chain(["N", 12], ((0, 0, FAR, 1),), ((1, -12, 100, 1),))) == NONE


def test_several_axes_at_once_that_overlap_in_one() -> None:
    first, second = ((0, 1, 4, 1), (2, 0, 8, 2)), ((1, 1, 3, 1), (2, 1, 3, 1))
    result = outcome(chain([5, 6, 9], first, second))
    assert result.counts == ONE
    assert operands(result.model)[2] == [0, 1, 2]


def test_axes_and_steps_left_out() -> None:
    g = Graph(x=[4, 12])
    y = g.add("Slice", "x", g.constant([1, 2]), g.constant([4, 11]))
    y = g.add("Slice", y, g.constant([0]), g.constant([2]))
    assert (
        check_settled(g.model(g.add("Slice", y, g.constant([3]), g.constant([9]), g.constant([-1])))) == ONE
    )


def test_bounds_of_32_bits_and_bounds_from_constant_nodes() -> None:
    g = Graph(x=[4, 12])
    first = [g.constant([v], np.int32) for v in (2, 11, 1)]
    second = [
        g.add("Constant", value=onnx.helper.make_tensor("", TensorProto.INT64, [1], [v])) for v in (1, 5, 1)
    ]
    model = g.model(g.add("Slice", g.add("Slice", "x", *first), *second))
    assert check_settled(model) == ONE


def test_an_inner_slice_that_is_an_output_or_has_other_users_stays() -> None:
    g = Graph(x=["N", 12])
    inner = sliced(g, "x", (1, 2, 11, 1))
    result = outcome(g.model(inner, sliced(g, inner, (1, 1, 4, 1))))
    assert result.counts == Counter(Slice=2)
    g = Graph(x=["N", 12])
    inner = sliced(g, "x", (1, 2, 11, 1))
    outputs = g.add("Sin", inner), g.add("Cos", sliced(g, inner, (1, 1, 4, 2)))
    assert check_settled(g.model(*outputs)) == Counter(Slice=2, Sin=1, Cos=1)


def test_a_slice_finds_its_part_of_a_concat_of_slices() -> None:
    g = Graph(x=["N", 12], y=["N", 6])
    both = g.add("Concat", sliced(g, "x", (1, 2, 10, 1)), "y", axis=1)
    assert check_settled(g.model(sliced(g, both, (1, 3, 7, 1)))) == ONE
    g = Graph(x=["N", 12], y=["N", 6])
    both = g.add("Concat", sliced(g, "x", (1, 2, 10, 1)), "y", axis=1)
    model = g.model(g.add("Relu", sliced(g, both, (1, 6, 11, 1))))
    assert check_settled(model) == Counter(Slice=2, Concat=1, Relu=1)


def test_slices_meet_through_element_wise_operators() -> None:
    g = Graph(x=["N", 12, 4])
    scaled = g.add("Mul", g.add("Relu", sliced(g, "x", (1, 2, 11, 1))), g.weight(9, 1))
    model = g.model(sliced(g, scaled, (1, 1, 5, 1)))
    assert check_settled(model) == Counter(Slice=1, Relu=1, Mul=1)


def test_a_softmax_over_the_axis_that_is_cut_stays_behind_its_slice() -> None:
    g = Graph(x=["N", 12])
    check_untouched(g.model(g.add("Softmax", sliced(g, "x", (1, 0, 6, 1)), axis=1)))


@pytest.mark.parametrize("cost", ["bytes", "ascend"])
def test_targets_that_count_bytes_or_time_want_it_too(cost: str) -> None:
    cuts = ((1, 4, 64, 1),), ((2, 8, 60, 1),), ((1, 2, 50, 1),)
    assert check_settled(chain([4, 64, 64], *cuts), cost) == ONE


def computed(dims: Dims, axes: tuple[int, ...], known: tuple[Bounds, ...] = ()) -> onnx.ModelProto:
    """Slices with bounds that are inputs, then such as are known."""
    bounds = {f"{name}{axis}": [1] for axis in axes for name in "se"}
    g = Graph(x=dims)
    y = "x"
    for name, shape in bounds.items():
        g.input(name, shape, TensorProto.INT64)
    for axis in axes:
        y = g.add("Slice", y, f"s{axis}", f"e{axis}", g.constant([axis]))
    for cut in known:
        y = sliced(g, y, cut)
    return g.model(y)


def test_bounds_that_are_computed_are_joined_where_that_is_cheaper() -> None:
    large = optimize(computed([96, 1024, 512], (1, 2)), cost="ascend", verify=False)  # too large to compare
    assert {name: count.after for name, count in large.report.operators.items()} == {"Slice": 1, "Concat": 2}
    assert check_settled(computed([2, 5, 6], (1, 2))) == Counter(Slice=2)
    mixed = computed([64, 512, 256], (2,), ((1, 3, 488, 2),))
    assert outcome(mixed, "ascend").counts == Counter(Slice=1, Concat=2)


def test_bounds_that_are_computed_along_one_axis_stay_apart() -> None:
    g = Graph(x=[64, 256, 256])
    for name in ("s", "e", "t", "f"):
        g.input(name, [1], TensorProto.INT64)
    axis = g.constant([1])
    check_untouched(g.model(g.add("Slice", g.add("Slice", "x", "s", "e", axis), "t", "f", axis)))


_CUT = st.tuples(
    st.integers(0, 1), st.integers(-8, 8), st.integers(-10, 10), st.sampled_from([1, 1, 2, 3, -1, -2])
)


@given(cuts=st.lists(_CUT, min_size=2, max_size=4))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_any_chain_is_one_slice_of_the_same_elements(cuts: list[Bounds]) -> None:
    x = np.zeros((6, 7))
    lengths = [x.shape]
    for axis, start, end, step in cuts:
        x = x[tuple(slice(start, end, step) if k == axis else slice(None) for k in range(2))]
        lengths.append(x.shape)
    if 0 in x.shape:
        return
    result = outcome(chain([6, 7], *((cut,) for cut in cuts)))
    assert sum(result.counts.values()) <= sum(a != b for a, b in pairwise(lengths)) + 1
    assert result.counts in (ONE, NONE)


@pytest.mark.parametrize("opset", OPSETS)
def test_what_is_padded_and_sliced_off_is_not_padded(opset: int) -> None:
    g = Graph(x=["N", 3, 8, 8])
    padded = g.add("Pad", "x", g.constant([0, 0, 2, 1, 0, 0, 2, 3]))
    y = sliced(g, padded, (2, 2, 10, 1), (3, 1, 9, 1))
    assert outcome(g.model(g.add("Relu", y), opset=opset), "ascend").counts == Counter(["Relu"])
    g = Graph(x=["N", 3, 8, 8])
    padded = g.add("Pad", "x", g.constant([0, 0, 2, 2, 0, 0, 2, 2]), mode="edge")
    assert outcome(g.model(sliced(g, padded, (3, 2, 10, 1)), opset=opset)).counts == Counter(["Pad"])


def test_what_is_reflected_is_not_sliced_off() -> None:
    g = Graph(x=[2, 8])
    padded = g.add("Pad", "x", g.constant([0, 2, 0, 2]), mode="reflect")
    outcome(g.model(sliced(g, padded, (1, 1, 3, 1))))


def test_several_axes_backwards_and_back_are_nothing() -> None:
    g = Graph(x=["N", 6, 7])
    back = [(1, -1, -FAR, -1), (2, -1, -FAR, -1)]
    y = sliced(g, g.add("Relu", sliced(g, "x", *back)), *back)
    assert check_settled(g.model(y)) == Counter(["Relu"])
