"""What ONNX Runtime computes in bytes is one kernel, priced and measured as the group of nodes that it is."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.measurement.specimen import specimen_of
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
quantized (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float s = {0.05}, uint8 z = {128}, int8[4, 4, 1, 1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16},
 float ws = {0.01}, int8 wz = {0}> {
    q = QuantizeLinear (x, s, z)
    a = DequantizeLinear (q, s, z)
    f = DequantizeLinear (w, ws, wz)
    BEHIND
    o = QuantizeLinear (r, s, z)
    y = DequantizeLinear (o, s, z)
}"""


class Groups(CostModel):
    """A launch for each kernel, on bytes too."""

    name = "groups"
    unit = "launches"
    rulesets = ("onnxruntime.bytes",)
    limits = {"byte_kernels": 1}  # noqa: RUF012
    pseudo_operators = frozenset({"byte_kernel"})

    def __init__(self) -> None:
        self.seen: list[NodeView] = []

    def cost(self, node: NodeView) -> float:
        if node.domain == PSEUDO_DOMAIN:
            self.seen.append(node)
        return 1.0 + node.body_cost


@pytest.mark.parametrize(
    ("behind", "operators", "kernel"),
    [
        ("c = Conv (a, f) r = Relu (c)", ["Conv", "Relu"], "Conv"),
        ("r = Add (a, a)", ["Add"], "Add"),
        ("r = MatMul (a, a)", ["MatMul"], "MatMul"),
        ("r = Sigmoid (a)", ["Sigmoid"], "Sigmoid"),
        ("r = MaxPool <kernel_shape = [1, 1]> (a)", ["MaxPool"], "MaxPool"),
    ],
)
def test_an_operator_between_bytes_is_one_kernel(behind: str, operators: list[str], kernel: str) -> None:
    model, cost = parser.parse_model(TEXT.replace("BEHIND", behind)), Groups()
    result = optimize(model, cost, rewrites="default,-pooling,-quantization,-reduction,-matmul")
    assert result.report.verification.status == "passed"
    assert result.report.cost.after <= 3  # Q, the kernel, DQ
    whole = [view for view in cost.seen if view.parts and view.parts.nodes[-1].op_type == "QuantizeLinear"]
    inside = [
        [node.op_type for node in view.parts.nodes if "Linear" not in node.op_type]
        for view in whole
        if view.parts
    ]
    assert operators in inside
    assert kernel in runs(whole[inside.index(operators)])


def runs(view: NodeView) -> str:
    """The kernel that onnxruntime makes of a group, or its nodes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    specimen = specimen_of(view)
    session = onnxruntime.InferenceSession(specimen.model, options)
    (found,) = session.run(None, specimen.feeds)
    assert found.dtype == np.uint8
    return " ".join(node.op_type for node in onnx.load_from_string(specimen.model).graph.node)
