"""Element-wise identities: neutral operands, idempotent and inverse functions, nested bounds.

x + 0 = x      x - 0 = x      x * 1 = x      x / 1 = x      x ^ 1 = x
x and true = x      x or false = x
f(f(x)) = f(x)      Neg(Neg(x)) = x      Not(Not(x)) = x
Clip_cd(Clip_ab(x)) = Clip(x)      Relu(x) = Clip_0(x)
Where(true, x, y) = x      Where(c, x, x) = x
Sum(x) = x      Sum(x, y) = x + y
x ^ 2 = x * x      1 / x = Reciprocal(x)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil

NEUTRAL = {
    "Add": 0,
    "Sub": 0,
    "Mul": 1,
    "Div": 1,
    "Pow": 1,
    "And": 1,
    "Or": 0,
    "BitwiseOr": 0,
    "BitwiseXor": 0,
}
"""The right operand that changes nothing."""

COMMUTATIVE = frozenset(("Add", "Mul", "And", "Or", "BitwiseOr", "BitwiseXor"))

IDEMPOTENT = frozenset(("Relu", "Abs", "Ceil", "Floor", "Round", "Sign"))

Bounds = tuple[tuple[str, float | None], ...]


def broadcasts_into(shape: Shape | None, target: Shape | None) -> bool:
    """Whether a tensor of `shape`, broadcast against one of `target`, leaves its shape alone."""
    if shape is None or target is None or len(shape) > len(target):
        return False
    aligned = target[len(target) - len(shape) :]
    return all(a == 1 or symbolic.known_equal(a, b) for a, b in zip(shape, aligned, strict=True))


@hosted(default=False)
def is_neutral(op: str, x: Fact, c: Fact) -> bool:
    """x op c is x, element by element and in shape."""
    return (
        op in NEUTRAL
        and c.splat is not None
        and c.splat == NEUTRAL[op]
        and (op == "Pow" or x.dtype == c.dtype)
        and broadcasts_into(c.shape, x.shape)
    )


@hosted(default=False)
def is_neutral_left(op: str, c: Fact, x: Fact) -> bool:
    return op in COMMUTATIVE and is_neutral(op, x, c)


def _neutral_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, value in (("Add", 0.0), ("Sub", 0.0), ("Mul", 1.0), ("Div", 1.0), ("Pow", 1.0)):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        for shape in ((), (1,), (4,), (3, 1), (1, 3, 4)):
            yield g.fires(binary(op, x, g.constant(np.full(shape, value))))
        yield g.near_miss(binary(op, x, g.constant(np.full((4,), value + 1))), why="another value")
        yield g.near_miss(
            binary(op, x, g.constant(np.full((2, 1, 3, 4), value))), why="broadcasting adds an axis"
        )
        yield g.near_miss(
            binary(op, g.input((3, 1)), g.constant(np.full((4,), value))), why="a dim of 1 grows"
        )
        yield g.near_miss(binary(op, x, g.random(4)), why="elements differ")


@law("elementwise", numerics="reassociates", examples=_neutral_examples)
def neutral_right(op: String, x: Tensor, c: Tensor) -> Iterator[Any]:
    """x op c = x where every element of c is neutral and broadcasting leaves x alone

    Source: onnxoptimizer eliminate_nop_with_unit; -0.0 + 0.0 is 0.0.
    """
    yield rewrite(binary(op, x, c), x, holds(is_neutral, op, fact(x), fact(c)))


def _neutral_left_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, value in (("Add", 0.0), ("Mul", 1.0)):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        for shape in ((), (4,), (3, 1)):
            yield g.fires(binary(op, g.constant(np.full(shape, value)), x))
    g = Operands(rng)
    yield g.near_miss(binary("Sub", g.constant(np.zeros(4)), g.input((3, 4))), why="0 - x is not x")
    yield g.near_miss(binary("Div", g.constant(np.ones(4)), g.input((3, 4))), why="1 / x is not x")


@law("elementwise", numerics="reassociates", examples=_neutral_left_examples)
def neutral_left(op: String, x: Tensor, c: Tensor) -> Iterator[Any]:
    """c op x = x for a commutative op and a neutral c

    Source: onnxoptimizer eliminate_nop_with_unit.
    """
    yield rewrite(binary(op, c, x), x, holds(is_neutral_left, op, fact(c), fact(x)))


@hosted(default=False)
def is_idempotent(op: str) -> bool:
    return op in IDEMPOTENT


def _idempotent_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5))
    for op in sorted(IDEMPOTENT):
        yield g.fires(unary(op, (), unary(op, (), x)))
    yield g.near_miss(unary("Exp", (), unary("Exp", (), x)), why="Exp is not idempotent")


@law("elementwise", numerics="bitwise", examples=_idempotent_examples)
def idempotent(op: String, x: Tensor) -> Iterator[Any]:
    """f(f(x)) = f(x) for Relu, Abs, Ceil, Floor, Round and Sign

    Source: algebra.
    """
    yield rewrite(unary(op, (), unary(op, (), x)), unary(op, (), x), holds(is_idempotent, op))


def _involution_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, b = g.input((2, 5)), g.input((2, 5), TensorProto.BOOL)
    yield g.fires(unary("Neg", (), unary("Neg", (), x)))
    yield g.fires(unary("Not", (), unary("Not", (), b)))
    yield g.near_miss(unary("Neg", (), unary("Abs", (), x)), why="Abs does not undo Neg")


@law("elementwise", numerics="bitwise", examples=_involution_examples)
def involution(x: Tensor) -> Iterator[Any]:
    """Neg(Neg(x)) = x, Not(Not(x)) = x

    Source: algebra.
    """
    yield rewrite(unary("Neg", (), unary("Neg", (), x)), x)
    yield rewrite(unary("Not", (), unary("Not", (), x)), x)


@hosted()
def clip_of_clip(outer: Bounds, inner: Bounds) -> Bounds | None:
    """The bounds of Clip_outer(Clip_inner(x)); None where a lower bound is above its upper one."""
    low, high = -np.inf, np.inf
    a, b = (dict(inner)[k] for k in ("min", "max"))
    c, d = (dict(outer)[k] for k in ("min", "max"))
    a, c = (low if v is None else v for v in (a, c))
    b, d = (high if v is None else v for v in (b, d))
    if not (a <= b and c <= d):
        return None
    least, most = min(max(a, c), d), min(max(b, c), d)
    return (("max", None if most == high else most), ("min", None if least == low else least))


def _clip(low: float | None, high: float | None) -> Bounds:
    return (("max", high), ("min", low))


def _clip_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5))
    for inner, outer in (((0.0, 6.0), (-1.0, 3.0)), ((None, 1.0), (0.0, None)), ((2.0, 3.0), (0.0, 1.0))):
        yield g.fires(unary("Clip", _clip(*outer), unary("Clip", _clip(*inner), x)))
    yield g.near_miss(
        unary("Clip", _clip(0.0, 1.0), unary("Clip", _clip(3.0, 2.0), x)), why="bounds are crossed"
    )


@law("elementwise", numerics="bitwise", examples=_clip_examples)
def nested_clips(x: Tensor, a: PyObject, b: PyObject, c: PyObject) -> Iterator[Any]:
    """Clip_cd(Clip_ab(x)) = Clip(x) between the bounds a and b, each clipped to c..d

    Source: algebra; onnxoptimizer fuse_consecutive_clips has the bounds wrong where they do not overlap.
    """
    yield rewrite(unary("Clip", b, unary("Clip", a, x)), unary("Clip", c, x), let(c, clip_of_clip, b, a))


@hosted()
def bounds_with_zero(outer: Bounds) -> Bounds | None:
    """The bounds of Clip_outer(Relu(x))."""
    return clip_of_clip(outer, _clip(0.0, None))


@hosted()
def zero_with_bounds(inner: Bounds) -> Bounds | None:
    """The bounds of Relu(Clip_inner(x))."""
    return clip_of_clip(_clip(0.0, None), inner)


def _relu_clip_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5))
    yield g.fires(unary("Clip", _clip(-1.0, 6.0), unary("Relu", (), x)))
    yield g.fires(unary("Relu", (), unary("Clip", _clip(None, 0.5), x)))
    yield g.near_miss(unary("Clip", _clip(0.0, 6.0), unary("Sigmoid", (), x)), why="Sigmoid is no bound")


@law("elementwise", numerics="bitwise", examples=_relu_clip_examples)
def relu_is_a_bound(x: Tensor, a: PyObject, c: PyObject) -> Iterator[Any]:
    """Clip_ab(Relu(x)) = Clip(x), Relu(Clip_ab(x)) = Clip(x)

    Source: algebra; Relu(x) = Clip(x) between 0 and infinity.
    """
    yield rewrite(unary("Clip", a, unary("Relu", (), x)), unary("Clip", c, x), let(c, bounds_with_zero, a))
    yield rewrite(unary("Relu", (), unary("Clip", a, x)), unary("Clip", c, x), let(c, zero_with_bounds, a))


@hosted(default=False)
def selects(value: int, condition: Fact, x: Fact, y: Fact) -> bool:
    """The condition is `value` everywhere, and the result has the shape of x."""
    return (
        condition.splat is not None
        and bool(condition.splat) == bool(value)
        and broadcasts_into(condition.shape, x.shape)
        and broadcasts_into(y.shape, x.shape)
    )


@hosted(default=False)
def covers(condition: Fact, x: Fact) -> bool:
    return broadcasts_into(condition.shape, x.shape)


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4)), g.input(("N", 4))
    yes, no = (g.constant(np.full((4,), v)) for v in (True, False))
    yield g.fires(where(yes, x, y))
    yield g.fires(where(no, x, y))
    yield g.fires(where(g.input((4,), TensorProto.BOOL), x, x))
    yield g.near_miss(
        where(g.constant(np.array([True, False, True, True])), x, y), why="the condition varies"
    )
    yield g.near_miss(where(yes, g.input((4,)), y), why="the result is bigger than x")


@law("elementwise", numerics="bitwise", examples=_where_examples)
def where_decided(c: Tensor, x: Tensor, y: Tensor) -> Iterator[Any]:
    """Where(true, x, y) = x, Where(false, x, y) = y, Where(c, x, x) = x

    Source: algebra.
    """
    yield rewrite(where(c, x, y), x, holds(selects, 1, fact(c), fact(x), fact(y)))
    yield rewrite(where(c, x, y), y, holds(selects, 0, fact(c), fact(y), fact(x)))
    yield rewrite(where(c, x, x), x, holds(covers, fact(c), fact(x)))


def _variadic_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 4)), g.input((4,)), g.input((1, 4))
    for op in ("Sum", "Mean", "Max", "Min"):
        yield g.fires(variadic(op, listed(x)))
    yield g.fires(variadic("Sum", listed(x, y)))
    yield g.near_miss(variadic("Sum", listed(x, y, z)), why="three operands")
    yield g.near_miss(variadic("Max", listed(x, y)), why="Max has no binary operator of its own")


@law("elementwise", numerics="bitwise", examples=_variadic_examples)
def few_operands(op: String, x: Tensor, y: Tensor) -> Iterator[Any]:
    """Sum(x) = x, likewise Mean, Max and Min; Sum(x, y) = x + y

    Source: ONNX; the operators accept one operand.
    """
    yield rewrite(variadic(op, cons(x, nil())), x)
    yield rewrite(variadic("Sum", cons(x, cons(y, nil()))), binary("Add", x, y))


@hosted(default=False)
def is_float_two(c: Fact, x: Fact) -> bool:
    return c.splat == 2 and c.dtype == x.dtype and x.dtype in FLOATS and broadcasts_into(c.shape, x.shape)


def _square_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4))
    yield g.fires(binary("Pow", x, g.constant(np.array(2.0))))
    yield g.near_miss(binary("Pow", x, g.constant(np.array(3.0))), why="a cube")


@law("elementwise", numerics="reassociates", examples=_square_examples)
def square(x: Tensor, c: Tensor) -> Iterator[Any]:
    """x ^ 2 = x * x

    Source: onnxruntime, pow_fusion.
    """
    yield rewrite(binary("Pow", x, c), binary("Mul", x, x), holds(is_float_two, fact(c), fact(x)))


@hosted(default=False)
def is_float_one(c: Fact, x: Fact) -> bool:
    return c.splat == 1 and c.dtype == x.dtype and x.dtype in FLOATS and broadcasts_into(c.shape, x.shape)


def _reciprocal_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4))
    yield g.fires(binary("Div", g.constant(np.array(1.0)), x))
    yield g.near_miss(binary("Div", g.constant(np.array(2.0)), x), why="2 / x")


@law("elementwise", numerics="bitwise", examples=_reciprocal_examples)
def reciprocal(x: Tensor, c: Tensor) -> Iterator[Any]:
    """1 / x = Reciprocal(x)

    Source: algebra.
    """
    yield rewrite(binary("Div", c, x), unary("Reciprocal", (), x), holds(is_float_one, fact(c), fact(x)))
