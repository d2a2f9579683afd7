"""Indices from the end, or beyond it, taken for indices from the front."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Int, Place, Sizes, Steps, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    Literal,
    arg_reduce,
    binary,
    concat,
    gather,
    literal,
    one_hot,
    output,
    reduce,
    shape_of,
    slice_at,
    split,
    unary,
)

from . import fires_on, wrong


@hosted()
def within_part(n: Sizes, k: int, i: Fact, a: Axis, b: Axis) -> Literal | None:
    """Indices within a part, as those of the whole."""
    if a != b or i.ints is None or i.rank != 1 or k >= len(n) or not i.ints:
        return None
    start = sum(n[:k])
    return Literal(T.INT64, (len(i.ints),), tuple(start + j if j >= 0 else j for j in i.ints))


def of_part(k: int, *i: int, sizes: tuple[int, ...] = (2, 3, 4)):
    def make(g):
        part = output(split(g.input((2, sum(sizes))), 1, sizes), k)
        return gather(part, g.constant(np.array(i)), 1)

    return make


@wrong("bitwise", of_part(1, 0, -1), examples=fires_on(of_part(1, 0, 2), of_part(0, 1, 0), of_part(2, 3, -1)))
def indices_of_a_part(x: Tensor, a: Axis, b: Axis, n: Sizes, k: Int, i: Tensor):
    """Gather(Split(x)[k], i) = Gather(x, where the part begins + i)

    Wrong from the end, where other parts are behind it.
    """
    part = output(split(x, a, n), k)
    yield rewrite(gather(part, i, b), gather(x, literal(within_part(n, k, i, a, b)), b), because="no Split")


@hosted()
def lies_in_first(i: Fact, x: Fact, a: Axis) -> bool:
    """All indices are below the length of what comes first."""
    if i.range is None or x.shape is None or not isinstance(x.shape[a], int):
        return False
    return i.range[1] < x.shape[a]  # type: ignore[operator]


def in_joined(low: int, high: int):
    def make(g):
        i = unary("Clip", (("max", high), ("min", low)), g.input((4,), T.INT64))
        return gather(concat(listed(g.input((5, 2)), g.input((3, 2))), 0), i, 0)

    return make


@wrong("bitwise", in_joined(-2, 4), values=(-1, 2, 0, 4), examples=fires_on(in_joined(0, 4), in_joined(1, 2)))
def rows_of_first(x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """Gather(Concat(x, y), i) = Gather(x, i) where all indices are below the length of x

    Wrong of indices from the end.
    """
    yield rewrite(
        gather(concat(listed(x, y), a), i, a), gather(x, i, a), lies_in_first(i, x, a), because="any y"
    )


@hosted()
def dim_from(i: Fact, s: Place, e: Place, x: Fact) -> Place | None:
    """Which dim of x an index of some of them is."""
    if i.shape != (1,) or i.ints is None or x.rank is None or s is None or e is None:
        return None
    k = i.ints[0]
    at = s + k if k >= 0 else x.rank + k
    return at if s <= at < x.rank else None


@hosted()
def one_behind(k: Place) -> Place:
    return k + 1  # type: ignore[operator]


def dim_of(k: int, start: int, end: int):
    return lambda g: gather(shape_of(g.input(("N", 3, "L", 5)), start, end), g.constant(np.array([k])), 0)


@wrong(
    "bitwise",
    dim_of(-1, 0, 3),
    sizes={"N": 2, "L": 7, "M": 3},
    examples=fires_on(dim_of(0, 1, 3), dim_of(2, 0, 4), dim_of(-1, 1, 4)),
)
def one_of_dims(x: Tensor, i: Tensor, s: Place, e: Place):
    """Gather(Shape(x; s, e), i) = Shape(x; s + i, s + i + 1)

    Wrong from the end, where that is not the last dim of x.
    """
    k = dim_from(i, s, e, x)
    yield rewrite(gather(shape_of(x, s, e), i, 0), shape_of(x, k, one_behind(k)), because="one dim")


@hosted()
def has_all(i: Fact, x: Fact, a: Axis) -> bool:
    """As many indices as elements, none twice."""
    if i.ints is None or i.rank != 1 or x.shape is None or x.dtype != T.FLOAT:
        return False
    return len({*i.ints}) == len(i.ints) == x.shape[a]


@hosted()
def are_along(a: Axis, b: Axes) -> bool:
    return a in b


def sum_of_all(*i: int):
    def make(g):
        return reduce("ReduceMax", gather(g.input((2, len(i))), g.constant(np.array(i)), 1), (1,), 1)

    return make


@wrong(
    "finite",
    sum_of_all(0, 1, 2, -4),
    examples=fires_on(sum_of_all(2, 0, 1), sum_of_all(-1, -2, -3), sum_of_all(1, 0, 2, -1)),
)
def greatest_of_all(x: Tensor, i: Tensor, a: Axis, b: Axes):
    """ReduceMax(Gather(x, i)) = ReduceMax(x) where i has all indices

    Wrong where one is taken from the front and from the end.
    """
    yield rewrite(
        reduce("ReduceMax", gather(x, i, a), b, 1),
        reduce("ReduceMax", x, b, 1),
        has_all(i, x, a),
        are_along(a, b),
        because="in any order",
    )


@hosted()
def is_in_range(s: Fact, x: Fact, a: Axes) -> bool:
    """One index along one axis, which is in range."""
    if s.shape != (1,) or x.shape is None or len(a) != 1 or s.dtype != T.INT64:
        return False
    n, between = x.shape[a[0]], s.range
    return isinstance(n, int) and between is not None and -n <= between[0] <= between[1] < n


@hosted()
def only(a: Axes) -> Axis | None:
    return a[0] if len(a) == 1 else None


def one_at(low: int, high: int, n: int = 5):
    def make(g):
        bounds = (("max", high), ("min", low))
        i = unary("Clip", bounds, g.input((1,), T.INT64))
        return slice_at(g.input((2, n)), i, i + g.constant(np.array([1])), (1,), (1,))

    return make


@hosted()
def is_one(c: Fact) -> bool:
    return c.splat == 1 and c.shape == (1,)


@wrong(
    "bitwise", one_at(-3, 2), values=(-1, 0, 2), examples=fires_on(one_at(0, 4), one_at(1, 3), one_at(-5, -2))
)
def slice_of_one(x: Tensor, s: Tensor, c: Tensor, a: Axes, k: Steps):
    """x[i:i + 1] = Gather(x, i) for an i in range

    Wrong for -1: nothing is between the last element and the first.
    """
    yield rewrite(
        slice_at(x, s, s + c, a, k),
        gather(x, s, only(a)),
        is_in_range(s, x, a),
        is_one(c),
        because="one element",
    )


@hosted()
def is_one_hot(i: Fact, v: Fact) -> bool:
    """Indices from the front, and a 1 among zeros."""
    return (
        i.dtype == T.INT64
        and i.range is not None
        and i.range[0] >= 0
        and v.data is not None
        and tuple(v.data) == (0, 1)
    )


def place_of_one(n: int, depth: int, values: tuple[float, float] = (0.0, 1.0)):
    def make(g):
        i = binary("Mod", g.input((6,), T.INT64), g.constant(np.array(n)))
        return arg_reduce(
            "ArgMax", one_hot(i, g.constant(np.array(depth)), g.constant(np.array(values)), 1), 1, 0, 0
        )

    return make


@wrong("bitwise", place_of_one(7, 5), examples=fires_on(place_of_one(5, 5), place_of_one(3, 8)))
def greatest_of_one_hot(i: Tensor, d: Tensor, v: Tensor, a: Axis):
    """ArgMax(OneHot(i)) = i for indices from the front

    Wrong where an index is as large as the depth, or larger.
    """
    yield rewrite(
        arg_reduce("ArgMax", one_hot(i, d, v, a), a, 0, 0), i, is_one_hot(i, v), because="any depth"
    )
