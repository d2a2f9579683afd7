"""Cost models of one's own that prefer the other side of a law get it: laws that run last, see `Law.last`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.laws.selection import all_laws


class Preferring(CostModel):
    """A node costs 1, and those of some operators more."""

    name, unit = "preferring", ""

    def __init__(self, dear: Mapping[str, float]) -> None:
        self.dear = dear

    def cost(self, node: NodeView) -> float:
        return self.dear.get(node.op_type, 1.0)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def model(text: str, opset: int = 17, **constants: np.ndarray) -> onnx.ModelProto:
    parsed = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    for name, values in constants.items():
        parsed.graph.initializer.append(numpy_helper.from_array(values, name))
    onnx.checker.check_model(parsed)
    return parsed


def preferred(given: onnx.ModelProto, **dear: float) -> list[str]:
    """The operators of the result, found right; a second optimisation changes nothing."""
    cost = Preferring(dear)
    result = optimize(given, cost=cost, strict=True)
    assert result.report.verification.status == "passed"
    again = optimize(result.model, cost=cost, strict=True)
    assert again.report.cost.after == pytest.approx(result.report.cost.after)
    return [node.op_type for node in result.model.graph.node if node.op_type != "Constant"]


SPLIT = "a, b, c = Split <axis = {axis}> ({of}, sizes)"


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_a_convolution_that_is_split_is_three(opset: int) -> None:
    text = "g (float[N, 4, 8, 8] x) => (float[N, 2, 8, 8] a, float[N, 1, 8, 8] b, float[N, 3, 8, 8] c) "
    text += "{ y = Conv <pads = [1, 1, 1, 1]> (x, w, bias) " + SPLIT.format(axis=1, of="y") + " }"
    given = model(text, opset, w=random(6, 4, 3, 3), bias=random(6), sizes=np.array([2, 1, 3]))
    assert preferred(given, Split=100) == ["Conv"] * 3
    assert preferred(given, Split=100, Slice=50) == ["Conv"] * 3
    assert preferred(given) == ["Conv", "Split"]


@pytest.mark.parametrize(("axis", "dims"), [(1, "N, 7"), (0, "7, L"), (2, "2, 3, 7")])
def test_a_split_is_gathers_where_slices_are_dear(axis: int, dims: str) -> None:
    parts = [dims.replace("7", str(k)) for k in (2, 4, 1)]
    outputs = ", ".join(f"float[{part}] {name}" for part, name in zip(parts, "abc", strict=True))
    text = f"g (float[{dims}] x) => ({outputs}) {{ {SPLIT.format(axis=axis, of='x')} }}"
    given = model(text, sizes=np.array([2, 4, 1]))
    assert preferred(given, Split=100, Slice=100) == ["Gather"] * 3
    assert preferred(given, Split=100, Gather=100) == ["Slice"] * 3
    assert preferred(given, Slice=100, Gather=100) == ["Split"]


def test_slices_from_behind_are_gathers() -> None:
    text = "g (float[N, 9] x) => (float[N, 3] y) { y = Slice (x, start, end, axis, step) }"
    bounds = {"start": [-2], "end": [1], "axis": [1], "step": [-2]}
    given = model(text, 17, **{name: np.array(values) for name, values in bounds.items()})
    assert preferred(given, Slice=100) == ["Gather"]


def test_convolutions_of_slices_that_are_added_are_one() -> None:
    text = """g (float[1, 2, 8, 8] x) => (float[1, 3, 8, 6] y) {
        a = Slice (x, s0, e0, axis) b = Slice (x, s1, e1, axis) c = Slice (x, s2, e2, axis)
        p = Conv (a, u) q = Conv (b, v) r = Conv (c, w) t = Add (p, q) y = Add (t, r) }"""
    bounds = {f"{name}{k}": np.array([k + more]) for k in range(3) for name, more in (("s", 0), ("e", 6))}
    kernels = {name: random(3, 2, 1, 1) + k for k, name in enumerate("uvw")}
    assert preferred(model(text, 17, axis=np.array([3]), **bounds, **kernels), Slice=2, Add=2) == ["Conv"]


@pytest.mark.parametrize(("dims", "scale"), [("N, 5, 4", (4,)), ("6, 2, L", (6, 1, 1)), ("2, 3, L, 5", (5,))])
def test_a_scale_and_a_shift_of_rows_are_a_batch_normalisation_between_transposes(
    dims: str, scale: tuple[int, ...]
) -> None:
    text = f"g (float[{dims}] x) => (float[{dims}] y) {{ a = Mul (x, k) y = Add (a, b) }}"
    given = model(text, k=random(*scale), b=random(*scale))
    assert preferred(given, Mul=10, Add=10) == ["Transpose", "BatchNormalization", "Transpose"]
    assert preferred(given) == ["Mul", "Add"]


def test_few_laws_run_last() -> None:
    """In the last round nothing else runs, so these laws add at most one node for each that is there.

    What three of them make is worth a second look: where they were used, saturation goes on from the result.
    """
    assert {law.key for law in all_laws() if law.last} == {
        "batchnorm.contract_affine_rows",
        "gather.slice_as_gather",
        "joining.channels_of_convolution",
        "padding.edges_by_slices",
        "pooling.scale_of_each_channel",
        "transpose.shuffle_as_gather",
    }
    assert {law.key for law in all_laws() if law.last and law.resumes} == {
        "joining.channels_of_convolution",
        "pooling.scale_of_each_channel",
        "transpose.shuffle_as_gather",
    }
