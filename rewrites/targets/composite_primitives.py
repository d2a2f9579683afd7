"""Composite functions written back in primitive operators, for targets that lack them or fuse otherwise.

Gelu(x) = x * (1 + Erf(x / sqrt 2)) / 2        Mish(x) = x * Tanh(Softplus(x))
Swish_a(x) = x * Sigmoid(a * x)                HardSwish(x) = x * HardSigmoid(x)
Softplus(x) = Relu(x) + Log(1 + Exp(-|x|))     HardSigmoid(x) = Clip(a * x + b) within 0..1
Softmax(x) = Exp(x - max x) / ReduceSum(Exp(x - max x))
Layer(x; s, b) = Layer(x; s) + b               Layer(x; s) = Layer(x; 1) * s = RMS(x - mean(x); s)
RMS(x; s) = x / Sqrt(mean(x^2) + e) * s
Attention(q, k, v, m; s) = Softmax(Scores(q, k; s) + m) @ v
Scores(q, k; s) = q @ k' * s

The ruleset runs for cost models that name it, or where a user does.  None of its laws makes a composite
function of another operand than it found, but for the steps from one to the next above, so it ends.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import PyObject, String, closure, eq, guard, holds, i64, let, rewrite, set_
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    attention,
    binary,
    layer_norm,
    literal,
    masked_attention,
    matmul,
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
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.normalization.layer_norm import KEPT, unit_scale

RULESET = "composites.primitives"


@hosted()
def number(x: Fact, value: float) -> Literal | None:
    """A constant of rank 0 in the type of x."""
    return Literal(x.dtype, (), (float(value),)) if x.dtype > 0 and not x.const else None


def _let_number(variable: PyObject, x: Tensor, value: float) -> tuple[Any, ...]:
    return let(variable, number, fact(x), PyObject(value))


@hosted()
def setting(settings: tuple[tuple[str, float], ...], name: str, x: Fact) -> Literal | None:
    """An attribute as a constant."""
    return number(x, dict(settings)[name])


def _activation_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    for op, settings in (
        ("Gelu", (("approximate", "none"),)),
        ("Gelu", (("approximate", "tanh"),)),
        ("Swish", (("alpha", 1.5),)),
        ("HardSwish", ()),
        ("HardSigmoid", (("alpha", 0.3), ("beta", 0.4))),
        ("Mish", ()),
        ("Softplus", ()),
    ):
        yield g.fires(unary(op, settings, x))
    yield g.near_miss(unary("Selu", (), x), why="no law writes Selu out")


@law(RULESET, numerics="reassociates", examples=_activation_examples)
def activations(x: Tensor, s: PyObject, c: PyObject, d: PyObject, e: PyObject, f: PyObject) -> Iterator[Any]:
    """Gelu, Swish, HardSwish, HardSigmoid, Mish and Softplus as ONNX defines them

    Source: ONNX, the functions' bodies.
    """
    exact, by_tanh = PyObject((("approximate", "none"),)), PyObject((("approximate", "tanh"),))
    one, half = _let_number(c, x, 1.0), _let_number(d, x, 0.5)
    inner = binary("Mul", x, literal(e))
    gate = binary("Add", unary("Erf", (), inner), literal(c))
    whole = binary("Mul", binary("Mul", x, gate), literal(d))
    yield rewrite(unary("Gelu", exact, x), whole, *one, *half, *_let_number(e, x, math.sqrt(0.5)))
    cube = binary("Mul", binary("Mul", binary("Mul", x, x), x), literal(f))
    gate = binary("Add", unary("Tanh", (), binary("Mul", binary("Add", x, cube), literal(e))), literal(c))
    whole = binary("Mul", binary("Mul", x, gate), literal(d))
    root = _let_number(e, x, math.sqrt(2 / math.pi))
    yield rewrite(unary("Gelu", by_tanh, x), whole, *one, *half, *root, *_let_number(f, x, CUBE))
    alpha = let(c, setting, s, PyObject("alpha"), fact(x))
    sigmoid = unary("Sigmoid", (), binary("Mul", x, literal(c)))
    yield rewrite(unary("Swish", s, x), binary("Mul", x, sigmoid), *alpha)
    hard = (("alpha", 1 / 6), ("beta", 0.5))
    yield rewrite(unary("HardSwish", s, x), binary("Mul", x, unary("HardSigmoid", hard, x)))
    affine = binary("Add", binary("Mul", x, literal(c)), literal(d))
    clipped = unary("Clip", (("max", 1.0), ("min", 0.0)), affine)
    beta = let(d, setting, s, PyObject("beta"), fact(x))
    yield rewrite(unary("HardSigmoid", s, x), clipped, *alpha, *beta)
    tanh = unary("Tanh", (), unary("Softplus", (), x))
    yield rewrite(unary("Mish", s, x), binary("Mul", x, tanh))
    small = unary("Exp", (), unary("Neg", (), unary("Abs", (), x)))
    soft = binary("Add", unary("Relu", (), x), unary("Log", (), binary("Add", small, literal(c))))
    yield rewrite(unary("Softplus", s, x), soft, *one)


@egglog.function(egg_fn="softmax_level", merge=lambda old, new: old.max(new))
def level(x: Tensor) -> i64:
    """1 for what its maximum was taken off, 0 for other operands of Softmax."""


@hosted()
def along(axis: int) -> tuple[int, ...]:
    return (axis,)


def _softmax_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    for axis in (1, 2):
        yield g.fires(softmax("Softmax", x, axis))
        yield g.fires(softmax("LogSoftmax", x, axis))
    yield g.near_miss(softmax("Hardmax", x, 2), why="Hardmax is another function")


@law(RULESET, numerics="reassociates", examples=_softmax_examples)
def softmax_parts(x: Tensor, y: Tensor, op: String, k: PyObject, a: PyObject) -> Iterator[Any]:
    """Softmax(x) = Exp(x - m) / ReduceSum(Exp(x - m)), LogSoftmax(x) = x - m - Log(ReduceSum(Exp(x - m)))

    m is the maximum.

    Source: ONNX, the functions' bodies.
    """
    away = binary("Sub", x, reduce("ReduceMax", x, a, KEPT))
    e = unary("Exp", (), away)
    total = reduce("ReduceSum", e, a, KEPT)
    yield closure(eq(y).to(softmax(op, x, k)), then=set_(level(x)).to(0))
    yield closure(eq(y).to(away), then=set_(level(y)).to(1))
    # What is found in the parts is the Softmax of x - m, whose parts are these again.
    wanted = (*let(a, along, k), guard(eq(0).to(level(x))))
    yield rewrite(softmax("Softmax", x, k), binary("Div", e, total), *wanted)
    logarithm = binary("Sub", away, unary("Log", (), total))
    yield rewrite(softmax("LogSoftmax", x, k), logarithm, *wanted)


@hosted(default=False)
def scales(s: Fact) -> bool:
    """A scale that may be other than 1."""
    return s.splat != 1


def _norm_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, b = g.input(("N", 3, 4)), g.random(4), g.random(4)
    yield g.fires(rms_norm(x, s, (2,), 1e-5))
    yield g.fires(layer_norm(x, s, (2,), 1e-5))
    yield g.fires(shifted_layer_norm(x, s, b, (2,), 1e-5))
    yield g.fires(layer_norm(x, g.random(3, 4), (1, 2), 1e-5))
    yield g.near_miss(reduce("ReduceMean", x, (2,), 1), why="a mean alone")


@law(RULESET, numerics="reassociates", examples=_norm_examples)
def normalisation_parts(
    x: Tensor, s: Tensor, b: Tensor, a: PyObject, e: PyObject, c: PyObject
) -> Iterator[Any]:
    """Layer(x; s, b) = Layer(x; 1) * s + b, Layer(x; s) = RMS(x - mean(x); s), RMS(x; s) = x / root * s

    A scale and a bias that stand alone are taken in by the product behind.
    Source: ONNX, the functions' bodies.
    """
    yield rewrite(shifted_layer_norm(x, s, b, a, e), binary("Add", layer_norm(x, s, a, e), b))
    ones = literal(c)
    scaled = binary("Mul", layer_norm(x, ones, a, e), s)
    yield rewrite(layer_norm(x, s, a, e), scaled, let(c, unit_scale, fact(x), a), holds(scales, fact(s)))
    away = binary("Sub", x, reduce("ReduceMean", x, a, KEPT))
    yield rewrite(layer_norm(x, s, a, e), rms_norm(away, s, a, e))
    moment = reduce("ReduceMean", binary("Mul", x, x), a, KEPT)
    root = unary("Sqrt", (), binary("Add", moment, literal(c)))
    spelled = binary("Mul", binary("Div", x, root), s)
    yield rewrite(rms_norm(x, s, a, e), spelled, let(c, number, fact(x), e))


def _attention_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, k, v = g.input(("N", 3, "L", 4)), g.input(("N", 3, "M", 4)), g.input(("N", 3, "M", 5))
    yield g.fires(attention(q, k, v, 0.5))
    yield g.fires(masked_attention(q, k, v, g.input(("L", "M")), 0.5))
    yield g.near_miss(matmul(softmax("Softmax", matmul(q, transpose(k, SWAP_LAST)), 3), v), why="spelled out")


@law(RULESET, numerics="reassociates", examples=_attention_examples)
def attention_parts(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: PyObject, c: PyObject) -> Iterator[Any]:
    """Attention(q, k, v, m; s) = Softmax(Scores(q, k; s) + m) @ v, Scores(q, k; s) = q @ k' * s

    Source: ONNX, Attention's body.
    """
    given = scores(q, k, s)
    yield rewrite(attention(q, k, v, s), matmul(softmax("Softmax", given, 3), v))
    masked = softmax("Softmax", binary("Add", given, m), 3)
    yield rewrite(masked_attention(q, k, v, m, s), matmul(masked, v))
    product = matmul(q, transpose(k, SWAP_LAST))
    yield rewrite(given, binary("Mul", product, literal(c)), let(c, number, fact(q), s))
