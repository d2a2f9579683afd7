"""Operators of onnxruntime's own, in terms of ONNX's."""

from __future__ import annotations

from typing import Any

from egraph_opt.semantics.folds import any_flag, matmul
from egraph_opt.semantics.movement import transpose
from egraph_opt.semantics.pointwise import binary, unary
from egraph_opt.semantics.values import Value, means


@means(
    "fused_matmul", alpha=lambda scene, given: scene.real("alpha"), trans_x=any_flag, trans_y=any_flag
)  # fmt: skip
def fused_matmul(scene: Any, x: Value, y: Value, *settings: Any) -> Value:
    """The settings are a factor, and of which operand the last two axes are exchanged."""
    alpha, *flags = settings
    turned = [_turned(scene, v, flag) for v, flag in zip((x, y), flags, strict=True)]
    product, factor = matmul(scene, *turned), scene.real_formula(alpha)
    return Value(product.dtype, product.shape, lambda i: scene.multiply(product.at(i), factor))


def _turned(scene: Any, x: Value, flag: int) -> Value:
    if not flag:
        return x
    scene.must(x.rank >= 2)
    return transpose(scene, x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


OWN_GELUS = ("BiasGelu", "FastGelu", "Gelu", "QuickGelu")


@means(
    "own_gelu", op=lambda scene, given: scene.name(OWN_GELUS), alpha=lambda scene, given: scene.real("alpha")
)
def own_gelu(scene: Any, op: Any, alpha: Any, x: Value, bias: Value | None) -> Value:
    name = scene.spelled(op)
    scene.must(bias is not None or name != "BiasGelu")
    whole = x if bias is None else binary(scene, "Add", x, bias)
    if name == "QuickGelu":
        return unary(scene, "Swish", (("alpha", alpha),), whole)
    return unary(scene, "Gelu", (("approximate", "tanh" if name == "FastGelu" else "none"),), whole)
