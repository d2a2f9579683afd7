"""What rotary embeddings are spelled with: parts of rows, rows turned by a right angle, angles written twice.

`how` says which features are pairs everywhere: the halves of a row (0), or neighbours (1).  No laws here.
"""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import auxiliary, eq, hosted, rule, table
from egraph_opt.laws.sorts import Axis, Dims, Flag, Int, Settings, Slices, String, Tensor, Unit
from egraph_opt.operators import binary, concat, expand, reshape, slice_, unary
from egraph_opt.operators.rotary import ROTATED
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import beside, either_side, function_of, functions, moved, moves
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import same_dims

HALVES, NEIGHBOURS = 0, 1


def row_length(x: Fact) -> int | None:
    """The length of the last axis, where it can be cut in two."""
    size = x.shape[-1] if x.shape else None
    return size if isinstance(size, int) and size >= 2 and size % 2 == 0 else None


# --- parts ------------------------------------------------------------------------------------------------


@table()
def part(a: Tensor, x: Tensor, how: Flag, k: Flag) -> Unit:
    """a has the first (0) or second (1) of each pair of features of x, along its last axis."""


@table()
def stood(a: Tensor, x: Tensor, k: Flag) -> Unit:
    """Likewise of neighbours, each in a row of its own."""


def _cut(s: Slices, x: Fact) -> tuple[int, int] | None:
    """How, and which part, a slice of x is."""
    size = row_length(x)
    if size is None or len(s) != 1 or s[0][0] != len(x.shape or ()) - 1 or x.dtype not in ROTATED:
        return None
    taken, half = tuple(range(size)[s[0][1] : s[0][2] : s[0][3]]), size // 2
    found = {
        tuple(range(0, size, 2)): (NEIGHBOURS, 0),
        tuple(range(1, size, 2)): (NEIGHBOURS, 1),
        # Two features are halves.
        tuple(range(half)): (HALVES, 0),
        tuple(range(half, size)): (HALVES, 1),
    }
    return found.get(taken)


@hosted()
def way_of(s: Slices, x: Fact) -> Flag | None:
    cut = _cut(s, x)
    return None if cut is None else cut[0]


@hosted()
def number_of(s: Slices, x: Fact) -> Flag | None:
    cut = _cut(s, x)
    return None if cut is None else cut[1]


