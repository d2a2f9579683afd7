"""Composite functions: ONNX's operator where the opset has it, the same in primitive operators elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.feeds.kinds import BY_CLASS
from egraph_opt.check.judging.comparing import compare
from egraph_opt.check.judging.outcomes import Tally
from egraph_opt.check.judging.trials import Original
from egraph_opt.check.terms import lower_example
from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import (
    attention,
    layer_norm,
    masked_attention,
    rms_norm,
    scores,
    shifted_layer_norm,
    unary,
)
from egraph_opt.operators.typing import infer_operator

NEWEST = 24
Build = Callable[[Operands], Any]


def activation(op: str, **settings: Any) -> Build:
    return lambda g: unary(op, tuple(sorted(settings.items())), g.input(("N", 3, 4)))


def normalised(function: Any, operands: int, axes: tuple[int, ...]) -> Build:
    shape = (3, 4)[axes[0] - 1 :]
    return lambda g: function(g.input(("N", 3, 4)), *(g.random(*shape) for _ in range(operands)), axes, 1e-5)


def attending(mask: tuple[int, ...] | None, dtype: int = onnx.TensorProto.FLOAT, wide: int = 0) -> Build:
    def build(g: Operands) -> Any:
        q, k, v = (g.input(dims, dtype) for dims in ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)))
        if mask is None:
            return attention(q, k, v, 0.5, wide)
        return masked_attention(q, k, v, g.input(mask, dtype), 0.3, wide)

    return build


CASES = {
    "gelu": (activation("Gelu", approximate="none"), "Gelu", 20),
    "gelu-tanh": (activation("Gelu", approximate="tanh"), "Gelu", 20),
    "hard-swish": (activation("HardSwish"), "HardSwish", 14),
    "mish": (activation("Mish"), "Mish", 18),
    "swish": (activation("Swish", alpha=1.0), "Swish", 24),
    "swish-alpha": (activation("Swish", alpha=1.5), "Swish", 24),
    "rms": (normalised(rms_norm, 1, (2,)), "RMSNormalization", 23),
    "rms-two-axes": (normalised(rms_norm, 1, (1, 2)), "RMSNormalization", 23),
    "layer": (normalised(layer_norm, 1, (2,)), "LayerNormalization", 17),
    "layer-shifted": (normalised(shifted_layer_norm, 2, (1, 2)), "LayerNormalization", 17),
    "attention": (attending(None), "Attention", 23),
    "attention-wide": (attending(None, onnx.TensorProto.FLOAT16, 1), "Attention", 23),
    "attention-wide-mask": (attending((5, 6), onnx.TensorProto.FLOAT16, 1), "Attention", 23),
    "attention-mask": (attending((5, 6)), "Attention", 23),
    "attention-mask-of-heads": (attending((1, 3, 5, 6)), "Attention", 23),
    "attention-mask-of-batches": (attending((2, 1, 5, 6)), "Attention", 23),
}


def written(build: Build, opset: int) -> onnx.ModelProto:
    g = Operands(np.random.default_rng(0))
    return rebuilt_original(lower_example(g.fires(build(g)), opset), opset)


def kinds(model: onnx.ModelProto) -> list[str]:
    """The operators, but for the Identity that gives the output its name."""
    assert {node.domain for node in model.graph.node} == {""}
    return [node.op_type for node in model.graph.node if node.op_type != "Identity"]


@pytest.mark.parametrize("case", sorted(CASES))
def test_what_an_opset_lacks_is_written_in_primitive_operators(case: str) -> None:
    build, op_type, since = CASES[case]
    old, new = written(build, 13), written(build, since)
    assert kinds(new) == [op_type]
    before = written(build, since - 1)
    for primitive in (old, before):
        assert op_type not in kinds(primitive)
        assert compare(Original(new, "reassociates", BY_CLASS["reassociates"]), primitive, Tally()) is None


def test_normalisation_over_an_inner_axis_is_no_onnx_operator() -> None:
    def build(g: Operands) -> Any:
        return layer_norm(g.input((2, 3, 4)), g.random(3, 1), (1,), 1e-5)

    assert "LayerNormalization" not in kinds(written(build, NEWEST))


def test_a_mask_that_onnxruntime_does_not_broadcast_is_added() -> None:
    written_out = ["Transpose", "MatMul", "Mul", "Add", "Softmax", "MatMul"]
    assert kinds(written(attending((1, 1, 1, 6)), NEWEST)) == written_out


def test_attention_without_elements_is_not_left_to_onnxruntime() -> None:
    def build(g: Operands) -> Any:
        return attention(g.input((0, 3, 5, 4)), g.input((0, 3, 6, 4)), g.input((0, 3, 6, 7)), 0.5, 0)

    assert "Attention" not in kinds(written(build, NEWEST))


def test_scores_are_never_onnx() -> None:
    def build(g: Operands) -> Any:
        return scores(g.input((2, 3, 5, 4)), g.input((2, 3, 6, 4)), 0.5)

    assert kinds(written(build, NEWEST)) == ["Transpose", "MatMul", "Mul"]


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "shifted_layer_norm"])
def test_only_floats_are_normalised(name: str) -> None:
    def typed(dtype: int) -> Fact:
        operands = (Fact(dtype, ("N", 4)), *[Fact(dtype, (4,))] * (1 + name.startswith("shifted")))
        found = infer_operator(name, NEWEST, ((1,), 1e-5), operands)
        assert isinstance(found, Fact)
        return found

    assert typed(onnx.TensorProto.FLOAT16) == Fact(onnx.TensorProto.FLOAT16, ("N", 4))
    for dtype in (onnx.TensorProto.BOOL, onnx.TensorProto.INT32, onnx.TensorProto.STRING):
        assert typed(dtype) == CLASH
