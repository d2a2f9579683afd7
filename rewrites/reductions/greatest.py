"""The greatest elements along an axis, where they are known already, or where there is one.

GatherElements(x, TopK(x)[1]) -> TopK(x)[0]          what is at the places that TopK found
TopK(x; 1)[0] -> ReduceMax(x)                        ReduceMin of the least
TopK(x; 1)[1] -> ArgMax(x)                           ArgMin likewise: of equals, both take the first
ReduceMax(Conv(x, W, b)) -> ReduceMax(Conv(x, W)) + b      over pixels; ReduceMin likewise
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Dims, Flag, Int, Name, Settings, String, Tensor
from egraph_opt.operators import (
    ConvWindow,
    arg_reduce,
    conv,
    gather_elements,
    none,
    output,
    reduce,
    reshape,
    top,
)
from egraph_opt.rewrites.conditions.chains import is_weight
from egraph_opt.rewrites.conditions.channels import is_constant_bias
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.convolution.outputs import PLAIN

law = laws_of("reduction", numerics="finite", kind="replace", serves="arithmetic")

ORDERS: tuple[Settings, ...] = ((("largest", 1), ("sorted", 1)), (("largest", 0), ("sorted", 1)))


def _taken(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 6, 3)), g.input(("N", 6, 3))
    for order in ORDERS:
        places = output(top(x, 4, 1, order), 1)
        yield g.fires(gather_elements(x, places, 1))
        yield g.near_miss(gather_elements(y, places, 1), why="places of another tensor")
        whole = output(top(g.input((4, 4)), 4, 1, order), 1)
        yield g.near_miss(gather_elements(g.input((4, 4)), whole, 0), why="along another axis")
    yield g.near_miss(gather_elements(x, g.input(("N", 2, 3), INT64), 1), why="any places")


@law(
    numerics="bitwise",
    kind="eliminate",
    serves="traffic",
    source="torch.gather behind torch.topk, as detectors are exported",
    examples=_taken,
)
def elements_of_top(x: Tensor, n: Int, a: Axis, s: Settings):
    """GatherElements(x, TopK(x)[1]) = TopK(x)[0]"""
    found = top(x, n, a, s)
    yield rewrite(gather_elements(x, output(found, 1), a), output(found, 0), because="every x is gathered")


# --- the one --------------------------------------------------------------------------------------------


@hosted()
def lone_extreme(s: Settings) -> Name | None:
    """The reduction that takes what is first in the order."""
    return {1: "ReduceMax", 0: "ReduceMin"}.get(dict(s).get("largest", 1))


@hosted()
def lone_place(s: Settings) -> Name | None:
    return {1: "ArgMax", 0: "ArgMin"}.get(dict(s).get("largest", 1))


@hosted()
def alone(axis: Axis) -> Axes:
    return (axis,)


def _single(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 3))
    for order in ORDERS:
        yield from g.all_fire(output(top(x, 1, 1, order), 0), output(top(x, 1, 1, order), 1))
        yield g.near_miss(output(top(x, 2, 1, order), 0), why="there are two")


@law(source="torch.topk(x, 1), sampling and classifiers", examples=_single)
def top_of_one(x: Tensor, a: Axis, s: Settings):
    """TopK(x; 1)[0] = ReduceMax(x) and TopK(x; 1)[1] = ArgMax(x), likewise of the least"""
    found, floats, why = top(x, 1, a, s), is_kernel_float(x), "one of several lists of one"
    yield rewrite(output(found, 0), reduce(lone_extreme(s), x, alone(a), 1), floats, because=why)
    yield rewrite(output(found, 1), arg_reduce(lone_place(s), x, a, 1, 0), floats, because=why)


# --- past a bias ----------------------------------------------------------------------------------------


@hosted()
def bias_of_pixels(kind: str, axes: Axes, keepdims: Flag, b: Fact, y: Fact) -> Dims | None:
    """The dims of a bias beside what is left of an image, where only pixels are compared."""
    if kind not in ("ReduceMax", "ReduceMin") or 0 in axes or 1 in axes or y.rank is None or b.shape is None:
        return None
    left = y.rank - 2 if keepdims else y.rank - 2 - len(axes)
    return (*b.shape, *(1,) * left)


def _biased(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 5, 6)), g.random(6, 4, 3, 3), g.random(6)
    y = conv(x, w, b, PLAIN)
    yield from g.all_fire(
        reduce("ReduceMax", y, (2, 3), 0), reduce("ReduceMax", y, (2, 3), 1), reduce("ReduceMin", y, (3,), 0)
    )
    yield from g.near_misses(
        (reduce("ReduceMax", y, (1, 2, 3), 1), "channels are compared, too"),
        (reduce("ReduceSum", y, (2, 3), 1), "each pixel has the bias"),
        (reduce("ReduceMax", conv(x, w, g.input((6,)), PLAIN), (2, 3), 1), "the bias varies"),
    )


@law(numerics="reassociates", kind="move", source="PointNet, arXiv 1612.00593", examples=_biased)
def extreme_past_bias(kind: String, x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, a: Axes, k: Flag):
    """ReduceMax(Conv(x, W, b)) = ReduceMax(Conv(x, W)) + b over pixels, likewise ReduceMin"""
    y = conv(x, w, b, u)
    plain = reduce(kind, conv(x, w, none(), u), a, k)
    once = (guard(is_constant_bias(b, w)), guard(is_weight(w, x)), guard(varies(x)))
    moved = plain + reshape(b, bias_of_pixels(kind, a, k, b, y))
    yield rewrite(reduce(kind, y, a, k), moved, *once, because="the image has more to add to")
