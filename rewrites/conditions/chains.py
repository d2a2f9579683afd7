"""Which constant of a chain moves, and in which of its spellings.

A value that is x + c in one spelling of c is it in many: c has other dims, or was computed another way; so
is x @ W.  And a chain (x + a) + b is x + (a + b) as well.  Were each of them moved further, every law would
multiply them, and n residual blocks in a row would have 2^n shifts.  So laws move a constant only where it is
the first that was found between two values, and where it does not combine with another one before it.

No laws here.
"""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import absent, assign, auxiliary, eq, guard, hosted, ne, table
from egraph_opt.laws import rule as when
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Int, String, Tensor, Unit
from egraph_opt.operators import binary
from egraph_opt.rewrites.conditions.channels import count_along, is_float_constant, is_shift, static_shape
from egraph_opt.rewrites.conditions.combining import NEUTRAL, may_combine
from egraph_opt.rewrites.conditions.operands import factor, factors


@table(merge="first")
def between(op: String, y: Tensor, x: Tensor) -> Tensor:
    """The constant c of y = x op c that laws move: all others are the same numbers."""


@table(merge="max")
def preceded(op: String, x: Tensor, c: Tensor) -> Int:
    """1 where x of x op c is itself that of something and a constant with which c combines; else 0."""


@hosted()
def applies(op: str, c: Fact) -> bool:
    """A constant of floats that is scaled with or added, and is not neutral."""
    return op in NEUTRAL and is_float_constant(c) and c.splat != NEUTRAL[op]


@auxiliary()
def affine(op: String, x: Tensor, y: Tensor, z: Tensor, a: Tensor, c: Tensor):
    """Fills `between` and `preceded`."""
    applied = (eq(y, binary(op, x, c)), applies(op, c), varies(x))
    yield when(*applied, then=(assign(between(op, y, x), c), assign(preceded(op, x, c), 0)))
    chain = (eq(c, between(op, y, x)), eq(x, binary(op, z, a)), may_combine(op, a, c), varies(z), ne(x, z))
    yield when(*chain, then=assign(preceded(op, x, c), 1))


@table(merge="first")
def weight_between(y: Tensor, x: Tensor, side: Int) -> Tensor:
    """The constant W of y = x @ W, or of W @ x where `side` is 1, of which laws make others."""


@table(merge="max")
def led(x: Tensor, side: Int) -> Int:
    """1 where x comes from z by products with constant matrices (z @ W, or W @ z, by the side) and shifts,
    none of which makes it smaller, and z from none; else 0.

    What x is multiplied with further combines with all of them, and z, without which there is no x, takes no
    more with it than x does: of n matrices in a row the products of the first k are made, not those of any k.
    """


@table(merge="max")
def continued(z: Tensor, side: Int) -> Int:
    """0 where z is the first of a row of products with constant matrices, 1 where it is the result of one."""


@hosted()
def is_weight(w: Fact, x: Fact) -> bool:
    """A constant of floats that something is multiplied with which is none."""
    return is_float_constant(w) and not x.const


@hosted()
def is_from_smaller(w: Fact, z: Fact, side: int) -> bool:
    """w is a constant matrix that takes z to what is no smaller."""
    shape = static_shape(w)
    if shape is None or len(shape) != 2 or not is_float_constant(w) or z.const:
        return False
    before, after = reversed(shape) if side else shape
    return before <= after


@hosted()
def is_shift_of_columns(c: Fact, y: Fact) -> bool:
    """c shifts each column of y by one number, so that y + c can be multiplied first."""
    rank, dims = y.rank or 0, y.shape or ()
    known = is_shift(c) and not y.const and rank >= 2 and isinstance(dims[-1], int)
    return known and count_along(c, rank, rank - 1, dims[-1]) is not None  # type: ignore[arg-type]


@auxiliary(factors)
def weights(x: Tensor, y: Tensor, z: Tensor, w: Tensor, c: Tensor, i: Int):
    """Fills `weight_between` and `led`."""
    product = (eq(y, factor(x, w, i)), is_weight(w, x))
    begin = (assign(led(x, i), 0), assign(continued(x, i), 0), assign(continued(y, i), 1))
    yield when(*product, then=(assign(weight_between(y, x, i), w), *begin))
    shifted = (eq(y, x @ w), eq(z, y + c), is_shift_of_columns(c, y))
    yield when(*shifted, is_weight(w, x), then=assign(continued(z, 0), 1))
    for begun in (eq(continued(x, i), 0), eq(led(x, i), 1)):
        wider = (eq(y, factor(x, w, i)), is_from_smaller(w, x, i), begun)
        yield when(*wider, then=assign(led(y, i), 1))
    for begun in (eq(continued(x, 0), 0), eq(led(x, 0), 1)):
        yield when(*shifted, is_from_smaller(w, x, 0), begun, then=assign(led(z, 0), 1))


@table()
def stands(op: String, x: Tensor, c: Tensor) -> Unit:
    """c of x op c, or of c op x, is the constant that stands for its other spellings, or it is none."""


@auxiliary(affine)
def standing(op: String, x: Tensor, y: Tensor, c: Tensor):
    """Fills `stands`."""
    yield when(eq(c, between(op, y, x)), then=stands(op, x, c))
    for term in (binary(op, x, c), binary(op, c, x)):
        yield when(eq(y, term), absent(applies(op, c)), then=stands(op, x, c))


@table()
def weighs(x: Tensor, w: Tensor) -> Unit:
    """w of x @ w is the weight that stands for its other spellings, or no constant."""


@auxiliary(weights)
def weighing(x: Tensor, y: Tensor, w: Tensor):
    """Fills `weighs`."""
    yield when(eq(w, weight_between(y, x, 0)), then=weighs(x, w))
    yield when(eq(y, x @ w), absent(is_weight(w, x)), then=weighs(x, w))


def of_weight(x: Any, w: Any, side: Any) -> Any:
    """The guard that w is the constant of x @ w, or w @ x, of which laws make others."""
    return guard(eq(w, weight_between(factor(x, w, side), x, side)))


def chosen(op: Any, x: Any, c: Any) -> Any:
    """The guard that c is the constant of x op c of which laws make others."""
    return guard(eq(c, between(op, binary(op, x, c), x)))


def moves(op: Any, x: Any, c: Any) -> Any:
    """The guard that c is the constant of x op c that laws move."""
    return (*chosen(op, x, c), *guard(eq(preceded(op, x, c), 0)))
