"""ONNX Runtime's own products, normalisations and activations.

x @ y' -> FusedMatMul(x, y; 1)            x' @ y -> FusedMatMul(x, y; 1)           matrices transposed
(x @ y) * c -> FusedMatMul(x, y; c)       FusedMatMul(x, y; 1) * c -> FusedMatMul(x, y; c)
Layer(x + y; s, b) -> SkipLayerNormalization(x, y, s, b)                           likewise RMS
Gelu(x) -> Gelu, FastGelu    Swish_a(x) -> QuickGelu_a    Gelu(x + b) -> BiasGelu(x, b), FastGelu(x, b)

Source: onnxruntime, docs/ContribOperators.md and contrib_ops/cpu.  The runtime fuses most of these itself
where an operand has one user: then they are nothing new, and their prices say what its kernels cost.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, UNKNOWN, Fact
from egraph_opt.laws import Example, Operands, hosted, kernel, law, rewrite
from egraph_opt.laws.sorts import Axes, Flag, Float, Permutation, Settings, String, Tensor
from egraph_opt.operators import (
    OnnxForm,
    layer_norm,
    none,
    operator,
    rms_norm,
    shifted_layer_norm,
    transpose,
    unary,
)
from egraph_opt.operators.typing import infer_operator
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.normalization.layer_norm import is_positive
from egraph_opt.rewrites.targets.onnxruntime_attention import DOMAIN, ONE_WAY, RULESET, SHARED


def _is_float(x: Fact) -> bool:
    """The type that all these kernels have, of a value that is computed when the model runs."""
    return x.dtype == TensorProto.FLOAT and not x.const


# --- products --------------------------------------------------------------------------------------------


def _turned(x: Fact, flag: int) -> Fact:
    shape = x.shape if x.shape is None or not flag else (*x.shape[:-2], *reversed(x.shape[-2:]))
    return Fact(x.dtype, shape)


def _sums(x: Fact, flag: int) -> bool:
    """The axis of x that a product sums has elements: without any the kernel leaves memory as it was."""
    if x.dtype != TensorProto.FLOAT or x.shape is None or len(x.shape) < 2:
        return False
    size = x.shape[-2 if flag else -1]
    return isinstance(size, int) and size > 0


def _product_form(opset: int, attributes: tuple[float, int, int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    if not _sums(facts[0], attributes[1]) or facts[1].dtype != TensorProto.FLOAT:
        return None
    settings = zip(("alpha", "transA", "transB"), attributes, strict=True)
    return OnnxForm("FusedMatMul", (0, 1), tuple(settings), DOMAIN)


def _infer_product(opset: int, attributes: tuple[float, int, int], facts: tuple[Fact, ...]) -> Any:
    turned = tuple(_turned(x, flag) for x, flag in zip(facts, attributes[1:], strict=True))
    return infer_operator("matmul", opset, (), turned)


@operator(form=_product_form, infer=_infer_product)
def fused_matmul(x: Tensor, y: Tensor, alpha: Float, trans_x: Flag, trans_y: Flag) -> Tensor:
    """alpha * x @ y, of either of which the last two axes are swapped where said."""


@hosted()
def swaps_last(p: Permutation) -> bool:
    """A transpose of the last two axes."""
    rank = len(p)
    return rank >= 2 and p == (*range(rank - 2), rank - 1, rank - 2)


@hosted()
def multiplies(x: Fact, y: Fact, flag: Flag) -> bool:
    """Two factors whose product the kernel computes when the model runs; `flag`: x is transposed before."""
    return _sums(x, flag) and (y.rank or 0) >= 2 and y.dtype == x.dtype and not (x.const and y.const)


@hosted()
def factor(c: Fact, x: Fact, y: Fact, product: Fact) -> Float | None:
    """A number, as one or broadcast, by which a product of what is no constant is scaled."""
    if x.const or y.const or not broadcasts_into(c.shape, product.shape):
        return None
    return None if c.splat is None or c.splat in (0, 1) or not np.isfinite(c.splat) else float(c.splat)


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, half = g.input(("N", "L", 4)), g.input(("N", "M", 4)), g.constant(np.float32(0.5))
    swap = (0, 2, 1)
    yield g.fires(x @ transpose(y, swap))
    yield g.fires(transpose(g.input(("N", 3, "L")), swap) @ g.input(("N", 3, 5)))
    yield g.fires((x @ g.input((4, 5))) * half)
    yield g.fires(fused_matmul(x, y, 1.0, 0, 1) * half)
    z, long = g.input(("M", 4, "N")), g.input(("N", "M", "L"))
    for term, why in (
        (x @ transpose(z, (2, 1, 0)), "another permutation"),
        (transpose(z, (2, 0, 1)) @ g.input((4, 5)), "another permutation"),
        (transpose(g.input((3, 5)), (1, 0)) @ g.input((3,)), "the kernel does not transpose before a vector"),
        (long @ transpose(g.input(("N", 5, "L")), swap), "what is summed may be nothing"),
        (transpose(long, swap) @ g.input(("M", 5)), "what is summed may be nothing"),
        ((long @ g.input(("L", 5))) * half, "what is summed may be nothing"),
        ((x @ g.input((4, 5))) * g.constant(0.0), "a factor of nothing"),
        ((x @ g.input((4, 5))) * g.random(5), "a factor per column"),
        ((x @ g.random(4, 5)) * half, "a constant takes the factor in"),
        (fused_matmul(x, y, 1.0, 0, 1) * g.random(2, 1, 1, 1), "broadcasting adds an axis"),
    ):
        yield g.near_miss(term, why)


@law(RULESET, source="onnxruntime, FusedMatMul", examples=_product_examples, **SHARED)
def product(x: Tensor, y: Tensor, c: Tensor, p: Permutation, a: Flag, b: Flag):
    """x @ y' = FusedMatMul(x, y), x' @ y likewise, (x @ y) * c = FusedMatMul(x, y; c)"""
    behind, front, bare = fused_matmul(x, y, 1.0, 0, 1), fused_matmul(x, y, 1.0, 1, 0), x @ y
    yield rewrite(x @ transpose(y, p), behind, swaps_last(p), kernel(multiplies(x, y, 0)), because=ONE_WAY)
    yield rewrite(transpose(x, p) @ y, front, swaps_last(p), multiplies(x, y, 1), because=ONE_WAY)
    scaled, given = fused_matmul(x, y, factor(c, x, y, bare), 0, 0), fused_matmul(x, y, 1.0, a, b)
    yield rewrite(bare * c, scaled, kernel(multiplies(x, y, 0)), because=ONE_WAY)
    yield rewrite(given * c, fused_matmul(x, y, factor(c, x, y, given), a, b), because=ONE_WAY)


# --- normalisations --------------------------------------------------------------------------------------


def _fits_rows(facts: tuple[Fact, ...]) -> bool:
    """Two tensors of rank 2 or 3 and one shape, and a number per element of a row."""
    x, y, *scales = facts
    if any(f.dtype != TensorProto.FLOAT for f in facts if f != ABSENT) or x.rank not in (2, 3) or not x.shape:
        return False
    size = x.shape[-1]
    if not isinstance(size, int) or size == 0 or not same_dims(x.shape, y.shape):
        return False
    return all(f == ABSENT or f.shape == (size,) for f in scales)


def _norm_form(opset: int, attributes: tuple[str, float], facts: tuple[Fact, ...]) -> OnnxForm | None:
    op, epsilon = attributes
    inputs = (0, 1, 2) if facts[3] == ABSENT else (0, 1, 2, 3)
    accepted = epsilon >= 0 and _fits_rows(facts)
    return OnnxForm(op, inputs, (("epsilon", epsilon),), DOMAIN) if accepted else None


def _infer_norm(opset: int, attributes: tuple[str, float], facts: tuple[Fact, ...]) -> Fact:
    return Fact(facts[0].dtype, facts[0].shape) if _fits_rows(facts) else UNKNOWN


@operator(form=_norm_form, infer=_infer_norm)
def skip_norm(op: String, x: Tensor, y: Tensor, scale: Tensor, bias: Tensor, epsilon: Float) -> Tensor:
    """SkipLayerNormalization or SkipSimplifiedLayerNormalization (RMS) of x + y along the last axis."""


@hosted()
def is_residual(x: Fact, y: Fact, scale: Fact, axes: Axes, epsilon: Float) -> bool:
    """A sum of rows whose elements are normalised."""
    last = x.rank is not None and axes == (x.rank - 1,)
    return last and epsilon >= 0 and _is_float(x) and _fits_rows((x, y, scale))


@hosted()
def is_row(b: Fact, x: Fact) -> bool:
    """A number per element of x's last axis."""
    size = x.shape[-1] if x.shape else None
    return isinstance(size, int) and b.shape == (size,) and b.dtype == x.dtype


