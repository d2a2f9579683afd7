"""Slice, Reshape and Expand whose bounds and dims are computed at run time."""

from typing import Any

from egraph_opt.laws import Tensor, rewrite
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.sorts import Axes, Dims, Flag, Permutation, Steps
from egraph_opt.operators import concat, expand_to, reshape, reshape_to, slice_at, transpose
from egraph_opt.operators.terms import listed

from . import wrong

ROWS, ONCE = (0,), (1,)


def bounds(g: Operands) -> tuple[Any, Any]:
    """Numbers that nobody knows."""
    return g.input((1,), INT64), g.input((1,), INT64)


def numbers(g: Operands, count: int) -> Any:
    return g.input((count,), INT64)


@wrong("bitwise", lambda g: slice_at(slice_at(g.input((8, 3)), *bounds(g), ROWS, ONCE),
                                     *bounds(g), ROWS, ONCE), values=(9, 2, 7, -3, -1))  # fmt: skip
def starts_add_up(x: Tensor, s: Tensor, e: Tensor, t: Tensor, f: Tensor, a: Axes, m: Steps):
    """Slice(Slice(x; s, e); t, f) = Slice(x; s + t, s + f) along one axis

    Wrong where bounds are counted from the end, lie beyond it, or steps are not 1.
    """
    twice = slice_at(slice_at(x, s, e, a, m), t, f, a, m)
    yield rewrite(twice, slice_at(x, s + t, s + f, a, m), because="forgets e")


@wrong("bitwise", lambda g: slice_at(slice_at(g.input((8, 3)), *bounds(g), ROWS, ONCE),
                                     *bounds(g), ROWS, ONCE), values=(9, 2, 7, 1, 3))  # fmt: skip
def one_slice_of_both(x: Tensor, s: Tensor, e: Tensor, a: Axes, m: Steps, t: Tensor, f: Tensor):
    """Slice(Slice(x; s, e); t, f) = Slice(x; t, f)

    Wrong: the second begins where the first did.
    """
    yield rewrite(slice_at(slice_at(x, s, e, a, m), t, f, a, m), slice_at(x, t, f, a, m), because="forgets s")


@wrong(
    "bitwise",
    lambda g: slice_at(g.input((8, 3)) + g.input((1, 3)), *bounds(g), ROWS, ONCE),
    values=(9, 4, 2, 7),
)
def terms_are_sliced(x: Tensor, y: Tensor, s: Tensor, e: Tensor, a: Axes, m: Steps):
    """Slice(x + y) = Slice(x) + Slice(y)

    Wrong where one of them is broadcast along that axis.
    """
    yield rewrite(
        slice_at(x + y, s, e, a, m), slice_at(x, s, e, a, m) + slice_at(y, s, e, a, m), because="two are more"
    )


@wrong(
    "bitwise",
    lambda g: slice_at(transpose(g.input((8, 3)), (1, 0)), *bounds(g), ROWS, ONCE),
    values=(9, 1, 3),
)
def sliced_before_transpose(x: Tensor, s: Tensor, e: Tensor, a: Axes, m: Steps, p: Permutation):
    """Slice_a(Transpose(x)) = Transpose(Slice_a(x))

    Wrong: the axis is another one of x.
    """
    yield rewrite(
        slice_at(transpose(x, p), s, e, a, m),
        transpose(slice_at(x, s, e, a, m), p),
        because="slices come first",
    )


@wrong("bitwise", lambda g: concat(listed(slice_at(g.input((8, 3)), *bounds(g), ROWS, ONCE),
                                          slice_at(g.input((8, 3)), *bounds(g), ROWS, ONCE)), 0),
       values=(9, 0, 3, 5, 6, 8))  # fmt: skip
def parts_are_the_whole(x: Tensor, y: Tensor, s: Tensor, e: Tensor, t: Tensor, f: Tensor, a: Axes, m: Steps):
    """Concat(Slice(x; s, e), Slice(y; t, f)) = Slice(Concat(x, y); s, f)

    Wrong: that has what follows e and what is in front of t as well.
    """
    two = concat(listed(slice_at(x, s, e, a, m), slice_at(y, t, f, a, m)), 0)
    yield rewrite(two, slice_at(concat(listed(x, y), 0), s, f, a, m), because="forgets e and t")


@wrong(
    "bitwise", lambda g: reshape_to(reshape(g.input((2, 6)), (3, 4)), numbers(g, 3), 0), values=(9, 0, 2, 2)
)
def first_view_does_not_matter(x: Tensor, d: Dims, t: Tensor, z: Flag):
    """Reshape(Reshape(x), t) = Reshape(x, t)

    Wrong where a 0 in t stands for a dim of what is reshaped.
    """
    yield rewrite(reshape_to(reshape(x, d), t, z), reshape_to(x, t, z), because="forgets d")


@wrong(
    "bitwise", lambda g: reshape_to(transpose(g.input((2, 6)), (1, 0)), numbers(g, 2), 0), values=(9, 3, 4)
)
def order_does_not_matter(x: Tensor, p: Permutation, t: Tensor, z: Flag):
    """Reshape(Transpose(x), t) = Reshape(x, t)

    Wrong: the elements are in another order.
    """
    yield rewrite(reshape_to(transpose(x, p), t, z), reshape_to(x, t, z), because="forgets p")


@wrong(
    "bitwise", lambda g: reshape_to(g.input((2, 6)) + g.input((6,)), numbers(g, 2), 0), values=(9, 5, 3, 4)
)
def terms_are_viewed(x: Tensor, y: Tensor, t: Tensor, z: Flag):
    """Reshape(x + y, t) = Reshape(x, t) + Reshape(y, t)

    Wrong where one of them is broadcast.
    """
    yield rewrite(reshape_to(x + y, t, z), reshape_to(x, t, z) + reshape_to(y, t, z), because="two are more")


@wrong("bitwise", lambda g: expand_to(g.input((1, 3)), numbers(g, 2)) + g.input((3,)), values=(9, 2, 3))
def sums_broadcast_anyway(x: Tensor, t: Tensor, y: Tensor):
    """Expand(x, t) + y = x + y

    Wrong where y is narrow as well.
    """
    yield rewrite(expand_to(x, t) + y, x + y, because="forgets t")


@wrong("bitwise", lambda g: expand_to(expand_to(g.input((1, 3)), numbers(g, 2)),
                                      numbers(g, 2)), values=(9, 4, 1, 3))  # fmt: skip
def last_expansion_wins(x: Tensor, s: Tensor, t: Tensor):
    """Expand(Expand(x, s), t) = Expand(x, t)

    Wrong where s is larger: an Expand makes nothing narrower.
    """
    yield rewrite(expand_to(expand_to(x, s), t), expand_to(x, t), because="forgets s")


@wrong("bitwise", lambda g: expand_to(g.input((3, 1)), g.input((1,), INT64)), values=(9, 2))
def expanded_is_viewed(x: Tensor, t: Tensor):
    """Expand(x, t) = Reshape(x, t)

    Wrong where something is repeated, or t has fewer dims.
    """
    zero: Flag = 0
    yield rewrite(expand_to(x, t), reshape_to(x, t, zero), because="a view is cheaper")
