"""Composite functions of several operands: normalisations and attention.

Each is ONNX's own operator where the opset has it and its conditions hold; elsewhere it is a pseudo-operator
that stands for the primitive operators, so that a cost model may know what a compiler recognises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact, Shape
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.declaration import (
    PSEUDO_DOMAIN,
    Earlier,
    OnnxForm,
    Scalar,
    Step,
    TermSpec,
    lowers,
    operator,
)
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Axes, Flag, Float

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


_AS_FLOAT32 = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16))
"""Types that lose nothing by the float32 in which ONNX's normalisations compute inside."""

SWAP_LAST = (0, 1, 3, 2)
"""The transpose of a stack of matrices, [batch, heads, rows, columns]."""


# --- normalisation ---------------------------------------------------------------------------------------


def scale_dims(x: Fact, axes: Axes) -> Shape | None:
    """The shape of scale and bias: x's dims from the first axis on, 1 where they are not normalised."""
    if x.shape is None or not axes or axes[-1] >= len(x.shape):
        return None
    return tuple(x.shape[k] if k in axes else 1 for k in range(axes[0], len(x.shape)))


def _norm_form(op_type: str) -> Any:
    def form(opset: int, attributes: tuple[Axes, float], facts: tuple[Fact, ...]) -> OnnxForm:
        axes, epsilon = attributes
        inputs = tuple(range(len(facts)))
        x = facts[0]
        behind = x.rank is not None and axes == tuple(range(axes[0], x.rank))
        if behind and x.dtype in _AS_FLOAT32 and is_available(op_type, opset):
            return OnnxForm(op_type, inputs, (("axis", axes[0]), ("epsilon", epsilon)))
        return OnnxForm(op_type, inputs, (("axes", axes), ("epsilon", epsilon)), PSEUDO_DOMAIN)

    return form


def _infer_norm(opset: int, attributes: tuple[Axes, float], facts: tuple[Fact, ...]) -> Fact:
    """The type of x, which has to be a float; unknown where a scale or bias would widen it."""
    if facts[0].dtype > 0 and facts[0].dtype not in FLOATS:
        return CLASH
    dims = scale_dims(facts[0], attributes[0])
    for operand in facts[1:]:
        if dims is not None and operand.shape is not None and _differ(operand.shape, dims):
            return UNKNOWN
    return Fact(facts[0].dtype, facts[0].shape, all(fact.const for fact in facts))


def _differ(a: Shape, b: Shape) -> bool:
    """Whether two shapes are known to be different."""
    pairs = zip(a, b, strict=False)
    return len(a) != len(b) or any(isinstance(d, int) and isinstance(e, int) and d != e for d, e in pairs)


def _scaled(x: int | Earlier, axes: Axes, epsilon: float, before: int) -> tuple[Step, ...]:
    """x / sqrt(mean(x^2) + epsilon) * operand 1, after `before` other steps.

    The square is a power, as exporters write it: onnxruntime's fusions look for that.
    """
    return (
        Step("binary", ("Pow",), (x, Scalar(2.0))),
        Step("reduce", ("ReduceMean", axes, 1), (Earlier(before),)),
        Step("binary", ("Add",), (Earlier(before + 1), Scalar(epsilon))),
        Step("unary", ("Sqrt", ()), (Earlier(before + 2),)),
        Step("binary", ("Div",), (x, Earlier(before + 3))),
        Step("binary", ("Mul",), (Earlier(before + 4), 1)),
    )


def _expand_rms(attributes: tuple[Axes, float]) -> tuple[Step, ...]:
    return _scaled(0, *attributes, 0)


def _expand_layer(attributes: tuple[Axes, float]) -> tuple[Step, ...]:
    axes, epsilon = attributes
    mean = Step("reduce", ("ReduceMean", axes, 1), (0,))
    return (mean, Step("binary", ("Sub",), (0, Earlier(0))), *_scaled(Earlier(1), axes, epsilon, 2))


def _expand_shifted(attributes: tuple[Axes, float]) -> tuple[Step, ...]:
    steps = _expand_layer(attributes)
    return (*steps, Step("binary", ("Add",), (Earlier(len(steps) - 1), 2)))


@operator(form=_norm_form("RMSNormalization"), infer=_infer_norm, expand=_expand_rms)
def rms_norm(x: Tensor, scale: Tensor, axes: Axes, epsilon: Float) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * scale, the mean over `axes` (sorted); scale: see `scale_dims`."""


@operator(form=_norm_form("LayerNormalization"), infer=_infer_norm, expand=_expand_layer)
def layer_norm(x: Tensor, scale: Tensor, axes: Axes, epsilon: Float) -> Tensor:
    """`rms_norm` of x - mean(x)."""


@operator(form=_norm_form("LayerNormalization"), infer=_infer_norm, expand=_expand_shifted)
def shifted_layer_norm(x: Tensor, scale: Tensor, bias: Tensor, axes: Axes, epsilon: Float) -> Tensor:
    """`layer_norm` with a bias of the scale's shape added."""


def _fits(x: Fact, axes: Axes, operand: Fact) -> bool:
    dims = scale_dims(x, axes)
    return (
        dims is not None
        and operand.shape is not None
        and len(operand.shape) == len(dims)
        and all(symbolic.known_equal(a, b) for a, b in zip(operand.shape, dims, strict=True))
    )


