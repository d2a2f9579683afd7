"""Constant operands move to the right, and meet: a chain of scales and shifts is one scale and one shift.

    c op x -> x op c
    c - x = x * (-1) + c      Neg(x) = x * (-1)  floats
    x - c = x + (-c)                             from the right for any c
    x - (-y) -> x + y
    x / c = x * (1/c)                            c's reciprocals are normal numbers; from the right any c
    (x * c1) * c2 -> x * (c1 * c2)
    (x + c1) + c2 -> x + (c1 + c2)

c is constant, x is not.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, ne, rewrite
from egraph_opt.laws.algebra import number_like, reciprocal, varies
from egraph_opt.laws.sorts import String, Tensor
from egraph_opt.operators import binary
from egraph_opt.rewrites.arithmetic.associativity import commutes
from egraph_opt.rewrites.conditions.chains import affine, chosen, moves
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    LARGEST_SHIFT,
    SMALLEST,
    elements_beside_zero,
    largest_of,
)
from egraph_opt.rewrites.conditions.combining import NEUTRAL, may_combine
from egraph_opt.rewrites.conditions.values import all_vary, broadcasts_into, is_float

# --- to the right ---------------------------------------------------------------------------------------


@hosted()
def is_the_constant(c: Fact, x: Fact) -> bool:
    """c is the constant of two operands, or of two constants the one of equal elements."""
    return c.const and (not x.const or (c.splat is not None and x.splat is None))


@law("constants", numerics="bitwise", kind="move")
def constants_right(op: String, c: Tensor, x: Tensor):
    """c op x = x op c for a commutative op"""
    demand = guard(is_the_constant(c, x))
    yield rewrite(
        binary(op, c, x), binary(op, x, c), commutes(op), demand, because="laws read constants there"
    )


# --- Sub, Neg and Div as Add and Mul --------------------------------------------------------------------


@hosted()
def is_minus_one(c: Fact, x: Fact) -> bool:
    """A constant -1 that leaves the shape of x alone."""
    return c.splat == -1 and broadcasts_into(c.shape, x.shape)


@law("constants", numerics="bitwise", kind="replace", source="IEEE 754")
def negation_scales(x: Tensor, c: Tensor):
    """Neg(x) = x * (-1)"""
    minus = x * number_like(x, -1.0)
    yield rewrite(-x, minus, is_float(x), guard(varies(x)), inverse="negation_scales")
    yield rewrite(x * c, -x, guard(is_float(x)), is_minus_one(c, x), inverse="negation_scales")


@hosted()
def is_shift_of(c: Fact, x: Fact) -> bool:
    """c is a constant, and x is none; not 0, since -0.0 is not seen to be neutral."""
    return c.const and c.splat != 0 and not x.const


def _difference_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    unsigned = g.input((3,), TensorProto.UINT32) - g.constant(np.array(3, np.uint32))
    yield g.near_miss(unsigned, why="Neg takes no unsigned integers")


@law("constants", numerics="bitwise", kind="replace", source="IEEE 754", examples=_difference_examples)
def difference_adds(x: Tensor, c: Tensor):
    """x - c = x + (-c), and c - x = x * (-1) + c; from the right for any c"""
    demand, back = guard(is_shift_of(c, x)), "difference_adds"
    yield rewrite(x - c, x + (-c), is_float(x), demand, inverse=back)
    yield rewrite(c - x, x * number_like(x, -1.0) + c, is_float(x), demand, inverse=back)
    yield rewrite(x + (-c), x - c, inverse=back)
    yield rewrite((-x) + c, c - x, inverse=back)


@law("constants", numerics="bitwise", kind="eliminate", serves="arithmetic", source="IEEE 754")
def opposite_is_added(x: Tensor, y: Tensor):
    """x - (-y) = x + y"""
    yield rewrite(x - (-y), x + y, guard(varies(x), varies(y)), because="every sum would be a difference")


@hosted()
def is_safe_divisor(c: Fact) -> bool:
    """Elements and reciprocals of a constant are normal numbers."""
    known = elements_beside_zero(c)
    if known is None:
        return False
    return all(SMALLEST[c.dtype] <= abs(v) <= min(LARGEST[c.dtype], 1 / SMALLEST[c.dtype]) for v in known)


def _quotient_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4))
    for c, why in (
        (np.array([1, 2, 0, 1], np.float32), "a division by 0"),
        (np.float32(1e-40), "1/c is no number of the type"),
        (np.float32(np.inf), "1/c is 0"),
    ):
        yield g.near_miss(x / g.constant(c), why)
    yield g.fires(x / g.constant(np.array([[1.5], [-2], [7]], np.float32)))


@law("constants", numerics="finite", kind="replace", examples=_quotient_examples)
def quotient_scales(x: Tensor, c: Tensor):
    """x / c = x * (1/c), bit for bit where c is a power of two; from the right for any c"""
    yield rewrite(x / c, x * reciprocal(c), is_safe_divisor(c), guard(varies(x)), inverse="quotient_scales")
    yield rewrite(x * reciprocal(c), x / c, guard(varies(x)), inverse="quotient_scales")


# --- chains ---------------------------------------------------------------------------------------------


@hosted()
def cancel(op: str, a: Fact, b: Fact, x: Fact) -> bool:
    """Whether (x op a) op b is x for a constant x, which has to be seen: it may be scaled again and again."""
    if not x.const or op not in NEUTRAL or a.splat is None or b.splat is None or a.dtype not in FLOATS:
        return False
    if op == "Add" and largest_of(a) > LARGEST_SHIFT:
        return False  # nothing would be left of x in between
    together = a.splat * b.splat if op == "Mul" else a.splat + b.splat
    return together == NEUTRAL[op] and broadcasts_into(a.shape, x.shape) and broadcasts_into(b.shape, x.shape)


def _chain_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, there, back in (("Mul", 2.0, 0.5), ("Add", 2.0, -2.0)):
        g = Operands(rng)
        x, c, huge = g.input(("N", 3, 4)), g.random(3, 4), g.constant(3e38)
        yield g.fires(binary(op, binary(op, c, g.constant(there)), g.constant(back)))
        for y, a, b, why in (
            (c, g.random(1), g.random(4), "x is constant"),
            (x, g.random(3, 1), g.random(4), "the constant would grow"),
            (x, huge, huge, "the constant would overflow"),
            (c, huge, g.constant(-3e38), "nothing is left of x in between"),
            (x, g.constant(float(NEUTRAL[op])), g.random(1), "a neutral constant"),
        ):
            yield g.near_miss(binary(op, binary(op, y, a), b), why)


@law(
    "constants",
    numerics="reassociates",
    kind="merge",
    source="onnxruntime ConstantFolding with reassociation; algebra",
    examples=_chain_examples,
    uses=(affine,),
)
def chains_combine(op: String, x: Tensor, a: Tensor, b: Tensor):
    """(x op a) op b = x op (a op b) for Add and Mul, and x where a and b cancel each other"""
    chain, combined = binary(op, binary(op, x, a), b), binary(op, x, binary(op, a, b))
    demand = guard(all_vary(x, chain), ne(x, binary(op, x, a)))  # x = x + (-0.0) would be any chain
    demand = (*demand, *moves(op, x, a), *chosen(op, binary(op, x, a), b))
    yield rewrite(chain, combined, may_combine(op, a, b), demand, because="two constants are worse than one")
    yield rewrite(chain, x, cancel(op, a, b, x), because="x is no chain")
