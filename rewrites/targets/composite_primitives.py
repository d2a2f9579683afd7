"""Composite functions written back in primitive operators, for targets that lack them or fuse otherwise.

Gelu(x) = x * (1 + Erf(x / sqrt 2)) / 2        Mish(x) = x * Tanh(Softplus(x))
Swish_a(x) = x * Sigmoid(a * x)                HardSwish(x) = x * HardSigmoid(x)
Softplus(x) = Relu(x) + Log(1 + Exp(-|x|))     HardSigmoid(x) = Clip(a * x + b) within 0..1
Softmax(x) = Exp(x - max x) / ReduceSum(Exp(x - max x))
Layer(x; s, b) = Layer(x; s) + b               Layer(x; s) = Layer(x; 1) * s = RMS(x - mean(x); s)
RMS(x; s) = x / Sqrt(mean(x^2) + e) * s
Attention(q, k, v, m; s) = Softmax(Scores(q, k; s) + m) @ v
Scores(q, k; s) = q @ k' * s

The ruleset runs for cost models that name it, or where a user does; the ways back are laws of other
rulesets.  None of its laws makes a composite function of another operand than it found, but for the steps
from one to the next above, so it ends.
"""

import math
from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import assign, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import erf, exp, log, number_like, relu, sigmoid, softplus, sqrt, tanh, varies
from egraph_opt.laws.sorts import Axes, Axis, Flag, Float, Int, Settings, String, Tensor
from egraph_opt.operators import (
    attention,
    layer_norm,
    literal,
    masked_attention,
    reduce,
    rms_norm,
    scores,
    shifted_layer_norm,
    softmax,
    transpose,
    unary,
)
from egraph_opt.operators.activations import CUBE
from egraph_opt.operators.composites import SWAP_LAST
from egraph_opt.rewrites.attention.scaled_dot_product import softmaxes, weights
from egraph_opt.rewrites.conditions.channels import in_type_of
from egraph_opt.rewrites.normalization.layer_norm import KEPT, unit_scale
from egraph_opt.rewrites.reductions.greatest import alone

law = laws_of(
    "composites.primitives",
    numerics="reassociates",
    kind="split",
    serves="target",
    source="ONNX, the functions' bodies",
)


@hosted()
def setting(settings: Settings, name: str) -> Float | None:
    """An attribute of an activation."""
    return dict(settings).get(name)


@law()
def activations(x: Tensor, s: Settings):
    """Gelu, Swish, HardSwish, HardSigmoid, Mish and Softplus as ONNX defines them"""
    one, half, runs = number_like(x, 1.0), number_like(x, 0.5), guard(varies(x))
    by_erf = x * (erf(x * number_like(x, math.sqrt(0.5))) + one) * half
    yield rewrite(unary("Gelu", (("approximate", "none"),), x), by_erf, runs, inverse="activations.gelu")
    inner = (x + x * x * x * number_like(x, CUBE)) * number_like(x, math.sqrt(2 / math.pi))
    by_tanh = x * (tanh(inner) + one) * half
    yield rewrite(unary("Gelu", (("approximate", "tanh"),), x), by_tanh, runs, inverse="activations.gelu")
    alpha, beta = (number_like(x, in_type_of(x, setting(s, name))) for name in ("alpha", "beta"))
    yield rewrite(unary("Swish", s, x), x * sigmoid(x * alpha), runs, inverse="activations.swish")
    hard = unary("HardSigmoid", (("alpha", 1 / 6), ("beta", 0.5)), x)
    yield rewrite(unary("HardSwish", s, x), x * hard, inverse="activations.hard_swish")
    clipped = unary("Clip", (("max", 1.0), ("min", 0.0)), x * alpha + beta)
    yield rewrite(unary("HardSigmoid", s, x), clipped, runs, inverse="bounds.hard_sigmoid_of_clip")
    yield rewrite(unary("Mish", s, x), x * tanh(softplus(x)), inverse="activations.mish")
    soft = relu(x) + log(exp(-unary("Abs", (), x)) + one)
    why = "bounds.softplus finds it spelled as Log(Exp(x) + 1)"
    yield rewrite(unary("Softplus", s, x), soft, runs, because=why)


