"""Our laws of pools and pads with a condition that was forgotten, or an index that is another."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Mode,
    Number,
    Pads,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    relu,
    rewrite,
)
from egraph_opt.operators import PoolWindow, concat, global_pool, pad, pool, reduce, slice_, transpose

from . import of_one, of_two, wrong

IMAGE = (1, 2, 6, 6)


def window(
    kernel: int, stride: int = 1, pads: tuple[int, ...] = (0, 0, 0, 0), ceil: int = 0, include: int = 0
):
    return PoolWindow((kernel,) * 2, (stride,) * 2, pads, (1, 1), ceil, include)


RING = (1, 1, 1, 1)
AROUND = (0, 0, 1, 1, 0, 0, 1, 1)


def average(x, w: PoolWindow):
    return pool("AveragePool", x, w)


def maximum(x, w: PoolWindow):
    return pool("MaxPool", x, w)


@hosted()
def in_one(inner: PoolWindow, outer: PoolWindow) -> PoolWindow | None:
    """The window of two pools of which the inner one's windows touch."""
    if inner.kernel != inner.strides or any(inner.pads):
        return None
    both = zip(inner.kernel, outer.kernel, inner.strides, outer.strides, strict=True)
    kernel, strides = zip(*((k * m, s * t) for k, m, s, t in both), strict=True)
    return replace(outer, kernel=kernel, strides=strides)


@wrong("reassociates", of_one(lambda x: maximum(maximum(x, window(2, 2)), window(2, 1, RING)), IMAGE))
def pools_in_a_row(k: String, x: Tensor, u: PoolWindow, w: PoolWindow):
    """Pool(Pool(x; k1, stride k1); k2) = Pool(x; k1 k2)

    Wrong where the outer one pads, or the last window is partial.
    """
    yield rewrite(pool(k, pool(k, x, u), w), pool(k, x, in_one(u, w)), because="one pool")


@hosted()
def widened(inner: PoolWindow, outer: PoolWindow) -> PoolWindow | None:
    """Kernels add up."""
    kernel = tuple(a + b - 1 for a, b in zip(inner.kernel, outer.kernel, strict=True))
    plain = not any((*inner.pads, *outer.pads, inner.ceil_mode, outer.ceil_mode))
    return replace(outer, kernel=kernel) if plain and set(outer.strides) == {1} else None


@wrong("reassociates", of_one(lambda x: average(average(x, window(2)), window(2)), IMAGE))
def kernels_added(k: String, x: Tensor, u: PoolWindow, w: PoolWindow):
    """Pool(Pool(x; k1); k2) = Pool(x; k1 + k2 - 1) where the outer one has no strides

    Wrong of AveragePool, and where the inner one has strides.
    """
    yield rewrite(pool(k, pool(k, x, u), w), pool(k, x, widened(u, w)), because="one pool")


@hosted()
def is_whole(w: PoolWindow, x: Fact) -> bool:
    return x.shape is not None and x.shape[2:] == w.kernel


@hosted()
def global_of(k: str) -> str:
    return f"Global{k}"


@wrong("reassociates", of_one(lambda x: average(x, window(6, 1, RING)), IMAGE))
def pool_of_everything(x: Tensor, w: PoolWindow):
    """AveragePool(x; the whole image) = GlobalAveragePool(x)

    Wrong with padding: there are several windows.
    """
    yield rewrite(average(x, w), global_pool("GlobalAveragePool", x), is_whole(w, x), because="one kernel")


@hosted()
def spatial_pads(w: PoolWindow) -> Pads | None:
    axes = len(w.kernel)
    return (0, 0, *w.pads[:axes], 0, 0, *w.pads[axes:]) if any(w.pads) else None


@hosted()
def unpadded(w: PoolWindow) -> PoolWindow:
    return replace(w, pads=(0,) * len(w.pads))


@wrong("reassociates", of_one(lambda x: average(x, window(3, 1, RING)), IMAGE))
def pads_of_average_apart(x: Tensor, w: PoolWindow):
    """AveragePool(x) = AveragePool(Pad(x))

    Wrong where pads do not count.
    """
    apart = average(pad(x, "constant", spatial_pads(w), 0.0), unpadded(w))
    yield rewrite(average(x, w), apart, because="kernels do not pad")


@wrong("reassociates", of_one(lambda x: maximum(x, window(3, 1, RING)), IMAGE), values=(-1.0, -2.0))
def pads_of_maximum_apart(x: Tensor, w: PoolWindow):
    """MaxPool(x) = MaxPool(Pad(x)) with pads of 0

    Wrong below zero.
    """
    apart = maximum(pad(x, "constant", spatial_pads(w), 0.0), unpadded(w))
    yield rewrite(maximum(x, w), apart, because="kernels do not pad")


@hosted()
def with_pads(w: PoolWindow, p: Pads) -> PoolWindow | None:
    rank = len(p) // 2
    if rank < 3 or any(p[k] or p[k + rank] for k in (0, 1)):
        return None
    own = (*p[2:rank], *p[rank + 2 :])
    return replace(w, pads=tuple(a + b for a, b in zip(w.pads, own, strict=True)))


