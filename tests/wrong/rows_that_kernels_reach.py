"""Rows that a kernel reads: further ones where it is dilated, pads, and some that steps leave out."""

from dataclasses import replace

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Slices, String, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, PoolWindow, conv, conv_transpose, none, pool, slice_

from . import fires_on, of_one, wrong
from .channels_in_groups import walk
from .parts_turned_round import backwards
from .slices_that_end_at_the_front import axis_of
from .sums_without_their_own_element import PLAIN, length_along


@hosted()
def rows_below(t: Slices, w: Fact, u: ConvWindow) -> Slices | None:
    """The rows of the image that are read for a range of rows."""
    if len(t) != 1 or t[0][0] < 2 or t[0][3] != 1 or t[0][2] is None or any(u.pads) or not w.is_static:
        return None
    axis, start, end, _ = t[0]
    if start < 0 or end <= start or w.shape is None:  # type: ignore[operator]
        return None
    s, k = u.strides[axis - 2], w.shape[axis]
    return ((axis, start * s, (end - 1) * s + k, 1),)  # type: ignore[operator]


def rows_of(start: int, end: int, u: ConvWindow, axis: int = 2):
    def make(g):
        return slice_(conv(g.input((1, 2, 9, 9)), g.random(3, 2, 2, 2), none(), u), ((axis, start, end, 1),))

    return make


@wrong(
    "reassociates",
    rows_of(1, 3, walk((2, 2), dilations=(2, 1))),
    examples=fires_on(rows_of(1, 4, walk()), rows_of(0, 3, walk((2, 2)), 3), rows_of(1, 3, walk((2, 1)))),
)
def rows_of_dilated_conv(x: Tensor, w: Tensor, u: ConvWindow, t: Slices):
    """Conv(x, W)[a:b] = Conv(x[a s:(b - 1) s + k], W) along rows, without pads

    Wrong of a dilated kernel, which reads further rows.
    """
    nothing = none()
    yield rewrite(
        slice_(conv(x, w, nothing, u), t),
        conv(slice_(x, rows_below(t, w, u)), w, nothing, u),
        because="fewer",
    )


@hosted()
def rows_within(t: Slices, w: Fact, u: ConvWindow) -> Slices | None:
    """The rows that are read for a range of rows of which none reads pads in front."""
    if len(t) != 1 or t[0][0] < 2 or t[0][3] != 1 or t[0][2] is None or not w.is_static or w.shape is None:
        return None
    axis, start, end, _ = t[0]
    k, s, p = axis - 2, u.strides[axis - 2], u.pads[axis - 2]
    first, last = start * s - p, (end - 1) * s - p + (w.shape[axis] - 1) * u.dilations[k] + 1  # type: ignore[operator]
    return ((axis, first, last, 1),) if 0 <= first < last and end > start else None  # type: ignore[operator]


@hosted()
def without_pads_along(t: Slices, u: ConvWindow) -> ConvWindow:
    n, k = len(u.strides), t[0][0] - 2
    return replace(u, pads=tuple(0 if j % n == k else p for j, p in enumerate(u.pads)))


def some_rows(start: int, end: int, s: int = 1, p=(1, 1, 1, 1), n: int = 8):
    def make(g):
        y = conv(g.input((1, 2, n, 5)), g.random(3, 2, 3, 3), none(), ConvWindow((s, 1), p, (1, 1)))
        return slice_(y, ((2, start, end, 1),))

    return make


@wrong(
    "reassociates",
    some_rows(4, 8),
    examples=fires_on(some_rows(1, 4), some_rows(2, 3, 2), some_rows(0, 2, 1, (0, 1, 1, 1))),
)
def rows_between_pads(x: Tensor, w: Tensor, u: ConvWindow, t: Slices):
    """Conv(x, W)[a:b] = Conv(x[rows that are read], W) without pads along rows

    Wrong where the last rows read pads behind the image.
    """
    nothing = none()
    some = conv(slice_(x, rows_within(t, w, u)), w, nothing, without_pads_along(t, u))
    yield rewrite(slice_(conv(x, w, nothing, u), t), some, because="fewer rows")


@hosted()
def along_rows(t: Slices, u: Slices, y: Fact, p: ConvWindow) -> bool:
    """Rows but the first and rows but the last, of an image without pads."""
    n = length_along(y, 2)
    return n > 1 and not any(p.pads) and t == ((2, 1, n, 1),) and u == ((2, 0, n - 1, 1),)


@hosted()
def but_one(x: Fact, start: int) -> Slices | None:
    n = length_along(x, 2)
    return ((2, start, n - 1 + start, 1),) if n > 1 else None


