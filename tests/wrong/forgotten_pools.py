"""Our laws of pools and pads with a condition that was forgotten, or an index that is another."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Pads, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import SIZES
from egraph_opt.operators import PoolWindow, concat, global_pool, pad, pool, slice_, transpose

from . import fires_on, of_one, of_two, wrong

IMAGE = (1, 2, 6, 6)


def window(
    kernel: int, stride: int = 1, pads: tuple[int, ...] = (0, 0, 0, 0), ceil: int = 0, include: int = 0
):
    return PoolWindow((kernel,) * 2, (stride,) * 2, pads, (1, 1), ceil, include)


RING = (1, 1, 1, 1)


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


@wrong(
    "reassociates",
    of_one(lambda x: average(average(x, window(2)), window(2)), IMAGE),
    examples=fires_on(of_one(lambda x: maximum(maximum(x, window(2)), window(2)), IMAGE)),
)
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


@wrong("finite", of_two(lambda x, y: maximum(concat(listed(x, y), 2), window(2)), IMAGE))
def pool_of_joined(k: String, x: Tensor, y: Tensor, w: PoolWindow, a: Axis):
    """Pool(Concat_a(x, y)) = Concat_a(Pool(x), Pool(y))

    Wrong along rows and columns: windows go across.
    """
    apart = concat(listed(pool(k, x, w), pool(k, y, w)), a)
    yield rewrite(pool(k, concat(listed(x, y), a), w), apart, because="parts fit the cache")


@hosted()
def turned(w: PoolWindow) -> PoolWindow:
    return replace(w, kernel=w.kernel[::-1], strides=w.strides[::-1], dilations=w.dilations[::-1])


SWAP = (0, 1, 3, 2)


@wrong(
    "finite",
    of_one(lambda x: maximum(transpose(x, SWAP), PoolWindow((2, 2), (1, 1), (1, 0, 1, 0), (1, 1))), IMAGE),
    examples=fires_on(of_one(lambda x: maximum(transpose(x, SWAP), window(2, 1, RING)), IMAGE)),
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


@hosted()
def spares_what_is_cut(w: PoolWindow, spec: Slices) -> bool:
    """A window of 1 along each axis that is cut, which are no batch."""
    apart = zip(w.kernel, w.strides, w.pads, w.pads[len(w.kernel) :], strict=False)
    alone = [2 + k for k, numbers in enumerate(apart) if numbers == (1, 1, 0, 0)]
    return all(axis in (0, 1, *alone) for axis, *_ in spec)


ROW = PoolWindow((1, 3), (1, 1), (0,) * 4, (1, 1))


@wrong(
    "reassociates",
    of_one(lambda x: slice_(maximum(x, ROW), ((2, 2, 4, 1),)), (1, 4, "L", 6)),
    sizes=SIZES[2],
    examples=fires_on(of_one(lambda x: slice_(maximum(x, ROW), ((1, 1, 3, 1),)), (1, 4, 5, 6))),
)
def part_without_pixels(x: Tensor, w: PoolWindow, s: Slices):
    """Slice(MaxPool(x)) = MaxPool(Slice(x)) along axes of which the window has one element

    Wrong in onnxruntime, which pools no image without pixels: the part may be empty.
    """
    cut = slice_(maximum(x, w), s)
    yield rewrite(cut, maximum(slice_(x, s), w), spares_what_is_cut(w, s), because="fewer pixels are pooled")
