"""What pseudo-operators stand for: also where a step is one that the opset does not have."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt.cost.expansion import expand_pseudo
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.measurement.store import Store
from egraph_opt.pipeline.stages import saturate


@pytest.mark.parametrize(
    ("opset", "steps"), [(13, ["conv", "unary HardSigmoid", "binary Mul"]), (17, ["conv", "unary HardSwish"])]
)
def test_a_stage_that_the_opset_lacks_is_written_out(opset: int, steps: list[str]) -> None:
    """HardSwish came with opset 14; the runtime fuses either spelling with the convolution."""
    proto = parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["" : {opset}]>
        swish (float[1,16,8,8] x) => (float[1,16,8,8] y)
        <float[16,16,1,1] w = {{{", ".join(["0.1"] * 256)}}}>
        {{
            a = Conv (x, w)
            b = HardSigmoid <alpha = 0.16666667, beta = 0.5> (a)
            y = Mul (a, b)
        }}
        """
    )
    saturated = saturate(proto, target=OnnxRuntime(store=Store(None), seconds=0.0))
    assert saturated.region is not None
    snapshot = saturated.region.snapshot
    kernels = [k for k, name in enumerate(snapshot.operator) if name == "fused_cube"]
    written = [
        [
            f"{part.step.operator} {part.step.attributes[0]}" if part.step.operator != "conv" else "conv"
            for part in expand_pseudo(snapshot, k, opset)
        ]
        for k in kernels
    ]
    assert steps in written
