"""What pseudo-operators stand for is spelled as ONNX Runtime's own fusions look for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt.cost.model import NodeView
from egraph_opt.cost.repricing import key_of
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.specimen import specimen_of
from egraph_opt.measurement.store import Store
from egraph_opt.pipeline.stages import saturate

MODEL = OnnxRuntime(seconds=0.0, store=Store(None))

ROWS, HEADS = "float[2,64,256]", "float[2,4,64,32]"
CONSTANTS = {"w": (256,), "b": (256,), "k": (256, 256), "c": (16, 8, 3, 3)}

CASES = {
    "Gelu": (f"{ROWS} x", ROWS, "d = Div(x, r2) e = Erf(d) a = Add(e, one) p = Mul(x, a) y = Mul(p, half)",
             17, "Gelu", "Gelu"),
    "Gelu by Tanh": (f"{ROWS} x", ROWS, "y = Gelu<approximate = \"tanh\">(x)", 20, None, "Gelu"),
    "Swish": (f"{ROWS} x", ROWS, "s = Sigmoid(x) y = Mul(x, s)", 17, "Swish", "QuickGelu"),
    "LayerNormalization": (
        f"{ROWS} x", ROWS,
        "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [-1]>(q)"
        " ve = Add(v, eps) r = Sqrt(ve) n = Div(d, r) z = Mul(n, w) y = Add(z, b)", 14,
        "LayerNormalization", "LayerNormalization",
    ),
    "RMSNormalization": (
        f"{ROWS} x", ROWS,
        "q = Mul(x, x) v = ReduceMean<axes = [-1]>(q) ve = Add(v, eps) r = Sqrt(ve) n = Div(x, r)"
        " y = Mul(n, w)",
        14, "RMSNormalization", "SimplifiedLayerNormalization",
    ),
    "product and bias": ("float[64,256] x", "float[64,256] y", "z = MatMul(x, k) y = Add(z, b)", 17,
                         "FusedCube", "Gemm"),
    "scores": (f"{HEADS} x, {HEADS} u, {HEADS} v", HEADS,
               "t = Transpose<perm = [0, 1, 3, 2]>(u) z = MatMul(x, t) s = Mul(z, half)"
               " p = Softmax<axis = -1>(s) y = MatMul(p, v)", 17, "AttentionScores", "FusedMatMul"),
    "convolution and activation": ("float[1,8,9,9] x", "float[1,16,7,7]", "a = Conv(x, c) y = Relu(a)", 17,
                                   "FusedCube", "Conv"),
}  # fmt: skip


def graph(inputs: str, output: str, body: str, opset: int) -> onnx.ModelProto:
    output = output if output.endswith(" y") else f"{output} y"
    text = f'<ir_version: 8, opset_import: ["" : {opset}]>\ng ({inputs}) => ({output})\n'
    numbers = "float one = {1.0}, float half = {0.5}, float r2 = {1.4142135}, float eps = {0.00001}"
    declared = ", ".join(f"float[{','.join(map(str, s))}] {n}" for n, s in CONSTANTS.items())
    lines = body.replace(") ", ")\n")
    proto = parser.parse_model(f"{text}<{numbers}, {declared}>\n{{\n{lines}\n}}")
    random = np.random.default_rng(0)
    for name, shape in CONSTANTS.items():
        tensor = random.standard_normal(shape).astype(np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(tensor, name))
    return proto


def fused(model: bytes, folder: Path) -> list[str]:
    """The operators that the runtime runs."""
    setting = RuntimeSetting()
    options = setting.options()
    options.optimized_model_filepath = str(folder / "fused.onnx")
    setting.session(model, options)
    return [node.op_type for node in onnx.load(folder / "fused.onnx").graph.node]


def views(proto: onnx.ModelProto) -> list[NodeView]:
    saturated = saturate(proto, target=MODEL)
    assert saturated.region is not None
    key = key_of(MODEL, {}, saturated.limits.fold_bytes)
    return list(saturated.region.compiled(key).view.views)


@pytest.mark.parametrize("case", CASES)
def test_the_runtime_fuses_what_a_pseudo_operator_stands_for(case: str, tmp_path: Path) -> None:
    inputs, output, body, opset, pseudo, kernel = CASES[case]
    found = views(graph(inputs, output, body, opset))
    kernels = [
        fused(specimen_of(view).model, tmp_path)
        for view in found
        if (view.parts is not None and view.op_type == pseudo) or (pseudo is None and view.op_type == kernel)
    ]
    assert any(len([k for k in run if not k.startswith("Reorder")]) == 1 and kernel in run for run in kernels)