@table(merge="max")
def level(x: Tensor) -> Int:
    """1 for what its maximum was taken off, 0 for other operands of Softmax."""


def _less_maximum(x: Any, axes: Any) -> Any:
    return x - reduce("ReduceMax", x, axes, KEPT)


@auxiliary()
def levels(x: Tensor, y: Tensor, op: String, k: Axis, a: Axes):
    """Fills `level`."""
    yield rule(eq(y, softmax(op, x, k)), then=assign(level(x), 0))
    yield rule(eq(y, _less_maximum(x, a)), then=assign(level(y), 1))


@law(uses=(levels,))
def softmax_parts(x: Tensor, k: Axis):
    """Softmax(x) = Exp(x - m) / ReduceSum(Exp(x - m)), LogSoftmax(x) = x - m - Log(ReduceSum(Exp(x - m)))

    m is the maximum.
    """
    axes = alone(k)
    away = _less_maximum(x, axes)
    e = exp(away)
    total = reduce("ReduceSum", e, axes, KEPT)
    # What is found in the parts is the Softmax of x - m, whose parts are these again.
    first = guard(eq(level(x), 0))
    ratio, logarithm = e / total, away - log(total)
    yield rewrite(softmax("Softmax", x, k), ratio, first, inverse="softmax.softmax_of_exponentials")
    yield rewrite(softmax("LogSoftmax", x, k), logarithm, first, inverse="softmax.logarithm_of_sum")


@hosted()
def scales(s: Fact) -> bool:
    """A scale that may be other than 1."""
    return s.splat != 1


@hosted()
def has_axes(x: Fact, axes: Axes) -> bool:
    """x has these axes: onnxruntime normalises a scalar as well."""
    return x.rank is not None and all(0 <= axis < x.rank for axis in axes)


@law()
def normalisation_parts(x: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float):
    """Layer(x; s, b) = Layer(x; 1) * s + b, Layer(x; s) = RMS(x - mean(x); s), RMS(x; s) = x / root * s

    A scale and a bias that stand alone are taken in by the product behind.
    """
    plain, ones = layer_norm(x, s, a, e), literal(unit_scale(x, a))
    yield rewrite(shifted_layer_norm(x, s, b, a, e), plain + b, inverse="normalization.shift")
    yield rewrite(plain, layer_norm(x, ones, a, e) * s, guard(scales(s)), inverse="normalization.scale")
    away = x - reduce("ReduceMean", x, a, KEPT)
    spelled = in_type_of(x, e)  # where the opset has no such operator
    yield rewrite(plain, rms_norm(away, s, a, spelled), inverse="normalization.centred")
    root = sqrt(reduce("ReduceMean", x * x, a, KEPT) + number_like(x, spelled))
    runs = (has_axes(x, a), guard(varies(x)))
    yield rewrite(rms_norm(x, s, a, e), x / root * s, *runs, inverse="normalization.root_mean_square")


@law(source="ONNX, Attention's body", uses=(softmaxes,))
def attention_parts(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, w: Flag):
    """Attention(q, k, v, m; s) = Softmax(Scores(q, k; s) + m) @ v, Scores(q, k; s) = q @ k' * s"""
    given = scores(q, k, s)
    yield rewrite(attention(q, k, v, s, w), weights(given, 3, w) @ v, inverse="attention.attend")
    masked = weights(given + m, 3, w) @ v
    yield rewrite(masked_attention(q, k, v, m, s, w), masked, inverse="attention.attend")
    product, runs = q @ transpose(k, SWAP_LAST), guard(varies(q))
    yield rewrite(
        given, product * number_like(q, in_type_of(q, s)), runs, inverse="attention.scale_of_scores"
    )