@hosted()
def stands(x: Fact, pairs: Fact, s: Slices) -> Flag | None:
    """Which of two neighbours a slice of `pairs`, which is x with pairs as rows, is."""
    size = row_length(x)
    if size is None or not x.is_symbolic or x.dtype not in ROTATED:
        return None
    if not same_dims(pairs.shape, (*(x.shape or ())[:-1], size // 2, 2)) or len(s) != 1:
        return None
    axis, start, end, step = s[0]
    taken = tuple(range(2)[start:end:step])
    return taken[0] if axis == len(x.shape or ()) and len(taken) == 1 else None


@hosted()
def stood_up(a: Fact, b: Fact) -> bool:
    """b is a with its features as rows."""
    return a.is_symbolic and same_dims(b.shape, (*(a.shape or ()), 1))


@auxiliary()
def parts(a: Tensor, b: Tensor, x: Tensor, s: Slices, d: Dims, n: Flag):
    """Fills `part` and `stood`."""
    yield rule(eq(a, slice_(x, s)), then=part(a, x, way_of(s, x), number_of(s, x)))
    pairs = reshape(x, d)
    yield rule(eq(a, slice_(pairs, s)), then=stood(a, x, stands(x, pairs, s)))
    yield rule(part(a, x, NEIGHBOURS, n), eq(b, reshape(a, d)), stood_up(a, b), then=stood(b, x, n))
    yield rule(stood(b, x, n), eq(a, reshape(b, d)), stood_up(a, b), then=part(a, x, NEIGHBOURS, n))


# --- joined -----------------------------------------------------------------------------------------------


@table()
def joined(y: Tensor, a: Tensor, b: Tensor, how: Flag) -> Unit:
    """y has the elements of a as firsts and those of b as seconds of pairs."""


@hosted()
def is_last(axis: Axis, x: Fact, size: int) -> bool:
    """Axis is the last of x, which has `size` elements there, or more than 1 where that is 0."""
    if x.rank is None or axis != x.rank - 1 or x.dtype not in ROTATED:
        return False
    return (x.shape or ())[-1] == size if size else row_length(x) is not None


@hosted()
def pairs_in_rows(whole: Fact, y: Fact) -> bool:
    """y has the pairs that are rows of `whole` one after the other."""
    if not whole.is_symbolic or (whole.rank or 0) < 2 or not isinstance((whole.shape or ())[-2], int):
        return False
    *before, count, two = whole.shape or ()
    return two == 2 and same_dims(y.shape, (*before, count * two))  # type: ignore[operator]


@hosted()
def half_of(y: Fact, a: Fact) -> bool:
    """The last axis of a is half that of y."""
    size = row_length(y)
    return size is not None and bool(a.shape) and (a.shape or ())[-1] == size // 2


@auxiliary(parts)
def joins(y: Tensor, a: Tensor, b: Tensor, e: Dims, d: Dims, f: Dims, axis: Axis):
    """Fills `joined`."""
    halves = concat(listed(a, b), axis)
    yield rule(eq(y, halves), is_last(axis, y, 0), half_of(y, a), then=joined(y, a, b, HALVES))
    stood_a, stood_b = reshape(a, d), reshape(b, e)
    whole = concat(listed(stood_a, stood_b), axis)
    apart = (is_last(axis, whole, 2), stood_up(a, stood_a), stood_up(b, stood_b))
    yield rule(eq(y, reshape(whole, f)), pairs_in_rows(whole, y), *apart, then=joined(y, a, b, NEIGHBOURS))


# --- rotated ----------------------------------------------------------------------------------------------


@table()
def rotated_firsts(p: Tensor, x: Tensor, c: Tensor, s: Tensor, how: Flag) -> Unit:
    """p = a * c - b * s of the firsts a and the seconds b of x."""


@table()
def rotated_seconds(p: Tensor, x: Tensor, c: Tensor, s: Tensor, how: Flag) -> Unit:
    """p = b * c + a * s of the firsts a and the seconds b of x."""


@table()
def rotated_sum(y: Tensor, x: Tensor, c: Tensor, s: Tensor, how: Flag) -> Unit:
    """y = x * c + r * s, where r has -b as firsts and a as seconds."""


@auxiliary(joins, either_side)
def rotations(
    y: Tensor, x: Tensor, a: Tensor, b: Tensor, c: Tensor, s: Tensor, r: Tensor, h: Flag, i: Int, j: Int,
    k: Int,
):  # fmt: skip
    """Fills `rotated_firsts`, `rotated_seconds` and `rotated_sum`, whatever the order of operands."""
    both = (part(a, x, h, 0), part(b, x, h, 1))
    firsts = beside("Mul", a, c, i) - beside("Mul", b, s, j)
    yield rule(*both, eq(y, firsts), then=rotated_firsts(y, x, c, s, h))
    seconds = beside("Add", beside("Mul", b, c, i), beside("Mul", a, s, j), k)
    yield rule(*both, eq(y, seconds), then=rotated_seconds(y, x, c, s, h))
    turned = joined(r, unary("Neg", (), b), a, h)
    whole = beside("Add", beside("Mul", x, c, i), beside("Mul", r, s, j), k)
    yield rule(*both, turned, eq(y, whole), then=rotated_sum(y, x, c, s, h))


# --- angles written twice ---------------------------------------------------------------------------------


@table()
def doubled(c: Tensor, how: Flag) -> Unit:
    """Both features of each pair have one number in c."""


@hosted()
def written_twice(c: Fact) -> Flag | None:
    """How a constant has each number of a row twice."""
    return {"halves": HALVES, "neighbours": NEIGHBOURS}.get(c.twice or "")


@hosted()
def keeps_rows(op: str, how: Any, c: Fact, y: Fact) -> bool:
    """What moves the elements of c leaves those of the last axis together, in order."""
    size, last = row_length(c), (c.rank or 0) - 1
    if size is None or not y.shape or y.shape[-1] != size:
        return False
    if op == "Transpose":
        return bool(how[-1] == last)
    if op == "Slice":
        return all(entry[0] != last for entry in how)
    return op in ("Reshape", "Expand") or (op == "Gather" and how != last)


@hosted()
def one_number(c: Fact, k: Fact) -> bool:
    return k.splat is not None and broadcasts_into(k.shape, c.shape)


@hosted()
def may_be_angles(c: Fact) -> bool:
    return c.dtype in ROTATED and row_length(c) is not None


@hosted()
def is_two(x: Fact) -> bool:
    return bool(x.shape) and (x.shape or ())[-1] == 1


@auxiliary(functions, moves)
def doubling(
    y: Tensor, c: Tensor, i: Tensor, op: String, s: Settings, d: Dims, f: Dims, axis: Axis, h: Flag, how: Any
):
    """Fills `doubled`, from what is written twice to what is computed of it."""
    twice = written_twice(c)
    yield rule(eq(y, binary("Mul", i, c)), then=doubled(c, twice))
    yield rule(eq(y, binary("Mul", c, i)), then=doubled(c, twice))
    yield rule(eq(y, moved(op, c, i, how)), then=doubled(c, twice))
    yield rule(eq(y, concat(listed(c, c), axis)), is_last(axis, y, 0), half_of(y, c), then=doubled(y, HALVES))
    wide = expand(c, d)
    yield rule(eq(y, reshape(wide, f)), is_two(c), pairs_in_rows(wide, y), then=doubled(y, NEIGHBOURS))
    yield rule(doubled(c, h), eq(y, function_of(op, s, c)), may_be_angles(c), then=doubled(y, h))
    yield rule(doubled(c, h), eq(y, binary(op, c, i)), one_number(c, i), then=doubled(y, h))
    yield rule(doubled(c, h), eq(y, moved(op, c, i, how)), keeps_rows(op, how, c, y), then=doubled(y, h))
