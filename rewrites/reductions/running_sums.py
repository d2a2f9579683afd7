"""Running sums with and without the element that they end at, from either end.

CumSum(x) - x = CumSum(x; exclusive)
ReduceSum(x) - CumSum(x) -> CumSum(x; exclusive, from the other end)

Frameworks whose running sums end at each element spell the others like this: what light is left behind each
sample of a ray, places of what an expert is given.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Int, Settings, Tensor
from egraph_opt.operators import cumsum, reduce
from egraph_opt.rewrites.conditions.operands import beside, either_side

law = laws_of("reduction", numerics="reassociates", kind="merge", serves="launches", source="ONNX, CumSum")


@hosted()
def without_the_last(s: Settings) -> Settings | None:
    """The settings of the sums that leave out the element that they end at; None of those that do."""
    given = dict(s)
    return None if given.get("exclusive") else _settings(1, given.get("reverse", 0))


@hosted()
def with_the_last(s: Settings) -> Settings | None:
    """The other way round."""
    given = dict(s)
    return _settings(0, given.get("reverse", 0)) if given.get("exclusive") else None


@hosted()
def of_the_rest(s: Settings) -> Settings | None:
    """The settings of the sums of what sums with the last element leave of the whole."""
    given = dict(s)
    return None if given.get("exclusive") else _settings(1, 1 - given.get("reverse", 0))


def _settings(exclusive: int, reverse: int) -> Settings:
    return (("exclusive", exclusive), ("reverse", reverse))


@hosted()
def is_along(c: Fact, axes: Axes, x: Fact) -> bool:
    """A constant that is the one axis along which floats are summed: large integers ReduceSum rounds."""
    if x.dtype not in ALL_FLOATS:
        return False
    known = isinstance(c.splat, int) and x.rank is not None and -x.rank <= c.splat < x.rank
    return known and axes == (c.splat % x.rank,)  # type: ignore[operator]


def _axis(g: Operands, axis: int) -> Any:
    return g.constant(np.array(axis))


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, axis = g.input(("N", 5, 3)), g.input(("N", 5, 3)), _axis(g, 1)
    for reverse in (0, 1):
        yield g.fires(cumsum(x, axis, _settings(0, reverse)) - x)
        yield g.fires(cumsum(x, axis, _settings(1, reverse)) + x)
    whole = g.input((4,), INT64)
    yield g.fires(cumsum(whole, _axis(g, -1), _settings(0, 0)) - whole)
    yield g.near_miss(cumsum(x, axis, _settings(1, 0)) - x, why="it leaves the last out already")
    yield g.near_miss(cumsum(x, axis, _settings(0, 0)) - y, why="of another tensor")


@law(examples=_sums, uses=(either_side,))
def running_sum_of_others(x: Tensor, c: Tensor, s: Settings, k: Int):
    """CumSum(x) - x = CumSum(x; exclusive)"""
    apart, one = cumsum(x, c, without_the_last(s)), "there is one operator"
    yield rewrite(cumsum(x, c, s) - x, apart, because=one)
    yield rewrite(beside("Add", cumsum(x, c, s), x, k), cumsum(x, c, with_the_last(s)), because=one)


def _rests(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, axis, n = g.input(("N", 5, 3)), g.input(("N", 5, 3)), _axis(g, -2), g.input((4,), INT64)
    for reverse in (0, 1):
        yield g.fires(reduce("ReduceSum", x, (1,), 1) - cumsum(x, axis, _settings(0, reverse)))
    yield from g.near_misses(
        (reduce("ReduceSum", x, (2,), 1) - cumsum(x, axis, _settings(0, 0)), "along another axis"),
        (reduce("ReduceSum", y, (1,), 1) - cumsum(x, axis, _settings(0, 0)), "of another tensor"),
        (reduce("ReduceSum", x, (1,), 1) - cumsum(x, axis, _settings(1, 0)), "it leaves the last out"),
        (reduce("ReduceMax", x, (1,), 1) - cumsum(x, axis, _settings(0, 0)), "it is no sum"),
        (reduce("ReduceSum", n, (0,), 1) - cumsum(n, _axis(g, 0), _settings(0, 0)), "sums are rounded"),
    )


@law(examples=_rests)
def running_sum_of_rest(x: Tensor, c: Tensor, s: Settings, a: Axes):
    """ReduceSum(x) - CumSum(x) = CumSum(x; exclusive, from the other end)"""
    rest = cumsum(x, c, of_the_rest(s))
    left = reduce("ReduceSum", x, a, 1) - cumsum(x, c, s)
    yield rewrite(left, rest, is_along(c, a, x), because="there is one operator")