def gradient(n: int, s: int):
    def make(g):
        y = conv(g.input((1, 2, n, 3)), g.random(2, 2, 3, 2), none(), ConvWindow((s, 1), (0,) * 4, (1, 1)))
        m = (n - 3) // s + 1
        return slice_(y, ((2, 1, m, 1),)) - slice_(y, ((2, 0, m - 1, 1),))

    return make


@wrong("reassociates", gradient(7, 2), values=PLAIN, examples=fires_on(gradient(7, 1), gradient(4, 1)))
def gradient_of_conv(x: Tensor, w: Tensor, p: ConvWindow, t: Slices, u: Slices):
    """Conv(x, W)[1:] - Conv(x, W)[:-1] = Conv(x[1:] - x[:-1], W) of rows, without pads

    Wrong in longer steps.
    """
    y = conv(x, w, none(), p)
    inside = conv(slice_(x, but_one(x, 1)) - slice_(x, but_one(x, 0)), w, none(), p)
    yield rewrite(slice_(y, t) - slice_(y, u), inside, along_rows(t, u, y, p), because="one convolution")


@hosted()
def turns(t: Slices, x: Fact, a: Axis) -> bool:
    """All of an axis backwards."""
    n = length_along(x, a)
    return n > 0 and t == ((a, n - 1, None, -1),)


@hosted()
def turned(x: Fact, a: Axis) -> Slices | None:
    n = length_along(x, a)
    return ((a, n - 1, None, -1),) if n else None


@hosted()
def is_alike_from_both_sides(u: PoolWindow, a: Axis) -> bool:
    """As many pads in front and behind."""
    n = len(u.kernel)
    return a >= 2 and u.pads[a - 2] == u.pads[a - 2 + n] and not u.ceil_mode


def turned_pool(n: int, k: int, s: int, p: int = 0):
    u = PoolWindow((k, k), (s, s), (p, p, p, p), (1, 1))
    return of_one(lambda x: pool("MaxPool", backwards(x, n, 2), u), (1, 2, n, 6))


@wrong(
    "reassociates",
    turned_pool(6, 3, 2),
    examples=fires_on(
        turned_pool(5, 3, 2), turned_pool(6, 2, 2), turned_pool(6, 3, 1, 1), turned_pool(7, 3, 2, 1)
    ),
)
def pool_of_reversed(x: Tensor, t: Slices, u: PoolWindow, f: String):
    """MaxPool(x[::-1]) = MaxPool(x)[::-1] with as many pads on both sides

    Wrong where the steps leave rows behind the last window.
    """
    a = axis_of(t)
    y = pool(f, slice_(x, t), u)
    found = (turns(t, x, a), is_alike_from_both_sides(u, a))
    yield rewrite(y, slice_(pool(f, x, u), turned(y, a)), *found, because="later")


def window_of(strides=(1, 1), pads=(0, 0, 0, 0), group: int = 1, extra: tuple[int, ...] = ()) -> ConvWindow:
    return ConvWindow(strides, pads, (1,) * len(strides), group, extra)


@hosted()
def without_pads(u: ConvWindow) -> ConvWindow | None:
    return replace(u, pads=(0,) * len(u.pads), output_padding=()) if any(u.pads) else None


@hosted()
def within_pads(u: ConvWindow, y: Fact) -> Slices | None:
    """What is left of an image without its pads."""
    if y.shape is None or not y.is_static:
        return None
    return tuple((k + 2, p, p + y.shape[k + 2], 1) for k, p in enumerate(u.pads[: len(u.pads) // 2]))  # type: ignore[operator]


def enlarged(pads: tuple[int, ...], extra: tuple[int, ...] = (), s: int = 2):
    u = window_of((s, s), pads, extra=extra)
    return lambda g: conv_transpose(g.input((1, 2, 3, 3)), g.random(2, 3, 3, 3), none(), u)


@wrong(
    "reassociates",
    enlarged((1, 1, 0, 0), (1, 1)),
    examples=fires_on(enlarged((1, 1, 1, 1)), enlarged((1, 1, 1, 1), (1, 1)), enlarged((0, 1, 2, 0))),
)
def pads_as_crop(x: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose(x, W; pads) = Slice(ConvTranspose(x, W)) without its pads

    Wrong where more is added behind the image than was taken away.
    """
    y = conv_transpose(x, w, none(), u)
    yield rewrite(
        y, slice_(conv_transpose(x, w, none(), without_pads(u)), within_pads(u, y)), because="a slice"
    )