@hosted()
def counting(w: PoolWindow) -> PoolWindow:
    return replace(w, count_include_pad=1)


@hosted()
def is_zero(v: Number) -> bool:
    return v == 0


@wrong("reassociates", of_one(lambda x: average(pad(x, "constant", AROUND, 0.0), window(3, 1, RING)), IMAGE))
def pad_into_average(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """AveragePool(Pad(x)) = AveragePool(x) with bigger pads, which count

    Wrong where the pool has pads of its own that do not count, and where pads are as large as the kernel.
    """
    whole = average(x, counting(with_pads(w, p)))
    yield rewrite(average(pad(x, "constant", p, v), w), whole, is_zero(v), because="one node")


@wrong(
    "reassociates",
    of_one(lambda x: average(pad(x, "constant", (0, 0, 2, 2, 0, 0, 2, 2), 0.0), window(2)), IMAGE),
)
def large_pad_into_average(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """AveragePool(Pad(x)) = AveragePool(x) with pads that count, for a pool that has none

    Wrong where the pads are as large as the kernel: onnxruntime refuses.
    """
    whole = average(x, counting(with_pads(w, p)))
    yield rewrite(average(pad(x, "constant", p, v), w), whole, is_zero(v), has_none(w), because="one node")


@hosted()
def has_none(w: PoolWindow) -> bool:
    return not any(w.pads) and not w.ceil_mode


@wrong(
    "finite",
    of_one(lambda x: maximum(pad(x, "constant", AROUND, 0.0), window(3)), IMAGE),
    values=(-1.0, -2.0),
)
def pad_into_maximum(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(x)) = MaxPool(x) with bigger pads, for pads of 0

    Wrong below zero.
    """
    left = maximum(pad(x, "constant", p, v), w)
    yield rewrite(left, maximum(x, with_pads(w, p)), is_zero(v), has_none(w), because="one node")


@wrong(
    "finite",
    of_one(lambda x: maximum(pad(relu(x), "constant", AROUND, 2.0), window(3)), IMAGE),
    values=(1.0, -2.0),
)
def pad_behind_relu(x: Tensor, p: Pads, v: Number, w: PoolWindow):
    """MaxPool(Pad(Relu(x))) = MaxPool(Relu(x)) with bigger pads

    Wrong for pads above zero.
    """
    left = maximum(pad(relu(x), "constant", p, v), w)
    yield rewrite(left, maximum(relu(x), with_pads(w, p)), has_none(w), because="one node")


@hosted()
def divides(w: PoolWindow, x: Fact) -> bool:
    dims = (x.shape or ())[2:]
    pairs = zip(dims, w.strides, strict=False)
    return bool(w.ceil_mode) and all(isinstance(d, int) and d % s == 0 for d, s in pairs)


@hosted()
def rounded_down(w: PoolWindow) -> PoolWindow:
    return replace(w, ceil_mode=0)


@wrong("finite", of_one(lambda x: maximum(x, window(3, 2, ceil=1)), IMAGE))
def ceiling_of_whole(k: String, x: Tensor, w: PoolWindow):
    """Pool(x; rounded up) = Pool(x; rounded down) where the strides divide the dims

    Wrong: they have to divide what the kernel leaves.
    """
    yield rewrite(pool(k, x, w), pool(k, x, rounded_down(w)), divides(w, x), because="no kernel rounds up")


@hosted()
def has_even_pads(w: PoolWindow) -> bool:
    axes = len(w.kernel)
    return bool(w.count_include_pad) and w.pads[:axes] == w.pads[axes:]


@hosted()
def not_counting(w: PoolWindow) -> PoolWindow:
    return replace(w, count_include_pad=0)


@wrong("reassociates", of_one(lambda x: average(x, window(3, 1, RING, include=1)), IMAGE))
def pads_that_count(x: Tensor, w: PoolWindow):
    """AveragePool(x; pads count) = AveragePool(x; they do not) for symmetric pads

    Wrong at the borders.
    """
    yield rewrite(average(x, w), average(x, not_counting(w)), has_even_pads(w), because="one kernel")


@wrong(
    "finite",
    of_one(lambda x: global_pool("GlobalMaxPool", pad(x, "constant", AROUND, 0.0)), IMAGE),
    values=(-1.0, -2.0),
)
def greatest_of_padded(x: Tensor, m: Mode, p: Pads, v: Number):
    """GlobalMaxPool(Pad(x)) = GlobalMaxPool(x)

    Wrong where the pads are greater than all of x.
    """
    pooled = global_pool("GlobalMaxPool", pad(x, m, p, v))
    yield rewrite(pooled, global_pool("GlobalMaxPool", x), because="forgets the pads")


@wrong("finite", of_two(lambda x, y: maximum(concat(listed(x, y), 2), window(2)), IMAGE))
def pool_of_joined(k: String, x: Tensor, y: Tensor, w: PoolWindow, a: Axis):
    """Pool(Concat_a(x, y)) = Concat_a(Pool(x), Pool(y))

    Wrong along rows and columns: windows go across.
    """
    apart = concat(listed(pool(k, x, w), pool(k, y, w)), a)
    yield rewrite(pool(k, concat(listed(x, y), a), w), apart, because="parts fit the cache")


@hosted()
def sum_of(p: Pads, q: Pads) -> Pads | None:
    return tuple(a + b for a, b in zip(p, q, strict=True)) if len(p) == len(q) else None


@wrong("bitwise", of_one(lambda x: pad(pad(x, "reflect", (0, 1, 0, 1), 0.0), "reflect", (0, 1, 0, 1), 0.0)))
def pads_in_a_row(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number):
    """Pad_q(Pad_p(x)) = Pad_(p + q)(x) in one mode

    Wrong of reflections: the second one reflects what the first has written.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, v), pad(x, m, sum_of(p, q), v), because="one node")


