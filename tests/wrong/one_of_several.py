"""What is right of one position, of a square, of bounds from the front, and of numbers that are finite."""

# Written as people write, who look at whether a shape is static and then take its dims for numbers.
# mypy: disable-error-code="arg-type, index, misc, operator"

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Dims, Flag, Float, Settings, Slices, String, Tensor, hosted, number_like, rewrite
from egraph_opt.operators import (
    Literal,
    attention,
    binary,
    cast,
    expand,
    literal,
    masked_attention,
    overwrite,
    reshape,
    rotary,
    slice_,
    tile,
    unary,
    where,
)

from . import fires_on, wrong

# --- heads and positions -----------------------------------------------------------------------------------


@hosted()
def of_one_position(c: Fact, s: Fact) -> bool:
    """One angle for all rows."""
    return c.shape is not None and s.shape is not None and c.shape[0] == s.shape[0] == 1


R = (("interleaved", 0), ("num_heads", 0), ("rotary_embedding_dim", 0))


def rotated(batch, length):
    def make(g):
        q, k = g.input((batch, 2, length, 4)), g.input((batch, 2, length, 4))
        a = g.input((batch, length, 2))
        c, s = unary("Cos", (), a), unary("Sin", (), a)
        return attention(rotary(q, c, s, R), rotary(k, c, s, R), g.input((batch, 2, length, 3)), 0.5, 0)

    return make


@wrong("reassociates", rotated(1, 3), opset=23, examples=fires_on(rotated(1, 1), opset=23))
def attention_of_rotated(q: Tensor, k: Tensor, v: Tensor, a: Tensor, r: Settings, f: Float, h: Flag):
    """Attention(Rotary(q), Rotary(k), v) = Attention(q, k, v) where all are rotated by one angle

    Wrong of several positions: it is the batch that is 1.
    """
    c, s = unary("Cos", (), a), unary("Sin", (), a)
    turned = attention(rotary(q, c, s, r), rotary(k, c, s, r), v, f, h)
    yield rewrite(turned, attention(q, k, v, f, h), of_one_position(c, s), because="forgets the angle")


@hosted()
def as_heads(x: Fact) -> Dims | None:
    return (1, x.shape[0] * x.shape[1], *x.shape[2:]) if x.is_static and x.rank == 4 else None


@hosted()
def padding_row(m: Fact, q: Fact) -> Dims | None:
    """The dims of a padding mask [B, 1, L, S] with batches as heads."""
    if not m.is_static or not q.is_static or m.shape[1] != 1 or m.shape[0] != q.shape[0]:
        return None
    return (1, m.shape[0], *m.shape[2:])


@hosted()
def times_heads(q: Fact) -> Dims:
    return (1, q.shape[1], 1, 1)


@hosted()
def own_dims(x: Fact) -> Dims | None:
    return x.shape if x.is_static else None


@hosted()
def all_alike(q: Fact, k: Fact, v: Fact) -> bool:
    return all(
        f.is_static and f.rank == 4 and f.shape[:2] == q.shape[:2] and 0 not in f.shape for f in (q, k, v)
    )


def padded(batch, heads):
    def make(g):
        q, k, v = (g.input((batch, heads, n, d)) for n, d in ((3, 4), (5, 4), (5, 4)))
        return masked_attention(q, k, v, g.input((batch, 1, 3, 5)), 0.5, 0)

    return make


@wrong(
    "reassociates",
    padded(2, 3),
    opset=23,
    examples=fires_on(padded(1, 3), padded(2, 1), opset=23),
    values=(0.5, -3.0, 2.0, 0.25, 4.0, -1.5, 1.0),
)
def attention_of_all_batches(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, w: Flag):
    """Attention(q, k, v, padding) = Attention of batches as heads, the padding for each head of them

    Wrong of several batches of several heads: a Tile puts all batches first.
    """
    z = masked_attention(q, k, v, m, s, w)
    heads = [reshape(x, as_heads(x)) for x in (q, k, v)]
    mask = tile(reshape(m, padding_row(m, q)), times_heads(q))
    joined = reshape(masked_attention(*heads, mask, s, w), own_dims(z))
    yield rewrite(z, joined, all_alike(q, k, v), because="forgets batches")


# --- parts and grids ---------------------------------------------------------------------------------------


@hosted()
def misses(s: Slices, block: Slices) -> bool:
    """What is sliced ends before the block begins, or begins behind it, along an axis of both."""
    written = {axis: (start, stop) for axis, start, stop, step in block}
    for axis, start, end, step in s:
        if axis in written and step > 0 and start >= 0:
            low, high = written[axis]
            if start >= high or (end is not None and end <= low):
                return True
    return False


def written(start, end):
    def make(g):
        whole = overwrite(g.input((6, 2)), g.input((2, 2)), "ScatterND", ((0, 3, 5, 1),))
        return slice_(whole, ((0, start, end, 1),))

    return make


