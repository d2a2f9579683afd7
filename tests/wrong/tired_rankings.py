"""Running sums and the greatest elements: ends, orders and places that are taken for others."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Int, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import (
    Literal,
    arg_reduce,
    cumsum,
    expand,
    gather_elements,
    literal,
    output,
    reduce,
    top,
)

from . import fires_on, of_one, wrong

ORDER = (("largest", 1), ("sorted", 1))


def ordered(largest: int = 1, in_order: int = 1):
    return (("largest", largest), ("sorted", in_order))


# --- running sums ----------------------------------------------------------------------------------------


@hosted()
def from_the_end(a: Fact, s: Settings) -> Axes | None:
    """The axis of sums that begin at the end."""
    return a.ints if dict(s)["reverse"] and a.ints and a.ints[0] >= 0 else None


def sums(g, axis: int = 1, exclusive: int = 0, reverse: int = 0, shape=(2, 4)):
    along = g.constant(np.array(axis, np.int64))
    return cumsum(g.input(shape), along, (("exclusive", exclusive), ("reverse", reverse)))


@wrong(
    "reassociates",
    lambda g: sums(g, 1, 1, 1),
    examples=fires_on(lambda g: sums(g, 1, 0, 1), lambda g: sums(g, 0, 0, 1)),
)
def sums_from_the_end_by_total(x: Tensor, a: Tensor, s: Settings):
    """CumSum(x; from the end) = ReduceSum(x) - CumSum(x; without the elements themselves)

    Wrong of those without the elements themselves, of which the other ones have to be with them.
    """
    front = cumsum(x, a, (("exclusive", 1), ("reverse", 0)))
    yield rewrite(cumsum(x, a, s), reduce("ReduceSum", x, from_the_end(a, s), 1) - front, because="no turn")


@hosted()
def counted(x: Fact, s: Settings) -> Literal | None:
    """1, 2, 3 and on, or 0, 1, 2."""
    if x.splat != 1 or x.rank != 1 or not x.is_static or x.shape is None or x.dtype not in (T.FLOAT, T.INT64):
        return None
    n: Any = x.shape[0]
    first = 0 if dict(s)["exclusive"] else 1
    kind = float if x.dtype == T.FLOAT else int
    return Literal(x.dtype, (n,), tuple(kind(k + first) for k in range(n))) if n else None


def ones_summed(exclusive: int, reverse: int, n: int = 4):
    def make(g):
        ones = expand(g.constant(np.ones(1, np.float32)), (n,))
        return cumsum(
            ones, g.constant(np.array(0, np.int64)), (("exclusive", exclusive), ("reverse", reverse))
        )

    return make


@wrong(
    "finite", ones_summed(0, 1), examples=fires_on(ones_summed(0, 0), ones_summed(1, 0), ones_summed(0, 1, 1))
)
def positions_by_counting(x: Tensor, a: Tensor, s: Settings):
    """CumSum([1, 1, ..]) = [1, 2, ..], or [0, 1, ..] without the elements themselves

    Wrong from the end.
    """
    yield rewrite(cumsum(x, a, s), literal(counted(x, s)), because="known")


# --- rankings --------------------------------------------------------------------------------------------


@hosted()
def is_first_of_all(n: Int, s: Settings) -> bool:
    return n == 1 and dict(s)["sorted"] == 1


def top_one(k: int, largest: int, dtype: int = T.FLOAT):
    return of_one(lambda x: output(top(x, 1, 1, ordered(largest)), k), (2, 5), dtype)


@wrong("finite", top_one(1, 0), examples=fires_on(top_one(1, 1)))
def place_of_top_one(x: Tensor, a: Axis, n: Int, s: Settings):
    """The place of TopK(x; 1) = ArgMax(x)

    Wrong of the least element.
    """
    yield rewrite(
        output(top(x, n, a, s), 1),
        arg_reduce("ArgMax", x, a, 1, 0),
        is_first_of_all(n, s),
        because="one place",
    )


@hosted()
def takes_all(x: Fact, n: Int, a: Axis, s: Settings) -> bool:
    """All elements, in no order."""
    return x.shape is not None and x.shape[a] == n and dict(s)["sorted"] == 0


def all_on_top(n: int, largest: int = 1):
    return of_one(lambda x: output(top(x, n, 1, ordered(largest, 0)), 0), (2, n))


@wrong("bitwise", all_on_top(9), examples=fires_on(all_on_top(1), all_on_top(1, 0)))
def all_in_no_order(x: Tensor, a: Axis, n: Int, s: Settings):
    """TopK(x; n, not sorted) = x of n elements

    Wrong: they come in some order, which need not be the one they had.
    """
    yield rewrite(output(top(x, n, a, s), 0), x, takes_all(x, n, a, s), because="nothing is left out")


@hosted()
def reduces_ranked(a: Axis, b: Axes, n: Int) -> bool:
    return b == (a,) and n >= 1  # type: ignore[operator]


def max_of_top(largest: int, n: int = 3):
    return of_one(lambda x: reduce("ReduceMax", output(top(x, n, 1, ordered(largest)), 0), (1,), 1))


@wrong("finite", max_of_top(0), examples=fires_on(max_of_top(1), max_of_top(1, 1)))
def greatest_of_ranked(x: Tensor, a: Axis, n: Int, s: Settings, b: Axes):
    """ReduceMax(TopK(x)) = ReduceMax(x) along the same axis

    Wrong of the least elements.
    """
    yield rewrite(
        reduce("ReduceMax", output(top(x, n, a, s), 0), b, 1),
        reduce("ReduceMax", x, b, 1),
        reduces_ranked(a, b, n),
        because="no TopK",
    )


def at_top(a: int, b: int, n: int = 2):
    def make(g):
        x = g.input((3, 3))
        return gather_elements(x, output(top(x, n, a, ORDER), 1), b)

    return make


@hosted()
def is_matrix(x: Fact) -> bool:
    return x.rank == 2 and x.is_static


@wrong("bitwise", at_top(1, 0), examples=fires_on(at_top(1, 1), at_top(0, 0)))
def elements_at_top_places(x: Tensor, a: Axis, b: Axis, n: Int, s: Settings):
    """GatherElements(x, the places of TopK(x)) = TopK(x)

    Wrong where they are taken along the other axis.
    """
    made = top(x, n, a, s)
    yield rewrite(
        gather_elements(x, output(made, 1), b), output(made, 0), is_matrix(x), because="it is there"
    )


@hosted()
def other_way(s: Settings) -> Settings:
    how = dict(s)
    return tuple(sorted({**how, "largest": 1 - how["largest"]}.items()))


def top_of_negative(dtype: int):
    return of_one(lambda x: output(top(-x, 2, 1, ORDER), 1), (2, 5), dtype)


@wrong(
    "finite",
    top_of_negative(T.INT64),
    values=(-(2.0**63), 3.0, -5.0, 8.0, 0.0),
    examples=fires_on(top_of_negative(T.FLOAT)),
)
def places_of_negated(x: Tensor, a: Axis, n: Int, s: Settings):
    """The places of TopK(-x) = the places of TopK(x; the other way round)

    Wrong of the least integer, which is its own negation.
    """
    yield rewrite(output(top(-x, n, a, s), 1), output(top(x, n, a, other_way(s)), 1), because="no Neg")
