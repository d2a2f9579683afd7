"""Convolutions side by side, and halves: right of equal parts, wrong of unequal ones that fit as well."""

from typing import Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Axis, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, concat, conv, conv_transpose, none, slice_

from . import fires_on, of_one, wrong


def groups(count: int, axes: int = 1, pad: int = 0) -> ConvWindow:
    return ConvWindow((1,) * axes, (pad,) * 2 * axes, (1,) * axes, count)


# --- groups of both ---------------------------------------------------------------------------------------


@hosted()
def groups_of_both(v: Fact, w: Fact, u: ConvWindow, t: ConvWindow) -> ConvWindow | None:
    """Both have as many channels in each group, and so has what is joined."""
    if v.shape is None or w.shape is None or v.shape[1:] != w.shape[1:] or not (v.is_static and w.is_static):
        return None
    if (u.strides, u.pads, u.dilations) != (t.strides, t.pads, t.dilations):
        return None
    count, rows = u.group + t.group, v.shape[0] + w.shape[0]  # type: ignore[operator]
    return ConvWindow(u.strides, u.pads, u.dilations, count) if rows % count == 0 else None


def two_convs(m: int, n: int, g1: int = 2, g2: int = 2):
    def make(g):
        one = conv(g.input((1, g1, 5)), g.random(m, 1, 3), none(), groups(g1))
        return concat(listed(one, conv(g.input((1, g2, 5)), g.random(n, 1, 3), none(), groups(g2))), 1)

    return make


@wrong(
    "reassociates",
    two_convs(2, 6),
    examples=fires_on(two_convs(2, 2), two_convs(4, 4), two_convs(2, 3, 2, 3)),
)
def groups_side_by_side(x: Tensor, y: Tensor, v: Tensor, w: Tensor, u: ConvWindow, t: ConvWindow):
    """Concat(Conv_g(x, v), Conv_h(y, w)) = Conv_{g+h}(Concat(x, y), Concat(v, w))

    Wrong where groups of one make more than those of the other.
    """
    yield rewrite(
        concat(listed(conv(x, v, none(), u), conv(y, w, none(), t)), 1),
        conv(concat(listed(x, y), 1), concat(listed(v, w), 0), none(), groups_of_both(v, w, u, t)),
        because="one convolution",
    )


def images(m: int, n: int, g1: int = 2, g2: int = 2, c: int = 1):
    def part(g: Any, count: int, rows: int):
        kernels = g.random(rows, c, 3, 3)
        return conv(g.input((1, c * count, 4, 4)), kernels, g.random(rows), groups(count, 2, 1))

    return lambda g: concat(listed(part(g, g1, m), part(g, g2, n)), 1)


@hosted()
def are_there(b: Fact, c: Fact) -> bool:
    return ABSENT not in (b, c)


@wrong(
    "reassociates", images(2, 6), examples=fires_on(images(2, 2), images(3, 2, 3, 2), images(4, 4, 2, 2, 2))
)
def images_side_by_side(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow, t: ConvWindow
):
    """Concat(Conv_g(x, v, b), Conv_h(y, w, c)) = Conv_{g+h} of both

    Wrong where groups of one make more than those of the other.
    """
    joined = concat(listed(x, y), 1), concat(listed(v, w), 0), concat(listed(b, c), 0)
    yield rewrite(
        concat(listed(conv(x, v, b, u), conv(y, w, c, t)), 1),
        conv(*joined, groups_of_both(v, w, u, t)),
        are_there(b, c),
        because="one convolution",
    )


# --- parts of groups --------------------------------------------------------------------------------------


@hosted()
def groups_of_part(x: Fact, y: Fact, w: Fact, u: ConvWindow, k: int) -> ConvWindow | None:
    """As many of the groups as of the channels; half of the rows have to be so many."""
    if not (x.is_static and y.is_static and w.is_static) or u.group % 2 or w.shape[0] % 2:  # type: ignore[index,operator]
        return None
    own, other = (x.shape[1], y.shape[1]) if k == 0 else (y.shape[1], x.shape[1])  # type: ignore[index]
    count, rest = divmod(own * u.group, own + other)  # type: ignore[operator]
    fits = count and not rest and w.shape[0] // 2 % count == 0  # type: ignore[index,operator]
    return ConvWindow(u.strides, u.pads, u.dilations, count) if fits else None


