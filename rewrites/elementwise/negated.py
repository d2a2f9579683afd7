"""Negations sink behind what answers for them: -Floor(-x) -> Ceil(x).

Floor(-x) -> -Ceil(x)                    likewise Ceil and Round
ReduceMax(-x) -> -ReduceMin(x)           likewise ReduceMin
ArgMax(-x) -> ArgMin(x)                  likewise ArgMin
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Axis, Flag, Name, String, Tensor
from egraph_opt.operators import arg_reduce, reduce, unary
from egraph_opt.rewrites.conditions.values import is_float, is_kernel_float

law = laws_of("signs", numerics="finite", kind="move", serves="launches", source="TensorFlow, ceil_div")

FUNCTIONS = {"Floor": "Ceil", "Ceil": "Floor", "Round": "Round"}
EXTREMES = {"ReduceMax": "ReduceMin", "ReduceMin": "ReduceMax"}
PLACES = {"ArgMax": "ArgMin", "ArgMin": "ArgMax"}
"""What of a number is the negative of this of the negative one, and the place of that."""

SINK = "negations sink"


def _negative(x: Tensor) -> Tensor:
    return unary("Neg", (), x)  # type: ignore[no-any-return]


@hosted()
def opposite_function(op: str) -> Name | None:
    return FUNCTIONS.get(op)


@hosted()
def opposite_extreme(op: str) -> Name | None:
    return EXTREMES.get(op)


@hosted()
def opposite_place(op: str) -> Name | None:
    return PLACES.get(op)


def _functions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, whole = g.input(("N", 4)), g.input(("N", 4), TensorProto.INT64)
    for op in ("Floor", "Ceil", "Round"):
        yield g.fires(unary(op, (), _negative(x)))
    for kind in ("ReduceMax", "ReduceMin"):
        yield g.fires(reduce(kind, _negative(x), (1,), 1))
        yield g.near_miss(reduce(kind, _negative(whole), (1,), 1), why="the least integer has no negative")
    yield from g.near_misses(
        (unary("Sqrt", (), _negative(x)), "another function"),
        (reduce("ReduceSum", _negative(x), (1,), 1), "a sum"),
    )


@law(examples=_functions)
def of_negative(op: String, x: Tensor, a: Axes, k: Flag):
    """Floor(-x) = -Ceil(x), Round(-x) = -Round(x), ReduceMax(-x) = -ReduceMin(x), likewise the others"""
    known = (kernel(is_kernel_float(x)), guard(varies(x)))
    made = _negative(unary(opposite_function(op), (), x))
    yield rewrite(unary(op, (), _negative(x)), made, *known, because=SINK)
    least = reduce(opposite_extreme(op), x, a, k)
    yield rewrite(reduce(op, _negative(x), a, k), _negative(least), is_float(x), *known, because=SINK)


def _places(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, whole = g.input(("N", 4)), g.input(("N", 4), TensorProto.INT32)
    for last in (0, 1):
        yield g.fires(arg_reduce("ArgMax", _negative(x), 1, 0, last))
        yield g.fires(arg_reduce("ArgMin", _negative(x), 0, 1, last))
    yield g.near_miss(arg_reduce("ArgMax", _negative(whole), 1, 0, 0), why="the least has no negative")


@law(kind="eliminate", source="nearest neighbours by a negated distance", examples=_places)
def place_of_negative(op: String, x: Tensor, a: Axis, k: Flag, last: Flag):
    """ArgMax(-x) = ArgMin(x), and the other way round"""
    known = (is_float(x), kernel(is_kernel_float(x)))
    place = arg_reduce(op, _negative(x), a, k, last)
    yield rewrite(
        place, arg_reduce(opposite_place(op), x, a, k, last), *known, because="forgets the negation"
    )