def _norm_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in (("N", "L", 4), ("N", 4)):
        g = Operands(rng)
        x, y, s, b, axes = g.input(shape), g.input(shape), g.random(4), g.random(4), (len(shape) - 1,)
        for norm, *bias in ((layer_norm,), (rms_norm,), (shifted_layer_norm, b)):
            yield g.fires(norm(x + y, s, *bias, axes, 1e-5))
            yield g.near_miss(norm(x + g.random(4), s, *bias, axes, 1e-5), why="the sum is no residual")
            yield g.near_miss(norm(x, s, *bias, axes, 1e-5), why="there is no sum")
        bias_of_any = shifted_layer_norm(x + y, s, g.input(("L",)), axes, 1e-5)
        yield g.near_miss(bias_of_any, why="how long the bias is, is not known")
    g = Operands(rng)
    x, y = (g.input((2, 5, 7)) * g.constant(0.0) + g.constant(number) for number in (0.1, 0.33))
    for norm, *bias in ((layer_norm,), (shifted_layer_norm, g.random(7))):
        level = g.near_miss(norm(x + y, g.random(7), *bias, (2,), 0.0), why="only rounding is left")
        yield replace(level, opset=16)


@law(RULESET, source="onnxruntime, SkipLayerNormalization", examples=_norm_examples, **SHARED)
def norm_of_residual(x: Tensor, y: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float):
    """Layer(x + y; s, b) = SkipLayerNormalization(x, y, s, b), without b and for RMS likewise"""
    z, mean, square = x + y, "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
    runs = kernel(is_residual(x, y, s, a, e))
    known = (is_positive(e), *runs)
    yield rewrite(layer_norm(z, s, a, e), skip_norm(mean, x, y, s, none(), e), *known, because=ONE_WAY)
    yield rewrite(rms_norm(z, s, a, e), skip_norm(square, x, y, s, none(), e), *runs, because=ONE_WAY)
    biased = skip_norm(mean, x, y, s, b, e)
    row = kernel(is_row(b, x))
    yield rewrite(shifted_layer_norm(z, s, b, a, e), biased, *known, row, because=ONE_WAY)


