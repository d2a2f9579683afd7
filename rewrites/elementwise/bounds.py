"""Functions made of bounds and of logarithms of sums.

Max(x, c) = Clip(x) from below by c      Min(x, c) = Clip(x) from above by c      c one finite number
Clip_0h(a * x + b) / h = HardSigmoid(x; a/h, b/h)
Log(1 + Exp(x)) = Softplus(x)
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, unary, variadic
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil
from egraph_opt.rewrites.elementwise.identities import broadcasts_into

Bounds = tuple[tuple[str, float | None], ...]

_SINGLE = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16))
"""Types for which onnxruntime has kernels of HardSigmoid and Softplus."""

_CLIPPED = _SINGLE | {TensorProto.DOUBLE}


def _number(x: Fact, c: Fact) -> float | None:
    """The one finite value of a constant that leaves the shape of x alone."""
    if x.const or c.splat is None or c.dtype != x.dtype or not broadcasts_into(c.shape, x.shape):
        return None
    return float(c.splat) if math.isfinite(c.splat) else None


# --- Max and Min ---------------------------------------------------------------------------------------


@hosted()
def bounds_of(op: str, x: Fact, c: Fact) -> Bounds | None:
    """The bounds of Clip that are Max or Min with a constant."""
    bound = _number(x, c)
    if op not in ("Max", "Min") or bound is None or x.dtype not in _CLIPPED:
        return None
    return (("max", bound if op == "Min" else None), ("min", bound if op == "Max" else None))


@hosted(default=False)
def is_no_bound(op: str, x: Fact, c: Fact) -> bool:
    """Max with -infinity, or Min with infinity."""
    wanted = {"Max": -math.inf, "Min": math.inf}.get(op)
    return wanted is not None and c.splat == wanted and broadcasts_into(c.shape, x.shape)


def _bound_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, infinity in (("Max", -math.inf), ("Min", math.inf)):
        g = Operands(rng)
        x, six = g.input(("N", 3)), g.constant([6.0])
        yield g.fires(variadic(op, listed(x, six)))
        yield g.fires(variadic(op, listed(six, x)))
        yield g.fires(variadic(op, listed(x, g.constant(infinity))))
        yield g.fires(variadic(op, listed(g.constant(infinity), x)))
        yield g.near_miss(variadic(op, listed(x, g.random(3))), why="several bounds")
        yield g.near_miss(variadic(op, listed(x, six, six)), why="three operands")
        yield g.near_miss(variadic(op, listed(x, g.constant(-infinity))), why="everything is infinite")
        wide = g.constant(np.full((2, 1, 1), 6.0))
        yield g.near_miss(variadic(op, listed(x, wide)), why="broadcasting adds an axis")
    g = Operands(rng)
    x = g.input((2, 3), INT64)
    yield g.near_miss(variadic("Max", listed(x, g.constant(np.array(2)))), why="integers")


@law("bounds", numerics="reassociates", examples=_bound_examples)
def constant_bound(op: String, x: Tensor, c: Tensor, s: PyObject) -> Iterator[Any]:
    """Max(x, c) = Clip(x) from below, Min(x, c) = Clip(x) from above; an infinite bound is none

    Source: ONNX, Clip; without a bound, onnxruntime's takes the greatest float for infinity.
    """
    for xs in (cons(x, cons(c, nil())), cons(c, cons(x, nil()))):
        yield rewrite(variadic(op, xs), unary("Clip", s, x), let(s, bounds_of, op, fact(x), fact(c)))
        yield rewrite(variadic(op, xs), x, holds(is_no_bound, op, fact(x), fact(c)))


# --- HardSigmoid ---------------------------------------------------------------------------------------


@hosted()
def hard_sigmoid(bounds: Bounds, slope: float, shift: Fact, scale: float, x: Fact) -> Any:
    """Settings of HardSigmoid that are Clip(slope * x + shift) * scale."""
    low, high = dict(bounds)["min"], dict(bounds)["max"]
    offset = _number(x, shift)
    if x.dtype not in _SINGLE or low != 0 or high is None or high <= 0 or offset is None:
        return None
    if abs(high * scale - 1) > 2.0**-21:
        return None
    return (("alpha", slope * scale), ("beta", offset * scale))


@hosted()
def factor(x: Fact, c: Fact) -> float | None:
    value = _number(x, c)
    return value if value is not None and value > 0 else None


def _clip(low: float, high: float, x: Any) -> Any:
    return unary("Clip", (("max", high), ("min", low)), x)


def _hard_sigmoid_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, three, half = g.input(("N", 3)), g.constant([3.0]), g.constant(0.5)
    relu6 = _clip(0.0, 6.0, binary("Add", x, three))
    yield g.fires(binary("Mul", relu6, g.constant(1 / 6)))
    yield g.fires(_clip(0.0, 1.0, binary("Add", binary("Mul", x, g.constant(0.2)), half)))
    yield g.fires(_clip(0.0, 1.0, binary("Add", x, half)))
    yield g.near_miss(binary("Mul", relu6, g.constant(1 / 5)), why="the bound is not scaled to 1")
    yield g.near_miss(_clip(-1.0, 1.0, binary("Add", x, half)), why="a lower bound of -1")
    yield g.near_miss(_clip(0.0, 1.0, binary("Add", x, g.random(3))), why="shifts that differ")
    g = Operands(rng)
    x = g.input((2, 3), TensorProto.DOUBLE)
    shifted = binary("Add", x, g.constant(np.array(0.5), TensorProto.DOUBLE))
    yield g.near_miss(_clip(0.0, 1.0, shifted), why="onnxruntime has no HardSigmoid in double precision")


@law("bounds", numerics="reassociates", examples=_hard_sigmoid_examples)
def hard_sigmoid_of_clip(
    x: Tensor, a: Tensor, b: Tensor, c: Tensor, s: PyObject, k: PyObject, m: PyObject, settings: PyObject
) -> Iterator[Any]:
    """Clip_0h(a * x + b) / h = HardSigmoid(x; a/h, b/h)

    Source: ONNX, HardSigmoid.
    """
    one = PyObject(1.0)
    affine = binary("Add", x, b)
    hard = unary("HardSigmoid", settings, x)
    scale, slope = let(k, factor, fact(x), fact(c)), let(m, factor, fact(x), fact(a))
    clipped = unary("Clip", s, affine)
    yield rewrite(clipped, hard, let(settings, hard_sigmoid, s, one, fact(b), one, fact(x)))
    yield rewrite(
        binary("Mul", clipped, c), hard, *scale, let(settings, hard_sigmoid, s, one, fact(b), k, fact(x))
    )
    sloped = unary("Clip", s, binary("Add", binary("Mul", x, a), b))
    yield rewrite(sloped, hard, *slope, let(settings, hard_sigmoid, s, m, fact(b), one, fact(x)))


# --- Softplus ------------------------------------------------------------------------------------------


@hosted(default=False)
def adds_one(c: Fact, x: Fact) -> bool:
    return x.dtype in _SINGLE and _number(x, c) == 1


def _softplus_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    yield g.fires(unary("Log", (), binary("Add", unary("Exp", (), x), g.constant(1.0))))
    two = binary("Add", unary("Exp", (), x), g.constant(2.0))
    yield g.near_miss(unary("Log", (), two), why="2 is added")


@law("bounds", numerics="reassociates", examples=_softplus_examples)
def softplus(x: Tensor, c: Tensor) -> Iterator[Any]:
    """Log(Exp(x) + 1) = Softplus(x)

    Source: ONNX, Softplus, which does not overflow where Exp does.
    """
    shifted = binary("Add", unary("Exp", (), x), c)
    yield rewrite(unary("Log", (), shifted), unary("Softplus", (), x), holds(adds_one, fact(c), fact(x)))
