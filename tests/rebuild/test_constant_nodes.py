"""Nodes that depend on constants alone are computed where a graph is rebuilt, as far as there is room."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import ModelProto, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.graph.node_counts import computed_from_constants
from egraph_opt.model.provenance import grown_by

COSTS = ("nodes", "flops", "bytes", "ascend")

LIMITS = {"fold_bytes": 100_000}
"""Three kernels grow by 8, 64 and 64 KiB: there is room for the first two."""


def fires(count: int = 3) -> ModelProto:
    """Modules of SqueezeNet: two convolutions of one image, of which one kernel is the larger."""
    weights: dict[str, tuple[int, ...]] = {}
    lines, x = [], "x"
    for k in range(count):
        lines += [
            f"a{k} = Conv ({x}, v{k})",
            f"b{k} = Conv <pads = [1, 1, 1, 1]> ({x}, w{k})",
            f"c{k} = Concat <axis = 1> (a{k}, b{k})",
            f"{'y' if k == count - 1 else f'r{k}'} = Relu (c{k})",
        ]
        channels = 8 if k == 0 else 64
        weights |= {f"v{k}": (32, channels, 1, 1), f"w{k}": (32, channels, 3, 3)}
        x = f"r{k}"
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> fires (float[1, 8, 9, 9] x) => (float[1, 64, 9, 9] y) {'
        + "\n".join(lines)
        + "}"
    )
    rng = np.random.default_rng(0)
    for name, shape in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(rng.normal(size=shape).astype("f"), name))
    return model


def sizes(model: ModelProto) -> int:
    return sum(numpy_helper.to_array(tensor).nbytes for tensor in model.graph.initializer)


def on_constants(model: ModelProto) -> set[str]:
    """What nodes compute of nothing but constants."""
    return computed_from_constants(ir.from_proto(model))


def test_as_many_constants_are_computed_as_there_is_room_for() -> None:
    model = fires()
    result = optimize(model, "nodes", limits=LIMITS)
    assert result.report.verification.status == "passed"
    assert len(on_constants(result.model)) == 2  # the Pad and the Concat of the last
    assert 0 < sizes(result.model) - sizes(model) == grown_by(result.model) <= LIMITS["fold_bytes"]
    everything = optimize(model, "nodes").model
    assert not on_constants(everything)
    assert len(everything.graph.node) == len(result.model.graph.node) - 2


@pytest.mark.parametrize("cost", COSTS)
def test_a_second_optimisation_has_the_room_that_is_left(cost: str) -> None:
    once = optimize(fires(), cost, limits=LIMITS, verify=False)
    again = optimize(once.model, cost, limits=LIMITS, verify=False)
    assert again.report.status == "unchanged"
    assert [t.name for t in again.model.graph.initializer] == [t.name for t in once.model.graph.initializer]


def test_what_a_file_says_of_its_growth_leaves_room_for_sizes() -> None:
    model = fires(1)
    for said in ('{"constants_grown_by": 1e99}', '{"constants_grown_by": -1}', "[]", "{"):
        del model.metadata_props[:]
        model.metadata_props.add(key="egraph_opt", value=said)
        assert optimize(model, "nodes", verify=False).report.nodes.after == 2
    del model.metadata_props[:]
    model.metadata_props.add(key="egraph_opt", value='{"constants_grown_by": 9999999}')
    assert len(on_constants(optimize(model, "nodes", verify=False).model)) == 2


TWICE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 3] x, float[4, 3] z) => (float[4, 3] y, float[4, 3] r)
<float two = {2}, float four = {4}> {
    a = MatMul (x, v)
    y = Mul (a, two)
    c = MatMul (z, u)
    r = Mul (c, four)
}"""


def test_weights_that_come_to_the_same_elements_are_in_the_file_once() -> None:
    model = parser.parse_model(TWICE)
    weight = np.arange(9, dtype=np.float32).reshape(3, 3)
    model.graph.initializer.append(numpy_helper.from_array(weight / 2, "v"))
    model.graph.initializer.append(numpy_helper.from_array(weight / 4, "u"))
    result = optimize(model, "nodes")
    assert result.report.verification.status == "passed"
    assert [node.op_type for node in result.model.graph.node] == ["MatMul", "MatMul"]
    (tensor,) = result.model.graph.initializer
    assert numpy_helper.to_array(tensor).tolist() == weight.tolist()
    onnx.checker.check_model(result.model, full_check=True)