@lowers("LayerNormalization", "RMSNormalization")
def _lower_norm(node: NodeReader) -> TermSpec | None:
    x = node.fact(0)
    if not x.rank or node.attribute("stash_type") != TensorProto.FLOAT:
        return None
    if any(node.uses_output(k) for k in range(1, node.output_count)):
        return None
    axes = tuple(range(node.attribute("axis") % x.rank, x.rank))
    operands = tuple(k for k in range(3) if node.has(k))
    if len(operands) < 2 or not all(_fits(x, axes, node.fact(k)) for k in operands[1:]):
        return None
    name = "rms_norm" if node.op_type == "RMSNormalization" else "layer_norm"
    if len(operands) == 3:
        name = "shifted_layer_norm"
    return TermSpec(name, (axes, node.attribute("epsilon")), operands)


# --- attention -------------------------------------------------------------------------------------------


def _scores(scale: float) -> tuple[Step, ...]:
    steps = (Step("transpose", (SWAP_LAST,), (1,)), Step("matmul", (), (0, Earlier(0))))
    return steps if scale == 1 else (*steps, Step("binary", ("Mul",), (Earlier(1), Scalar(scale))))


def _scores_form(opset: int, attributes: tuple[float], facts: tuple[Fact, ...]) -> OnnxForm:
    return OnnxForm("AttentionScores", (0, 1), (("scale", attributes[0]),), PSEUDO_DOMAIN)


@operator(form=_scores_form, expand=lambda attributes: _scores(*attributes))
def scores(q: Tensor, k: Tensor, scale: Float) -> Tensor:
    """q @ k' * scale: how much each query [B, H, L, d] asks for each key [B, H, S, d]."""


def _attend(masked: bool) -> Any:
    def expand(attributes: tuple[float, int]) -> tuple[Step, ...]:
        scale, wide = attributes
        functions: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [("softmax", ("Softmax", 3), ())]
        if wide:
            functions = [("cast", (TensorProto.FLOAT,), ()), *functions, ("cast", (TensorProto.FLOAT16,), ())]
        if masked:
            functions = [("binary", ("Add",), (3,)), *functions]
        steps = _scores(scale)
        for name, settings, others in (*functions, ("matmul", (), (2,))):
            steps = (*steps, Step(name, settings, (Earlier(len(steps) - 1), *others)))
        return steps

    return expand


def _is_native(opset: int, scale: float, facts: tuple[Fact, ...]) -> bool:
    """Whether ONNX's Attention takes these operands: equal batches, heads or one, a mask of all scores.

    One head of keys and values is that of all queries, in ONNX by groups and here since products broadcast.
    onnxruntime refuses scales that are not above 0, and tensors without elements; dims that are symbols are
    taken for 1 or more.
    """
    if not is_available("Attention", opset) or scale <= 0 or any(f.shape is None for f in facts):
        return False
    q, k, v, *masks = (f.shape or () for f in facts)
    if not len(q) == len(k) == len(v) == 4 or 0 in (*q, *k, *v):
        return False
    equal = symbolic.known_equal
    if not all(equal(q[0], x[0]) for x in (k, v)):
        return False
    if not k[1] == v[1] == 1 and not all(equal(q[1], x[1]) for x in (k, v)):
        return False
    for mask in masks:  # onnxruntime broadcasts the leading dims only
        if not 2 <= len(mask) <= 4 or not equal(mask[-2], q[2]) or not equal(mask[-1], k[2]):
            return False
        leading = zip(reversed(mask[:-2]), (q[1], q[0]), strict=False)
        if not all(a == 1 or equal(a, b) for a, b in leading):
            return False
    return True


def _attention_form(opset: int, attributes: tuple[float, int], facts: tuple[Fact, ...]) -> OnnxForm:
    (scale, wide), inputs = attributes, (0, 1, 2, 3) if len(facts) == 4 else (0, 1, 2)
    domain = "" if _is_native(opset, scale, facts) else PSEUDO_DOMAIN
    precision = (("softmax_precision", int(TensorProto.FLOAT)),) if wide else ()
    return OnnxForm("Attention", inputs, (("scale", scale), *precision), domain)


@operator(form=_attention_form, expand=_attend(masked=False))
def attention(q: Tensor, k: Tensor, v: Tensor, scale: Float, wide: Flag) -> Tensor:
    """Softmax(q @ k' * scale) @ v; v: [B, H, S, e].

    `wide`: of float16, the Softmax computed in float32 and rounded.
    """


@operator(form=_attention_form, expand=_attend(masked=True))
def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: Float, wide: Flag) -> Tensor:
    """Softmax(q @ k' * scale + mask) @ v."""


@lowers("Attention")
def _lower_attention(node: NodeReader) -> TermSpec | None:
    q = node.fact(0)
    if q.rank != 4 or q.shape is None or any(node.has(k) for k in range(4, node.count)):
        return None
    if any(node.uses_output(k) for k in range(1, node.output_count)):
        return None
    plain = ("is_causal", "softcap", "qk_matmul_output_mode")
    scale, precision = node.attribute("scale"), node.attribute("softmax_precision") or q.dtype
    wide = precision == TensorProto.FLOAT and q.dtype == TensorProto.FLOAT16
    if any(node.attribute(name) for name in plain) or (precision != q.dtype and not wide):
        return None
    if scale is None:
        if not isinstance(q.shape[3], int) or q.shape[3] == 0:
            return None
        scale = q.shape[3] ** -0.5
    masked = node.has(3)
    operands = (0, 1, 2, 3) if masked else (0, 1, 2)
    facts = tuple(node.fact(k) for k in operands)
    if (masked and facts[3].dtype != q.dtype) or not _is_native(node.opset, scale, facts):
        return None
    return TermSpec("masked_attention" if masked else "attention", (scale, int(wide)), operands)
