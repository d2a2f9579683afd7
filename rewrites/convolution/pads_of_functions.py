"""Pads move past functions, towards a convolution or a pool that takes them in.

f(Pad(x; 0)) -> Pad(f(x); 0)                 where f(0) = 0
Relu(Pad(x; v)) -> Pad(Relu(x); max(v, 0))
f(Pad(x; reflect)) -> Pad(f(x); reflect)     for any f, and whatever else repeats elements
Pad(x; 0) * s -> Pad(x * s; 0)
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Mode, Number, Pads, Settings, String, Tensor
from egraph_opt.operators import cast, pad, unary
from egraph_opt.rewrites.conditions.channels import is_finite_constant, static_shape

law = laws_of("padding", numerics="bitwise", kind="move", serves="traffic", source="algebra")

MORE = "the pads are more to compute"

ODD = (
    "Abs",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Erf",
    "Floor",
    "Round",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
)
ACTIVATIONS = (
    "Celu",
    "Elu",
    "Gelu",
    "HardSwish",
    "LeakyRelu",
    "Mish",
    "Relu",
    "Selu",
    "Softsign",
    "Tan",
    "Tanh",
)
THROUGH_ZERO = frozenset((*ODD, *ACTIVATIONS))
"""Functions that are 0 at 0, with whatever settings."""


@hosted()
def keeps_zero(op: str, settings: Settings, mode: str, value: float) -> bool:
    """A function that takes these pads to themselves; -0.0 is no pad of a function that is even."""
    if mode != "constant" or value != 0 or math.copysign(1, value) < 0:
        return False
    if op != "Clip":
        return op in THROUGH_ZERO
    least, most = (dict(settings)[bound] for bound in ("min", "max"))
    return (least is None or least <= 0) and (most is None or most >= 0)


@hosted()
def repeats(mode: str) -> bool:
    """What is padded are elements of x."""
    return mode in ("reflect", "edge", "wrap")


@hosted()
def above_zero(value: Number, mode: Mode) -> Number | None:
    """What Relu makes of a pad."""
    return max(value, 0.0) if mode == "constant" and not math.isnan(value) else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, around = g.input(("N", 2, 4, 5)), (0, 0, 1, 0, 0, 0, 2, 3)
    for op in sorted(THROUGH_ZERO - {"Gelu", "HardSwish", "Mish"}):
        yield g.fires(unary(op, (), pad(x, "constant", around, 0.0)))
    six, one = (("max", 6.0), ("min", 0.0)), (("max", 2.0), ("min", 1.0))
    yield g.fires(unary("Clip", six, pad(x, "constant", around, 0.0)))
    yield g.near_miss(unary("Clip", one, pad(x, "constant", around, 0.0)), why="0 becomes 1")
    for mode in ("reflect", "edge"):
        yield g.fires(unary("Exp", (), pad(x, mode, around, 0.0)))
    yield g.near_miss(unary("Exp", (), pad(x, "constant", around, 0.0)), why="Exp(0) is 1")
    yield g.near_miss(unary("Tanh", (), pad(x, "constant", around, 1.0)), why="another pad")
    yield g.near_miss(cast(pad(x, "constant", around, 0.5), TensorProto.INT32), why="a pad is cast")


@law(examples=_examples)
def function_of_pad(op: String, s: Settings, x: Tensor, m: Mode, p: Pads, v: Number):
    """f(Pad(x)) = Pad(f(x)) where f(0) = 0 and 0 is padded, or where elements of x are repeated"""
    padded = unary(op, s, pad(x, m, p, v))
    for sound in (keeps_zero(op, s, m, v), repeats(m)):
        yield rewrite(padded, pad(unary(op, s, x), m, p, v), sound, because=MORE)
    clipped = pad(relu(x), m, p, above_zero(v, m))
    yield rewrite(relu(pad(x, m, p, v)), clipped, because=MORE)


@hosted()
def is_alike_along(c: Fact, x: Fact, pads: Pads) -> bool:
    """A scale of finite numbers that is the same for x and for what is padded around it."""
    shape, rank = static_shape(c), len(pads) // 2
    if shape is None or not is_finite_constant(c) or x.rank != rank or len(shape) > rank:
        return False
    ahead = rank - len(shape)
    padded = [k for k in range(rank) if pads[k] or pads[k + rank]]
    return all(k < ahead or shape[k - ahead] == 1 for k in padded)


@hosted()
def pads_with_zero(mode: Mode, value: Number) -> bool:
    return mode == "constant" and value == 0


@law(numerics="finite")
def scaled_pad(x: Tensor, c: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x; 0) * s = Pad(x * s; 0) for a constant s that does not vary along what is padded"""
    known = (pads_with_zero(m, v), is_alike_along(c, x, p))
    yield rewrite(pad(x, m, p, v) * c, pad(x * c, m, p, v), *known, because=MORE)