# --- activations -----------------------------------------------------------------------------------------


def _activates(x: Fact) -> bool:
    """Whether the kernels take x: FastGelu refuses a scalar."""
    return x.dtype == TensorProto.FLOAT and bool(x.rank)


def _gelu_form(opset: int, attributes: tuple[str, float], facts: tuple[Fact, ...]) -> OnnxForm | None:
    op, alpha = attributes
    if not _activates(facts[0]):
        return None
    settings = (("alpha", alpha),) if op == "QuickGelu" else ()
    return OnnxForm(op, (0,) if facts[1] == ABSENT else (0, 1), settings, DOMAIN)


def _infer_gelu(opset: int, attributes: tuple[str, float], facts: tuple[Fact, ...]) -> Fact:
    return Fact(facts[0].dtype, facts[0].shape) if _activates(facts[0]) else UNKNOWN


@operator(form=_gelu_form, infer=_infer_gelu)
def own_gelu(op: String, alpha: Float, x: Tensor, bias: Tensor) -> Tensor:
    """Gelu, BiasGelu, FastGelu (by Tanh) or QuickGelu (with `alpha`) of x, or of x + bias."""


@hosted()
def runs(x: Fact) -> bool:
    return _activates(x) and not x.const


@hosted()
def slope(settings: Settings) -> Float:
    return float(dict(settings).get("alpha", 1.0))


def _gelu_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, b, double = g.input(("N", 3)), g.random(3), g.input((2, 3), TensorProto.DOUBLE)
    doubles = g.input((3,), TensorProto.DOUBLE)
    for op, settings in (
        ("Gelu", (("approximate", "none"),)),
        ("Gelu", (("approximate", "tanh"),)),
        ("Swish", (("alpha", 1.5),)),
    ):
        yield g.fires(unary(op, settings, x))
        yield g.near_miss(unary(op, settings, double), why="there is no kernel for doubles")
        yield g.near_miss(unary(op, settings, g.input(())), why="there is no kernel for scalars")
        if op == "Gelu":
            yield g.fires(unary(op, settings, x + b))
            yield g.near_miss(unary(op, settings, double + doubles), why="there is no kernel for doubles")


@law(RULESET, source="onnxruntime, Gelu, BiasGelu, FastGelu, QuickGelu", examples=_gelu_examples, **SHARED)
def gelu(x: Tensor, b: Tensor, s: Settings):
    """Gelu(x) = com.microsoft.Gelu(x), by Tanh FastGelu(x), Swish_a(x) = QuickGelu_a(x), of x + b likewise"""
    for op, biased, how in (("Gelu", "BiasGelu", "none"), ("FastGelu", "FastGelu", "tanh")):
        settings = (("approximate", how),)
        of_one, of_sum = own_gelu(op, 1.0, x, none()), own_gelu(biased, 1.0, x, b)
        yield rewrite(unary("Gelu", settings, x), of_one, kernel(runs(x)), because=ONE_WAY)
        row = (kernel(runs(x)), is_row(b, x))
        yield rewrite(unary("Gelu", settings, x + b), of_sum, *row, because=ONE_WAY)
    quick = own_gelu("QuickGelu", slope(s), x, none())
    yield rewrite(unary("Swish", s, x), quick, kernel(runs(x)), because=ONE_WAY)