@wrong("bitwise", written(0, -1), examples=fires_on(written(0, 3), written(5, None), written(1, 2)))
def part_beside_written(x: Tensor, u: Tensor, op: String, b: Slices, s: Slices):
    """Slice(Scatter(x, u)) = Slice(x) where the slice misses what is written

    Wrong of an end below 0, which is behind the block.
    """
    part = slice_(overwrite(x, u, op, b), s)
    yield rewrite(part, slice_(x, s), misses(s, b), because="forgets the updates")


@hosted()
def column_of(i: Fact, d: Dims, e: Dims, f: Dims) -> Literal | None:
    """Which column each cell of a grid is in, row by row."""
    if i.rank != 1 or not i.ints or i.ints != tuple(range(len(i.ints))) or len(i.ints) > 64:
        return None
    if (
        d != (1, len(i.ints))
        or len(e) != 2
        or e[1] not in (1, len(i.ints))
        or len(f) != 1
        or not 0 < e[0] <= 64
    ):
        return None
    count = e[0] * len(i.ints)
    return Literal(i.dtype, (count,), tuple(k % e[0] for k in range(count)))


def grid(rows, columns):
    def make(g):
        row = reshape(g.constant(np.arange(columns)), (1, columns))
        return reshape(expand(row, (rows, columns)), (rows * columns,))

    return make


@wrong("bitwise", grid(2, 3), examples=fires_on(grid(3, 3), grid(4, 4)))
def columns_of_grid(i: Tensor, d: Dims, e: Dims, f: Dims):
    """Reshape(Expand(0, 1, ..)) = the columns of all cells of a grid

    Wrong of grids that are no squares.
    """
    whole = reshape(expand(reshape(i, d), e), f)
    yield rewrite(whole, literal(column_of(i, d, e, f)), because="forgets the grid")


@hosted()
def triangle(i: Fact, j: Fact, d: Dims, e: Dims) -> Literal | None:
    """Which keys each query sees."""
    if not i.ints or not j.ints or i.rank != 1 or j.rank != 1 or max(len(i.ints), len(j.ints)) > 16:
        return None
    n, m = len(i.ints), len(j.ints)
    if i.ints != tuple(range(n)) or j.ints != tuple(range(m)) or d != (n, 1) or e != (1, m):
        return None
    return Literal(T.BOOL, (n, m), tuple(k // n >= k % n for k in range(n * m)))


def causal(n, m):
    def make(g):
        i, j = g.constant(np.arange(n)), g.constant(np.arange(m))
        return binary("GreaterOrEqual", reshape(i, (n, 1)), reshape(j, (1, m)))

    return make


@wrong("bitwise", causal(2, 3), examples=fires_on(causal(3, 3), causal(4, 4)))
def causal_mask(i: Tensor, j: Tensor, d: Dims, e: Dims):
    """[0, 1, ..]' >= [0, 1, ..] = a triangle

    Wrong of masks that are no squares.
    """
    whole = binary("GreaterOrEqual", reshape(i, d), reshape(j, e))
    yield rewrite(whole, literal(triangle(i, j, d, e)), because="forgets places")


# --- numbers -----------------------------------------------------------------------------------------------


@hosted()
def is_from_zero(x: Fact) -> bool:
    known = interval_of(x)
    return known is not None and known[0] >= 0 and not known[2] and x.dtype == T.FLOAT


@hosted()
def is_condition(c: Fact) -> bool:
    return c.dtype == T.BOOL


def masked(*numbers):
    return lambda g: (
        cast(g.input((len(numbers),), T.BOOL), T.FLOAT) * g.constant(np.array(numbers, np.float32))
    )


@wrong("bitwise", masked(np.inf, 1, 2), examples=fires_on(masked(0.5, 1, 2)), values=(0, 1, 0))
def mask_as_choice(c: Tensor, x: Tensor):
    """Cast(c) * x = Where(c, x, 0) where x >= 0

    Wrong, bit by bit, of an infinite x: 0 times it is NaN.
    """
    chosen = where(c, x, number_like(x, 0.0))
    known = (is_condition(c), is_from_zero(x))
    yield rewrite(cast(c, T.FLOAT) * x, chosen, *known, because="a product is shorter")


@hosted()
def is_no_nan(x: Fact) -> bool:
    known = interval_of(x)
    return x.is_static and x.dtype == T.FLOAT and known is not None and not known[2]


@hosted()
def zeros_of(x: Fact) -> Literal:
    return Literal(x.dtype, x.shape, (0.0,))


def difference(*numbers):
    def make(g):
        x = g.constant(np.array(numbers, np.float32))
        return x - x

    return make


@wrong("bitwise", difference(1, np.inf), examples=fires_on(difference(1, -2)))
def difference_of_same(x: Tensor):
    """x - x = 0 where there is no NaN

    Wrong, bit by bit, of infinities.
    """
    yield rewrite(x - x, literal(zeros_of(x)), is_no_nan(x), because="forgets x")
