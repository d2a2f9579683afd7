"""Running sums from the end, or without the element itself, taken for the usual ones."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Number, Pads, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, cumsum, pad, reduce, slice_

from . import fires_on, wrong


@hosted()
def exclusive_ahead(s: Settings) -> Settings | None:
    """From the front, without the element itself, where it was from the end."""
    return (("exclusive", 1), ("reverse", 0)) if dict(s)["reverse"] else None


@hosted()
def reduced_axis(k: Fact) -> Axes | None:
    return (k.splat,) if isinstance(k.splat, int) and k.splat >= 0 else None


def summed_up(exclusive: int, reverse: int, axis: int = 1):
    return lambda g: cumsum(
        g.input((3, 4)), g.constant(np.array(axis)), (("exclusive", exclusive), ("reverse", reverse))
    )


@wrong("reassociates", summed_up(1, 1), examples=fires_on(summed_up(0, 1), summed_up(0, 1, 0)))
def sums_from_the_end(x: Tensor, k: Tensor, s: Settings):
    """CumSum(x; reverse) = ReduceSum(x) - CumSum(x; exclusive)

    Wrong where the sum from the end is exclusive, too.
    """
    ahead = cumsum(x, k, exclusive_ahead(s))
    yield rewrite(cumsum(x, k, s), reduce("ReduceSum", x, reduced_axis(k), 1) - ahead, because="forwards")


def length_along(x: Fact, axis: Any) -> int:
    """The dim, 0 where it is not known."""
    dim = (
        x.shape[axis] if x.shape is not None and isinstance(axis, int) and 0 <= axis < len(x.shape) else None
    )
    return dim if isinstance(dim, int) else 0


@hosted()
def end_apart(t: Slices, u: Slices, x: Fact, k: Fact, s: Settings, reverse: int) -> bool:
    """All but the first element and all but the last one, along the axis of sums in a direction."""
    n = length_along(x, k.splat)
    if n < 2 or x.dtype != T.FLOAT or dict(s)["reverse"] != reverse:
        return False
    return t == ((k.splat, 1, n, 1),) and u == ((k.splat, 0, n - 1, 1),)


def summed(x: Any, g: Any, exclusive: int, reverse: int) -> Any:
    return cumsum(x, g.constant(np.array(1)), (("exclusive", exclusive), ("reverse", reverse)))


def from_the_end(exclusive: int, n: int = 5):
    def make(g):
        y = summed(g.input((2, n)), g, exclusive, 1)
        return slice_(y, ((1, 0, n - 1, 1),)) - slice_(y, ((1, 1, n, 1),))

    return make


PLAIN = (0.5, -0.5, 1.0, -1.0, 2.0)


@hosted()
def exclusive(p: Pads, v: Number, t: Slices, x: Fact, k: Fact, s: Settings) -> Settings | None:
    """The sums that begin with a 0, which was put in front of all but the last one."""
    n, rank = length_along(x, k.splat), len(p) // 2
    in_front = tuple(int(j == k.splat) for j in range(2 * rank))
    if (
        n < 2
        or v != 0
        or p != in_front
        or t != ((k.splat, 0, n - 1, 1),)
        or x.dtype != T.FLOAT
        or dict(s)["reverse"]
    ):
        return None
    return (("exclusive", 1), ("reverse", 0))


@wrong("reassociates", from_the_end(1), values=PLAIN, examples=fires_on(from_the_end(0), from_the_end(0, 3)))
def differences_from_the_end(x: Tensor, k: Tensor, s: Settings, t: Slices, u: Slices):
    """CumSum(x; reverse)[:-1] - CumSum(x; reverse)[1:] = x[:-1]

    Wrong of sums without the element itself.
    """
    y = cumsum(x, k, s)
    yield rewrite(slice_(y, u) - slice_(y, t), slice_(x, u), end_apart(t, u, x, k, s, 1), because="no sums")


@hosted()
def is_first(t: Slices, k: Fact) -> bool:
    return t == ((k.splat, 0, 1, 1),)


def of_differences(exclusive: int, reverse: int = 0, n: int = 5):
    def make(g):
        x = g.input((2, n))
        rest = slice_(x, ((1, 1, n, 1),)) - slice_(x, ((1, 0, n - 1, 1),))
        return summed(concat(listed(slice_(x, ((1, 0, 1, 1),)), rest), 1), g, exclusive, reverse)

    return make


@wrong(
    "reassociates",
    of_differences(1),
    values=PLAIN,
    examples=fires_on(of_differences(0), of_differences(0, n=3)),
)
def sums_of_differences(x: Tensor, k: Tensor, s: Settings, t: Slices, u: Slices, v: Slices, a: Axis):
    """CumSum(Concat(x[:1], x[1:] - x[:-1])) = x

    Wrong of sums without the element itself.
    """
    rest = slice_(x, t) - slice_(x, u)
    found = (end_apart(t, u, x, k, s, 0), is_first(v, k))
    yield rewrite(cumsum(concat(listed(slice_(x, v), rest), a), k, s), x, *found, because="no sums")


def begun_with_zero(exclusive: int, n: int = 5):
    def make(g):
        y = summed(g.input((2, n)), g, exclusive, 0)
        return pad(slice_(y, ((1, 0, n - 1, 1),)), "constant", (0, 1, 0, 0), 0.0)

    return make


@wrong(
    "reassociates",
    begun_with_zero(1),
    values=PLAIN,
    examples=fires_on(begun_with_zero(0), begun_with_zero(0, 3)),
)
def sums_from_zero_on(x: Tensor, k: Tensor, s: Settings, t: Slices, p: Pads, v: Number):
    """Pad(CumSum(x)[:-1]; 0 in front) = CumSum(x; exclusive)

    Wrong where it is that already.
    """
    y = pad(slice_(cumsum(x, k, s), t), "constant", p, v)
    yield rewrite(y, cumsum(x, k, exclusive(p, v, t, x, k, s)), because="one operator")


@hosted()
def others_from_the_end(t: Slices, x: Fact, k: Fact, s: Settings) -> Settings | None:
    """Sums from the end without the element itself, where the last sum is taken of those from the front."""
    if not isinstance(k.splat, int) or x.dtype != T.FLOAT or dict(s)["reverse"]:
        return None
    n = length_along(x, k.splat)
    return (("exclusive", 1), ("reverse", 1)) if n and t == ((k.splat, n - 1, n, 1),) else None


def what_remains(exclusive: int, n: int = 4):
    def make(g):
        settings = (("exclusive", exclusive), ("reverse", 0))
        y = cumsum(g.input((2, n)), g.constant(np.array(1)), settings)
        return slice_(y, ((1, n - 1, n, 1),)) - y

    return make


@wrong("reassociates", what_remains(1), examples=fires_on(what_remains(0), what_remains(0, 7)))
def sums_that_remain(x: Tensor, k: Tensor, s: Settings, t: Slices):
    """CumSum(x)[-1:] - CumSum(x) = CumSum(x; exclusive, reverse)

    Wrong of sums without the element itself.
    """
    y = cumsum(x, k, s)
    yield rewrite(slice_(y, t) - y, cumsum(x, k, others_from_the_end(t, x, k, s)), because="from the end")


@hosted()
def are_neighbours(t: Slices, u: Slices, x: Fact, k: Fact, s: Settings) -> bool:
    """All but the first element and all but the last one, of sums along their axis."""
    if len(t) != 1 or x.dtype != T.FLOAT or not isinstance(k.splat, int) or dict(s)["reverse"]:
        return False
    n = length_along(x, k.splat)
    return n > 1 and t == ((k.splat, 1, n, 1),) and u == ((k.splat, 0, n - 1, 1),)


def differences(exclusive: int, n: int = 5, step: int = 1):
    def make(g):
        settings = (("exclusive", exclusive), ("reverse", 0))
        y = cumsum(g.input((2, n)), g.constant(np.array(1)), settings)
        return slice_(y, ((1, step, n, 1),)) - slice_(y, ((1, 0, n - step, 1),))

    return make


@wrong(
    "reassociates",
    differences(1),
    values=(0.5, -0.5, 1.0, -1.0, 2.0),
    examples=fires_on(differences(0), differences(0, 2)),
)
def differences_of_sums(x: Tensor, k: Tensor, s: Settings, t: Slices, u: Slices):
    """CumSum(x)[1:] - CumSum(x)[:-1] = x[1:]

    Wrong of sums without the element itself.
    """
    y = cumsum(x, k, s)
    yield rewrite(slice_(y, t) - slice_(y, u), slice_(x, t), are_neighbours(t, u, x, k, s), because="no sums")


@hosted()
def two_apart(t: Slices, u: Slices, x: Fact, k: Fact, s: Settings) -> bool:
    """All from the third on, and all but the last two, along the axis of sums from the front."""
    if (
        not isinstance(k.splat, int)
        or x.shape is None
        or not 0 <= k.splat < len(x.shape)
        or x.dtype != T.FLOAT
    ):
        return False
    n = x.shape[k.splat]
    if not isinstance(n, int) or n < 3 or dict(s)["reverse"]:
        return False
    return t == ((k.splat, 2, n, 1),) and u == ((k.splat, 0, n - 2, 1),)


@hosted()
def in_the_middle(t: Slices) -> Slices:
    axis, _, end, _ = t[0]
    return ((axis, 1, (end or 0) - 1, 1),)


@wrong(
    "reassociates",
    differences(1, step=2),
    values=(0.5, -0.5, 1.0, -1.0, 2.0),
    examples=fires_on(differences(0, step=2), differences(0, 4, 2)),
)
def sums_of_neighbours(x: Tensor, k: Tensor, s: Settings, t: Slices, u: Slices):
    """CumSum(x)[2:] - CumSum(x)[:-2] = x[2:] + x[1:-1]

    Wrong of sums without the element itself.
    """
    y = cumsum(x, k, s)
    both = slice_(x, t) + slice_(x, in_the_middle(t))
    yield rewrite(slice_(y, t) - slice_(y, u), both, two_apart(t, u, x, k, s), because="no sums")
