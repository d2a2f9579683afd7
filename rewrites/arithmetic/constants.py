"""Constant operands move to the right, and meet: a chain of scales and shifts is one scale and one shift.

    c op x = x op c                              Add, Mul
    c - x = x * (-1) + c      Neg(x) = x * (-1)  floats
    x - c = x + (-c)
    x / c = x * (1/c)                            c's reciprocals are normal numbers
    (x * c1) * c2 = x * (c1 * c2)
    (x + c1) + c2 = x + (c1 + c2)

c is constant, x is not.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, holds, let, ne, rewrite
from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import Literal, binary, literal, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    SMALLEST,
    Dims,
    known_elements,
    splat,
    static_shape,
)
from egraph_opt.rewrites.elementwise.identities import broadcasts_into

NEUTRAL = {"Mul": 1, "Add": 0}


# --- to the right ---------------------------------------------------------------------------------------


@hosted(default=False)
def may_move(op: str, c: Fact, x: Fact) -> bool:
    """c is the constant of a commutative operator, or of two constants the one of equal elements."""
    return op in NEUTRAL and c.const and (not x.const or (c.splat is not None and x.splat is None))


def _right_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, n = g.input(("N", 3, 4)), g.input((2,), INT64)
    yield g.fires(binary("Add", g.random(3, 1), x))
    yield g.fires(binary("Mul", g.random(1, 1, 1, 4), x))
    yield g.fires(binary("Mul", g.constant(np.array([3], np.int64)), n))
    yield g.near_miss(binary("Sub", g.random(3, 1), x), why="Sub does not commute")
    yield g.near_miss(binary("Add", x, g.random(3, 1)), why="it is on the right")
    yield g.near_miss(binary("Add", g.input((3, 1)), x), why="nothing is constant")
    yield g.near_miss(binary("Add", g.random(3, 1), g.random(1, 4)), why="both are constants")


@law("constants", numerics="bitwise", examples=_right_examples)
def constants_right(op: String, c: Tensor, x: Tensor) -> Iterator[Any]:
    """c op x = x op c

    Source: algebra.
    """
    yield rewrite(binary(op, c, x), binary(op, x, c), holds(may_move, op, fact(c), fact(x)))


# --- Sub, Neg and Div as Add and Mul --------------------------------------------------------------------


@hosted()
def minus_one(x: Fact) -> Literal | None:
    """-1 of x's type, a float's, where x is no constant."""
    return splat(x, (), -1.0) if x.dtype in FLOATS and not x.const else None


def _negation_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, n = g.input(("N", 3, 4)), g.input((2,), INT64)
    yield g.fires(unary("Neg", (), x))
    yield g.fires(unary("Neg", (), g.input(())))
    yield g.near_miss(unary("Neg", (), n), why="integers")
    yield g.near_miss(unary("Abs", (), x), why="another function")


@law("constants", numerics="bitwise", examples=_negation_examples)
def negation_scales(x: Tensor, m: PyObject) -> Iterator[Any]:
    """Neg(x) = x * (-1)

    Source: IEEE 754.
    """
    yield rewrite(unary("Neg", (), x), binary("Mul", x, literal(m)), let(m, minus_one, fact(x)))


@hosted(default=False)
def is_constant_operand(c: Fact, x: Fact) -> bool:
    """c is a constant, not 0, and x a float that is none."""
    return c.const and c.splat != 0 and not x.const and x.dtype in FLOATS


def _difference_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, n = g.input(("N", 3, 4)), g.input((2,), INT64)
    yield g.fires(binary("Sub", x, g.random(3, 1)))
    yield g.fires(binary("Sub", g.random(1), x))
    yield g.near_miss(binary("Sub", n, g.constant(np.array([3], np.int64))), why="integers")
    yield g.near_miss(binary("Sub", x, g.input((4,))), why="nothing is constant")
    yield g.near_miss(binary("Sub", x, g.constant(np.float32(0))), why="-0.0 is not seen to be neutral")


@law("constants", numerics="bitwise", examples=_difference_examples)
def difference_adds(x: Tensor, c: Tensor, m: PyObject) -> Iterator[Any]:
    """x - c = x + (-c), and c - x = x * (-1) + c

    Source: IEEE 754.
    """
    added = binary("Add", x, unary("Neg", (), c))
    yield rewrite(binary("Sub", x, c), added, holds(is_constant_operand, fact(c), fact(x)))
    yield rewrite(
        binary("Sub", c, x),
        binary("Add", binary("Mul", x, literal(m)), c),
        let(m, minus_one, fact(x)),
        holds(is_constant_operand, fact(c), fact(x)),
    )


@hosted(default=False)
def is_safe_divisor(c: Fact, x: Fact) -> bool:
    """Elements and reciprocals of c are normal numbers."""
    known = known_elements(c)
    if known is None or x.const:
        return False
    return all(SMALLEST[c.dtype] <= abs(v) <= min(LARGEST[c.dtype], 1 / SMALLEST[c.dtype]) for v in known)


def _quotient_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, n = g.input(("N", 3, 4)), g.input((2,), INT64)
    yield g.fires(binary("Div", x, g.constant(np.float32(3))))
    yield g.fires(binary("Div", x, g.constant(np.array([[1.5], [-2], [7]], np.float32))))
    yield g.near_miss(binary("Div", x, g.constant(np.array([1, 2, 0, 1], np.float32))), why="a division by 0")
    yield g.near_miss(binary("Div", x, g.constant(np.float32(1e-40))), why="1/c is no number of the type")
    yield g.near_miss(binary("Div", x, g.constant(np.float32(np.inf))), why="1/c is 0")
    yield g.near_miss(binary("Div", n, g.constant(np.array([3], np.int64))), why="integers")
    yield g.near_miss(binary("Div", g.constant(np.float32(3)), x), why="the divisor is no constant")


@law("constants", numerics="reassociates", examples=_quotient_examples)
def quotient_scales(x: Tensor, c: Tensor) -> Iterator[Any]:
    """x / c = x * (1/c), bit for bit where c is a power of two

    Source: algebra.
    """
    scaled = binary("Mul", x, unary("Reciprocal", (), c))
    yield rewrite(binary("Div", x, c), scaled, holds(is_safe_divisor, fact(c), fact(x)))


# --- chains ---------------------------------------------------------------------------------------------


def overflows_nowhere(op: str, a: Fact, b: Fact) -> bool:
    """a op b overflows nothing and vanishes nowhere, as far as the elements are known."""
    x, y = known_elements(a), known_elements(b)
    if x is None or y is None or len(x) * len(y) > 256:
        return True
    for v in x:
        for w in y:
            both = v * w if op == "Mul" else v + w
            if not math.isfinite(both) or abs(both) > LARGEST[a.dtype]:
                return False  # infinite ones too: x + inf + c would be a chain of any length
            if op == "Mul" and v != 0 and w != 0 and abs(both) < SMALLEST[a.dtype]:
                return False
    return True


def fits(a: Dims, b: Dims) -> bool:
    """The broadcast of two shapes has no more elements than one of them."""
    try:
        both = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return math.prod(both) <= max(math.prod(a), math.prod(b))


@hosted(default=False)
def may_combine(op: str, a: Fact, b: Fact, x: Fact) -> bool:
    """Whether the constants a and b of a chain of floats are one constant, which is no bigger than they are.

    A neutral constant is left to the laws of identities: x = x * 1 would be a chain of any length.
    """
    return not x.const and are_combinable(op, a, b)


@hosted(default=False)
def cancel(op: str, a: Fact, b: Fact, x: Fact) -> bool:
    """Whether (x op a) op b is x for a constant x, which has to be seen: it may be scaled again and again."""
    if not x.const or op not in NEUTRAL or a.splat is None or b.splat is None or a.dtype not in FLOATS:
        return False
    together = a.splat * b.splat if op == "Mul" else a.splat + b.splat
    return together == NEUTRAL[op] and broadcasts_into(a.shape, x.shape) and broadcasts_into(b.shape, x.shape)


def are_combinable(op: str, a: Fact, b: Fact) -> bool:
    """a and b are constants, not neutral, of which a op b is one that is no bigger."""
    first, second = static_shape(a), static_shape(b)
    if op not in NEUTRAL or first is None or second is None or a.dtype not in FLOATS:
        return False
    if not (a.const and b.const) or NEUTRAL[op] in (a.splat, b.splat):
        return False
    return fits(first, second) and overflows_nowhere(op, a, b)


def _chain_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op in ("Add", "Mul"):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        for a, b in (
            (g.random(3, 1), g.random(1)),
            (g.random(4), g.random(1, 3, 4)),
            (g.random(), g.random(2, 1, 1, 1)),
        ):
            yield g.fires(binary(op, binary(op, x, a), b))
        constant = binary(op, g.random(3, 4), g.random(1))
        yield g.near_miss(binary(op, constant, g.random(4)), why="x is constant")
        there, back = (2.0, 0.5) if op == "Mul" else (2.0, -2.0)
        constant, pair = g.random(3, 4), (g.constant(np.float32(there)), g.constant(np.float32(back)))
        yield g.fires(binary(op, binary(op, constant, pair[0]), pair[1]))
        yield g.near_miss(
            binary(op, binary(op, x, g.random(3, 1)), g.random(4)), why="the constant would grow"
        )
        huge = g.constant(np.float32(3e38))
        yield g.near_miss(binary(op, binary(op, x, huge), huge), why="the constant would overflow")
        neutral = g.constant(np.float32(NEUTRAL[op]))
        yield g.near_miss(binary(op, binary(op, x, neutral), g.random(1)), why="a neutral constant")
        yield g.near_miss(binary(op, binary(op, x, g.input((4,))), g.random(4)), why="one constant only")
        other = "Mul" if op == "Add" else "Add"
        yield g.near_miss(binary(op, binary(other, x, g.random(1)), g.random(1)), why="two operators")


@law("constants", numerics="reassociates", examples=_chain_examples)
def chains_combine(op: String, x: Tensor, a: Tensor, b: Tensor) -> Iterator[Any]:
    """(x op a) op b = x op (a op b) for Add and Mul, and x where a and b cancel each other

    Source: onnxruntime ConstantFolding with reassociation; algebra.
    """
    chain, combined = binary(op, binary(op, x, a), b), binary(op, x, binary(op, a, b))
    moves = ne(x).to(binary(op, x, a))  # x = x + (-0.0) would be a chain of any length
    yield rewrite(chain, combined, moves, holds(may_combine, op, fact(a), fact(b), fact(x)))
    yield rewrite(chain, x, holds(cancel, op, fact(a), fact(b), fact(x)))
