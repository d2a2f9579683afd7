"""Heads, groups, sums and norms of which one setting or the first of several places is looked at."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import ANY, interval_of
from egraph_opt.laws import (
    Axis,
    DataType,
    Dims,
    Flag,
    Float,
    Int,
    Settings,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    rewrite,
    sigmoid,
    sqrt,
    tanh,
)
from egraph_opt.operators import (
    Literal,
    PoolWindow,
    arg_reduce,
    cast,
    concat,
    cumsum,
    gather,
    group_norm,
    literal,
    lp_pool,
    masked_attention,
    pool,
    reshape,
    slice_,
    unary,
)
from egraph_opt.operators.rotary import rotary, settings_of

from . import fires_on, of_one, wrong

# --- heads -----------------------------------------------------------------------------------------------


@hosted()
def of_first_features(x: Fact, t: Slices, r: Slices, p: Settings) -> Settings | None:
    """The settings of a rotation of the first features of each head, where the others are put behind."""
    if x.shape is None or len(x.shape) != 4 or len(t) != 1 or len(r) != 1 or dict(p)["rotary_embedding_dim"]:
        return None
    n, d = t[0][2], x.shape[3]
    if not isinstance(d, int) or n is None or t != ((3, 0, n, 1),) or r != ((3, n, d, 1),) or n % 8:
        return None
    return settings_of(0, dict(p)["num_heads"], n)


def first_rotated(n: int, size: int, interleaved: int = 0):
    def make(g):
        x, angles = g.input((2, 3, 4, size)), [g.input((2, 4, n // 2)) for _ in "cs"]
        turned = rotary(slice_(x, ((3, 0, n, 1),)), *angles, settings_of(interleaved))
        return concat(listed(turned, slice_(x, ((3, n, size, 1),))), 3)

    return make


@wrong(
    "reassociates",
    first_rotated(8, 16, 1),
    opset=23,
    examples=fires_on(first_rotated(8, 16), first_rotated(16, 24), opset=23),
)
def first_features_rotated(x: Tensor, c: Tensor, s: Tensor, t: Slices, r: Slices, p: Settings):
    """Concat(Rotary(x[.., :n]), x[.., n:]) = Rotary(x) of n features

    Wrong where neighbours are rotated.
    """
    both = concat(listed(rotary(slice_(x, t), c, s, p), slice_(x, r)), 3)
    yield rewrite(both, rotary(x, c, s, of_first_features(x, t, r, p)), because="one")


@hosted()
def is_one_mask(m: Fact, n: Fact, *pairs: Fact) -> bool:
    """Two constant masks of equal dims and of the same number, for operands of equal dims."""
    if any(not x.is_static or x.shape != y.shape for x, y in zip(pairs[::2], pairs[1::2], strict=True)):
        return False
    return m.const and n.const and m.shape == n.shape and m.rank == 2 and m.splat == n.splat


def heads_apart(first: float | None, second: float | None, length: int = 3):
    def make(g):
        parts = []
        for value in (first, second):
            q, k, v = g.input((1, 2, length, 4)), g.input((1, 2, 5, 4)), g.input((1, 2, 5, 6))
            mask = (
                g.random(length, 5) if value is None else g.constant(np.full((length, 5), value, np.float32))
            )
            parts.append(masked_attention(q, k, v, mask, 0.5, 0))
        return concat(listed(*parts), 1)

    return make


@wrong(
    "reassociates",
    heads_apart(None, None),
    opset=23,
    examples=fires_on(heads_apart(0.0, 0.0), heads_apart(-2.0, -2.0, 4), opset=23),
)
def heads_of_one_mask(
    q: Tensor, k: Tensor, v: Tensor, m: Tensor, x: Tensor, y: Tensor, z: Tensor, n: Tensor, s: Float, w: Flag
):
    """Concat(Attention(q, k, v, m), Attention(x, y, z, n)) = Attention(Concat(q, x), ..; m)

    Wrong of masks that are not one number, which are not compared.
    """
    apart = concat(listed(masked_attention(q, k, v, m, s, w), masked_attention(x, y, z, n, s, w)), 1)
    joined = (concat(listed(*pair), 1) for pair in ((q, x), (k, y), (v, z)))
    yield rewrite(
        apart, masked_attention(*joined, m, s, w), is_one_mask(m, n, q, x, k, y, v, z), because="heads"
    )


@hosted()
def stays_with_its_group(i: Fact, x: Fact, p: Settings, s: Fact, b: Fact) -> bool:
    """Channels in another order, each group of which begins with one of its own."""
    for c in (s, b):
        if c.dtype != T.FLOAT or c.data is None or not c.const or max(map(abs, c.data), default=9) > 8:  # type: ignore[arg-type]
            return False
    if i.ints is None or x.shape is None or sorted(i.ints) != list(range(len(i.ints))):
        return False
    if x.shape[1] != len(i.ints) or len(i.ints) % dict(p)["num_groups"]:
        return False
    size = len(i.ints) // dict(p)["num_groups"]
    return all(i.ints[k] // size == k // size for k in range(0, len(i.ints), size))


def grouped(groups: int, *i: int):
    def make(g):
        n, order = len(i), g.constant(np.array(i))
        settings = (("epsilon", 1e-5), ("num_groups", groups))
        return gather(group_norm(g.input((2, n, 3)), g.random(n), g.random(n), settings), order, 1)

    return make


@wrong(
    "reassociates",
    grouped(2, 0, 4, 2, 3, 1, 5),
    opset=21,
    examples=fires_on(grouped(2, 1, 0, 3, 2), grouped(2, 2, 0, 1, 4, 5, 3), opset=21),
)
def groups_in_another_order(x: Tensor, s: Tensor, b: Tensor, i: Tensor, p: Settings):
    """GroupNormalization(x)[i] = GroupNormalization(x[i]) for channels that stay in their groups

    Wrong where the first one of each does and others do not.
    """
    inside = group_norm(gather(x, i, 1), gather(s, i, 0), gather(b, i, 0), p)
    yield rewrite(
        gather(group_norm(x, s, b, p), i, 1), inside, stays_with_its_group(i, x, p, s, b), because="once"
    )


# --- sums, norms and places ------------------------------------------------------------------------------


@hosted()
def axis_without_ones(k: Fact, x: Fact, d: Dims) -> Literal | None:
    """The axis of sums in front of one new axis, the first one."""
    if not isinstance(k.splat, int) or not x.is_static or d != (1, *(x.shape or ())) or k.splat == 0:
        return None
    return Literal(k.dtype, k.shape or (), (k.splat - 1,))  # type: ignore[arg-type]


def summed(axis: int, *shape: int):
    settings = (("exclusive", 0), ("reverse", 0))
    return lambda g: cumsum(reshape(g.input(shape), (1, *shape)), g.constant(np.array(axis)), settings)


@wrong(
    "reassociates", summed(-1, 3, 4), examples=fires_on(summed(1, 3, 4), summed(2, 3, 4), summed(3, 2, 3, 4))
)
def sums_within_one_batch(x: Tensor, k: Tensor, d: Dims, p: Settings):
    """CumSum(Unsqueeze(x); k) = Unsqueeze(CumSum(x; k - 1))

    Wrong of axes that are counted from the end.
    """
    inside = cumsum(x, literal(axis_without_ones(k, x, d)), p)
    yield rewrite(cumsum(reshape(x, d), k, p), reshape(inside, d), because="views last")


@hosted()
def of_squares(p: int, w: PoolWindow, x: Fact) -> PoolWindow | None:
    """The window of means; pads count as zeros."""
    if p != 2 or x.dtype != T.FLOAT or w.ceil_mode or set(w.dilations) != {1}:
        return None
    return replace(w, count_include_pad=int(any(w.pads[: len(w.kernel)])))


@hosted()
def area(w: PoolWindow) -> Literal:
    return Literal(T.FLOAT, (), (float(np.prod(w.kernel)),))


def lengths(pads: tuple[int, ...], *shape: int):
    rank = len(pads) // 2
    return of_one(lambda x: lp_pool(2, x, PoolWindow((2,) * rank, (2,) * rank, pads, (1,) * rank)), shape)


@wrong(
    "reassociates",
    lengths((0, 0, 1, 1), 1, 2, 5, 5),
    examples=fires_on(
        lengths((0, 0, 0, 0), 1, 2, 4, 4), lengths((1, 1, 1, 1), 1, 2, 6, 4), lengths((1, 0), 1, 2, 7)
    ),
)
def lengths_by_means(n: Int, x: Tensor, w: PoolWindow):
    """LpPool(x; 2) = Sqrt(AveragePool(x * x) * n) for windows of n

    Wrong where it pads behind only, of which a mean has fewer elements.
    """
    means = pool("AveragePool", x * x, of_squares(n, w, x)) * literal(area(w))
    yield rewrite(lp_pool(n, x, w), sqrt(means), because="by means")


@hosted()
def keeps_numbers(x: Fact, to: DataType) -> bool:
    """The float has as many bits as the integer, or more."""
    bits = {T.INT8: 8, T.UINT8: 8, T.INT32: 32, T.INT64: 64}.get(x.dtype)  # type: ignore[call-overload]
    return bits is not None and {T.FLOAT: 32, T.DOUBLE: 64}.get(to, 0) >= bits  # type: ignore[call-overload]


def place(dtype: int, to: int, kind: str = "ArgMax"):
    return lambda g: arg_reduce(kind, cast(g.input((3, 5), dtype), to), 1, 1, 0)


@wrong(
    "bitwise",
    place(T.INT32, T.FLOAT),
    values=(2**24, 2**24 + 1, 5, 7, 9),
    examples=fires_on(place(T.INT32, T.DOUBLE), place(T.INT8, T.FLOAT), place(T.UINT8, T.FLOAT, "ArgMin")),
)
def place_of_whole_numbers(f: String, x: Tensor, t: DataType, a: Axis, k: Flag, n: Flag):
    """ArgMax(Cast(x)) = ArgMax(x) of integers, cast to floats of as many bits

    Wrong of integers beyond 2^24, which are rounded.
    """
    found = arg_reduce(f, x, a, k, n)
    yield rewrite(arg_reduce(f, cast(x, t), a, k, n), found, keeps_numbers(x, t), because="any type")


@hosted()
def is_cut_alike(x: Fact, to: DataType) -> bool:
    """It is below 1, and so cut off towards 0."""
    _, high, _ = interval_of(x) or ANY
    return x.dtype == T.FLOAT and to in (T.INT32, T.INT64) and high <= 1


def raised(make: Any):
    return of_one(lambda x: cast(unary("Ceil", (), make(x)), T.INT32), (3, 4))


@wrong(
    "bitwise",
    raised(tanh),
    examples=fires_on(raised(lambda x: -sigmoid(x)), raised(lambda x: -unary("Abs", (), tanh(x)))),
)
def raised_and_cut(x: Tensor, t: DataType):
    """Cast(Ceil(x)) = Cast(x) to integers where x is no greater than 1

    Wrong above 0.
    """
    yield rewrite(cast(unary("Ceil", (), x), t), cast(x, t), is_cut_alike(x, t), because="forgets Ceil")
