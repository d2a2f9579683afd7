"""Attention and norms: heads in another order, masks that count, axes counted from the wrong side."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Dims, Flag, Float, Permutation, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    attention,
    concat,
    expand,
    layer_norm,
    masked_attention,
    reshape,
    rms_norm,
    softmax,
    transpose,
)

from . import fires_on, wrong

# --- heads -----------------------------------------------------------------------------------------------


@hosted()
def dims_of_groups(x: Fact, u: Fact, e: Dims, d: Dims) -> tuple[Dims, Dims] | None:
    """Queries of a group below each other, and the heads that are repeated along the axis of 1."""
    if not x.is_static or not u.is_static or x.shape is None or u.shape is None:
        return None
    if len(x.shape) != 4 or len(u.shape) != 5 or len(e) != 5 or len(d) != 4 or 1 not in u.shape[1:3]:
        return None
    batch, first, second, *matrix = u.shape
    groups, count = first * second, max(e[1], e[2])  # type: ignore[operator, type-var]
    if d != (batch, groups * count, *matrix) or x.shape[:2] != d[:2] or count == 1:  # type: ignore[operator]
        return None
    return (batch, groups, count * x.shape[2], x.shape[3]), (batch, groups, *matrix)  # type: ignore[operator]


def repeated_heads(u: tuple[int, ...], e: tuple[int, ...], length: int = 2):
    def make(g):
        heads = u[1] * u[2] * max(e)
        keys = reshape(expand(g.input(u), e), (u[0], heads, *u[3:]))
        return g.input((u[0], heads, length, u[3])) @ keys

    return make


@hosted()
def dims_of(z: Fact) -> Dims | None:
    return z.shape if z.is_symbolic else None


@wrong(
    "reassociates",
    repeated_heads((1, 1, 2, 4, 5), (1, 3, 1, 1, 1)),
    examples=fires_on(
        repeated_heads((2, 2, 1, 4, 5), (1, 1, 3, 1, 1)),
        repeated_heads((1, 3, 1, 2, 4), (1, 1, 2, 1, 1), 3),
        repeated_heads((2, 1, 1, 4, 3), (1, 1, 4, 1, 1)),
    ),
)
def queries_of_repeated_heads(x: Tensor, u: Tensor, e: Dims, d: Dims):
    """x @ Repeat(u) = Reshape(Reshape(x) @ u), the queries of a head below each other

    Wrong where all heads are repeated as a whole, not each by itself.
    """
    z = x @ reshape(expand(u, e), d)
    how = dims_of_groups(x, u, e, d)
    once = reshape(x, how[0]) @ reshape(u, how[1])
    yield rewrite(z, reshape(once, dims_of(z)), because="forgets that heads are repeated")


# --- masks -----------------------------------------------------------------------------------------------


@hosted()
def is_one_bias(m: Fact, q: Fact, k: Fact) -> bool:
    """All scores are raised by one number."""
    if m.splat is None or q.dtype != T.FLOAT or q.shape is None or k.shape is None:
        return False
    return bool(np.isfinite(m.splat)) and m.shape == (q.shape[2], k.shape[2])


def masked(value: float, *shape: int):
    def make(g):
        q, k, v = g.input((1, 2, 3, 4)), g.input((1, 2, 5, 4)), g.input((1, 2, 5, 6))
        return masked_attention(q, k, v, g.constant(np.full(shape, value, np.float32)), 0.5, 0)

    return make


@wrong(
    "reassociates",
    masked(-1e30, 3, 5),
    opset=23,
    examples=fires_on(masked(0.0, 3, 5), masked(-1.0, 3, 5), masked(2.5, 3, 5), opset=23),
)
def attention_under_one_bias(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, w: Flag):
    """Attention(q, k, v, m) = Attention(q, k, v) for a mask of one finite number

    Wrong of one that swallows the scores.
    """
    given = masked_attention(q, k, v, m, s, w)
    yield rewrite(given, attention(q, k, v, s, w), is_one_bias(m, q, k), because="a Softmax forgets it")


@hosted()
def is_alike_for_keys(m: Fact) -> bool:
    """The mask has one row for all."""
    return m.shape is not None and len(m.shape) == 4 and m.shape[2] == 1


def cached(m: tuple[int, ...], first: int = 2, second: int = 3, length: int = 3):
    def make(g):
        q = g.input((1, 2, length, 4))
        keys = [g.input((1, 2, n, 4)) for n in (first, second)]
        values = [g.input((1, 2, n, 4)) for n in (first, second)]
        return masked_attention(q, concat(listed(*keys), 2), concat(listed(*values), 2), g.input(m), 0.5, 0)

    return make


@wrong(
    "reassociates",
    cached((1, 1, 1, 5), length=1),
    opset=23,
    examples=fires_on(cached((1, 1, 1, 1)), cached((1, 2, 1, 1), 4, 1), opset=23),
)
def newest_keys_first(q: Tensor, k: Tensor, n: Tensor, v: Tensor, u: Tensor, m: Tensor, s: Float, w: Flag):
    """Attention(q, Concat(k, n), Concat(v, u), m) = Attention(q, Concat(n, k), Concat(u, v), m)

    Wrong where the mask differs from key to key.
    """
    given = masked_attention(q, concat(listed(k, n), 2), concat(listed(v, u), 2), m, s, w)
    other = masked_attention(q, concat(listed(n, k), 2), concat(listed(u, v), 2), m, s, w)
    yield rewrite(given, other, is_alike_for_keys(m), because="endless")


@hosted()
def is_constant_along(c: Fact, x: Fact, a: Axis) -> bool:
    """The summand has one element along the axis, or not the axis at all."""
    if c.shape is None or x.shape is None or len(c.shape) > len(x.shape) or x.dtype != T.FLOAT:
        return False
    if any(m not in (1, n) for m, n in zip(c.shape[::-1], x.shape[::-1], strict=False)):
        return False
    return c.const and c.data is not None and (a >= len(c.shape) or c.shape[a] == 1)


def raised(shape: tuple[int, ...], axis: int, *dims: int):
    return lambda g: softmax("Softmax", g.input(shape) + g.random(*dims), axis)


@wrong(
    "reassociates",
    raised((2, 3, 4), 1, 3, 1),
    examples=fires_on(raised((2, 3), 1, 2, 1), raised((2, 3, 4), 2, 2, 3, 1), raised((2, 3, 4), 1, 2, 1, 4)),
)
def softmax_of_raised_rows(x: Tensor, c: Tensor, a: Axis):
    """Softmax(x + c) = Softmax(x) for a c that has one element along the axis

    Wrong where c has fewer axes, which are counted from the end.
    """
    yield rewrite(
        softmax("Softmax", x + c, a), softmax("Softmax", x, a), is_constant_along(c, x, a), because="any c"
    )


# --- norms -----------------------------------------------------------------------------------------------


@hosted()
def keeps_the_last(p: Permutation, axes: Axes) -> bool:
    """Axes that are normalised stay among themselves."""
    return axes == tuple(range(len(p) - len(axes), len(p))) and set(p[len(p) - len(axes) :]) == set(axes)


def turned_norm(p: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]):
    def make(g):
        y = transpose(g.input(shape), p)
        return layer_norm(y, g.random(*(shape[p[k]] for k in axes)), axes, 1e-5)

    return make


@wrong(
    "reassociates",
    turned_norm((0, 2, 1), (2, 4, 4), (1, 2)),
    examples=fires_on(
        turned_norm((1, 0, 2), (2, 3, 4), (2,)),
        turned_norm((0, 2, 1, 3), (2, 3, 4, 5), (3,)),
        turned_norm((1, 0, 2, 3), (2, 3, 4, 5), (2, 3)),
    ),
)
def norm_of_turned_rows(x: Tensor, s: Tensor, p: Permutation, a: Axes, e: Float):
    """LayerNormalization(Transpose(x)) = Transpose(LayerNormalization(x)) where normalised axes stay behind

    Wrong where they change places: the scale does not.
    """
    yield rewrite(
        layer_norm(transpose(x, p), s, a, e),
        transpose(layer_norm(x, s, a, e), p),
        keeps_the_last(p, a),
        because="behind",
    )


@hosted()
def axis_of_same_length(x: Fact, d: Dims, a: Axis) -> Axis | None:
    """The axis in front of the view, as far from the end, of as many elements."""
    if not x.is_static or x.shape is None or not a < len(d):
        return None
    own = a - len(d) + len(x.shape)
    return own if own >= 0 and x.shape[own] == d[a] else None


def view_of(shape: tuple[int, ...], dims: tuple[int, ...], axis: int, kind: str = "Softmax"):
    return lambda g: softmax(kind, reshape(g.input(shape), dims), axis)


@wrong(
    "reassociates",
    view_of((4, 3, 2), (2, 3, 4), 1),
    examples=fires_on(
        view_of((2, 3, 4), (6, 4), 1),
        view_of((6, 4), (2, 3, 4), 2, "LogSoftmax"),
        view_of((2, 3, 4, 5), (6, 4, 5), 1),
    ),
)
def softmax_of_same_axis(x: Tensor, d: Dims, a: Axis):
    """Softmax(Reshape(x)) = Reshape(Softmax(x)) where the view keeps the axis, counted from the end

    Wrong where the axes behind it are others.
    """
    for kind in ("Softmax", "LogSoftmax"):
        inside = softmax(kind, x, axis_of_same_length(x, d, a))
        yield rewrite(softmax(kind, reshape(x, d), a), reshape(inside, d), because="views last")


@hosted()
def smaller_epsilon(e: Float, c: Fact) -> Float | None:
    """What is added to the mean of squares before the factor."""
    if c.splat is None or c.rank != 0 or not 1e-3 < abs(c.splat) < 1e3 or c.dtype != T.FLOAT:
        return None
    return float(e / (c.splat * c.splat))


def factor(c: float, *shape: int):
    return lambda g: rms_norm(
        g.input(shape) * g.constant(np.array(c, np.float32)), g.random(shape[-1]), (len(shape) - 1,), 1e-3
    )


@wrong(
    "reassociates",
    factor(-2.0, 3, 4),
    opset=23,
    examples=fires_on(factor(2.0, 3, 4), factor(0.125, 2, 3, 5), opset=23),
)
def norm_of_scaled_rows(x: Tensor, c: Tensor, s: Tensor, a: Axes, e: Float):
    """RMSNormalization(x * c; e) = RMSNormalization(x; e / c^2)

    Wrong of a factor below 0.
    """
    yield rewrite(rms_norm(x * c, s, a, e), rms_norm(x, s, a, smaller_epsilon(e, c)), because="any c")