@hosted()
def half_of_rows(w: Fact, k: int) -> Slices | None:
    return ((0, k * w.shape[0] // 2, (k + 1) * w.shape[0] // 2, 1),) if w.is_static else None  # type: ignore[index,operator]


def conv_of_joined(a: int, b: int, rows: int, count: int):
    def make(g):
        joined = concat(listed(g.input((1, a, 5)), g.input((1, b, 5))), 1)
        return conv(joined, g.random(rows, (a + b) // count, 3), none(), groups(count))

    return make


@wrong(
    "reassociates",
    conv_of_joined(1, 3, 12, 4),
    examples=fires_on(conv_of_joined(2, 2, 4, 2), conv_of_joined(4, 4, 4, 2), conv_of_joined(2, 2, 8, 4)),
)
def groups_by_part(x: Tensor, y: Tensor, w: Tensor, u: ConvWindow):
    """Conv_g(Concat(x, y), W) = Concat(Conv(x, first half of W), Conv(y, second half))

    Wrong where parts are unequal and each has as many rows.
    """
    parts = [
        conv(part, slice_(w, half_of_rows(w, k)), none(), groups_of_part(x, y, w, u, k))
        for k, part in enumerate((x, y))
    ]
    yield rewrite(
        conv(concat(listed(x, y), 1), w, none(), u), concat(listed(*parts), 1), because="part by part"
    )


@hosted()
def half_of_groups(x: Fact, y: Fact, u: ConvWindow, k: int) -> ConvWindow | None:
    if not (x.is_static and y.is_static) or u.group % 2:
        return None
    own, whole = (x, y)[k].shape[1], x.shape[1] + y.shape[1]  # type: ignore[index,operator]
    half = u.group // 2
    fits = x.shape[1] * u.group % whole == 0 and own % half == 0  # type: ignore[index,operator]
    return ConvWindow(u.strides, u.pads, u.dilations, half, u.output_padding) if fits else None


@hosted()
def rows_of_part(x: Fact, y: Fact, k: int) -> Slices | None:
    if not (x.is_static and y.is_static):
        return None
    ends = (0, x.shape[1], x.shape[1] + y.shape[1])  # type: ignore[index,operator]
    return ((0, ends[k], ends[k + 1], 1),)  # type: ignore[return-value]


def transposed_of_joined(a: int, b: int, each: int, count: int):
    def make(g):
        joined = concat(listed(g.input((1, a, 5)), g.input((1, b, 5))), 1)
        return conv_transpose(joined, g.random(a + b, each, 3), none(), groups(count))

    return make


@wrong(
    "reassociates",
    transposed_of_joined(2, 6, 1, 4),
    examples=fires_on(
        transposed_of_joined(2, 2, 1, 2), transposed_of_joined(4, 4, 1, 4), transposed_of_joined(2, 2, 2, 4)
    ),
)
def transposed_by_part(x: Tensor, y: Tensor, w: Tensor, u: ConvWindow):
    """ConvTranspose_g(Concat(x, y), W) = Concat of both with half of the groups

    Wrong where parts are unequal.
    """
    parts = [
        conv_transpose(part, slice_(w, rows_of_part(x, y, k)), none(), half_of_groups(x, y, u, k))
        for k, part in enumerate((x, y))
    ]
    yield rewrite(
        conv_transpose(concat(listed(x, y), 1), w, none(), u),
        concat(listed(*parts), 1),
        because="part by part",
    )


# --- halves -----------------------------------------------------------------------------------------------


@hosted()
def from_the_middle(x: Fact, s: Slices, t: Slices, a: Axis) -> Slices | None:
    """The second half first: twice x from the middle on."""
    if not x.is_static or len(s) != 1 or len(t) != 1 or s[0][0] != a or t[0][0] != a:
        return None
    n: Any = x.shape[a]  # type: ignore[index]
    if s[0][1:] != (n // 2, n, 1) or t[0][1:] != (0, n - n // 2, 1):
        return None
    return ((a, n // 2, n + n // 2, 1),)


def exchanged(n: int):
    cuts = ((1, n // 2, n, 1),), ((1, 0, n - n // 2, 1),)
    return of_one(lambda x: concat(listed(*(slice_(x, cut) for cut in cuts)), 1), (2, n))


@wrong("bitwise", exchanged(5), examples=fires_on(exchanged(4), exchanged(6)))
def halves_exchanged(x: Tensor, s: Slices, t: Slices, a: Axis):
    """Concat(second half, first half) = Slice(Concat(x, x))

    Wrong of an odd number: the middle is there twice.
    """
    yield rewrite(
        concat(listed(slice_(x, s), slice_(x, t)), a),
        slice_(concat(listed(x, x), a), from_the_middle(x, s, t, a)),
        because="from the middle on",
    )


@hosted()
def rolls(x: Fact, s: Slices, t: Slices, a: Axis) -> Slices | None:
    """The first half, or what is left of it, goes behind."""
    if not x.is_static or len(s) != 1 or len(t) != 1 or s[0][0] != a or t[0][0] != a:
        return None
    n: Any = x.shape[a]  # type: ignore[index]
    half = n // 2
    is_rolled = s[0][1:] == (half, n, 1) and t[0][1:] in ((0, half, 1), (0, n - half, 1))
    return ((a, half, half + n, 1),) if n and is_rolled else None


@hosted()
def is_about_as_long(x: Fact, z: Fact, a: Axis) -> bool:
    return x.is_static and z.is_static and abs(x.shape[a] - z.shape[a]) < 2  # type: ignore[index,operator]


@wrong("bitwise", exchanged(3), examples=fires_on(exchanged(4), exchanged(6), exchanged(2)))
def rolled_halves(x: Tensor, s: Slices, t: Slices, a: Axis):
    """Concat(second half, first half) = Slice(Concat(x, x)), as long as x

    Wrong of an odd number: the middle is there twice.
    """
    z = concat(listed(slice_(x, s), slice_(x, t)), a)
    both = concat(listed(x, x), a)
    yield rewrite(z, slice_(both, rolls(x, s, t, a)), is_about_as_long(x, z, a), because="from the middle on")