@wrong("bitwise", of_one(lambda x: pad(pad(x, "constant", (0, 1, 0, 1), 1.0), "constant", (0, 1, 0, 1), 0.0)))
def pads_of_two_values(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, z: Number):
    """Pad_q(Pad_p(x; v); w) = Pad_(p + q)(x; w)

    Wrong of two values, and of reflections.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, z), pad(x, m, sum_of(p, q), z), because="one node")


@wrong("bitwise", of_one(lambda x: pad(x, "reflect", (0, 1, 0, 1), 0.0)))
def reflection_of_one(x: Tensor, p: Pads, v: Number):
    """Pad(x; reflected) = Pad(x; the edge) for pads of 1

    Wrong: a reflection leaves the edge out.
    """
    edge = pad(x, "edge", p, v)
    yield rewrite(pad(x, "reflect", p, v), edge, is_at_most_one(p), because="edges have a kernel")


@hosted()
def is_at_most_one(p: Pads) -> bool:
    return max(p) <= 1


@wrong("reassociates", lambda g: pad(g.input((2, 5)) * g.constant(2.0), "constant", (0, 1, 0, 1), 3.0))
def scale_past_pad(x: Tensor, c: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x * c) = Pad(x) * c for a number c

    Wrong for pads other than 0.
    """
    yield rewrite(pad(x * c, m, p, v), pad(x, m, p, v) * c, is_number(c), because="scales meet")


@hosted()
def is_number(c: Fact) -> bool:
    return c.const and c.shape == ()


@wrong(
    "reassociates",
    of_two(lambda x, y: pad(x, "constant", (0, 1, 0, 1), 1.0) + pad(y, "constant", (0, 1, 0, 1), 1.0)),
)
def sum_of_padded(x: Tensor, y: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x) + Pad(y) = Pad(x + y)

    Wrong for pads other than 0, and where x and y are broadcast.
    """
    yield rewrite(pad(x, m, p, v) + pad(y, m, p, v), pad(x + y, m, p, v), because="one Pad")


@wrong(
    "finite",
    of_one(lambda x: reduce("ReduceMin", pad(x, "constant", (0, 1, 0, 1), 0.0), (1,), 1)),
    values=(1.0, 2.0),
)
def reduction_of_padded(k: String, x: Tensor, m: Mode, p: Pads, v: Number, a: Axes, d: Flag):
    """Reduce(Pad(x)) = Reduce(x) for pads of 0

    Wrong of Mean, Min, Max and Prod, and where other axes are padded.
    """
    yield rewrite(reduce(k, pad(x, m, p, v), a, d), reduce(k, x, a, d), is_zero(v), because="fewer elements")


@hosted()
def turned(w: PoolWindow) -> PoolWindow:
    return replace(w, kernel=w.kernel[::-1], strides=w.strides[::-1], dilations=w.dilations[::-1])


SWAP = (0, 1, 3, 2)


@wrong(
    "finite",
    of_one(lambda x: maximum(transpose(x, SWAP), PoolWindow((2, 2), (1, 1), (1, 0, 1, 0), (1, 1))), IMAGE),
)
def pool_of_turned(k: String, x: Tensor, w: PoolWindow):
    """Pool(Transpose(x)) = Transpose(Pool(x)) for height and width

    Wrong where the pads of both differ: they change places as well.
    """
    behind = transpose(pool(k, x, turned(w)), SWAP)
    yield rewrite(pool(k, transpose(x, SWAP), w), behind, because="transposes go down")


@hosted()
def rows_of(s: Slices) -> bool:
    return len(s) == 1 and s[0][0] == 2 and s[0][1] == 0 and s[0][3] == 1


@wrong("finite", of_one(lambda x: slice_(maximum(x, window(2)), ((2, 0, 3, 1),)), IMAGE))
def first_rows_of_pool(k: String, x: Tensor, w: PoolWindow, s: Slices):
    """The first rows of Pool(x) = Pool(the first rows of x)

    Wrong: the last window needs more rows.
    """
    yield rewrite(slice_(pool(k, x, w), s), pool(k, slice_(x, s), w), rows_of(s), because="fewer windows")
