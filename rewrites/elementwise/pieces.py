"""Which values are piecewise linear functions of a tensor, in any spelling; `piecewise` has the laws.

A function is what it is on each piece between its knots: slope * x + intercept.  It is continuous, and has
three pieces at most.  All numbers in it are one number for all of x.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Annotated, Any

from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import assign, auxiliary, eq, hosted, rule, table
from egraph_opt.laws.sorts import Settings, String, Tensor
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.elementwise.bounds import number_beside

Pieces = Annotated[tuple[Any, ...], attribute_sort("Pieces")]
"""How many operators it took, and (start, slope, intercept) of each piece, the first from -infinity on."""

Line = tuple[float, float]
Lines = tuple[tuple[float, float, float], ...]

LINE: Lines = ((-math.inf, 1.0, 0.0),)
MOST = 3

KINKED = ("Abs", "Clip", "HardSigmoid", "LeakyRelu", "Relu")
"""Functions that make pieces."""


@table(merge="first")
def pieces(y: Tensor, x: Tensor) -> Pieces:
    """The `Pieces` with which y is a function of x."""


# --- arithmetic -----------------------------------------------------------------------------------------


def close_to(a: float, b: float, size: float = 1.0) -> bool:
    """Equal but for roundings of float32."""
    return abs(a - b) <= 2.0**-21 * max(abs(a), abs(b), size)


def _within(start: float, end: float) -> float:
    """A number between two."""
    if math.isinf(start):
        return -1.0 if math.isinf(end) else end - 1.0
    return start + 1.0 if math.isinf(end) else (start + end) / 2


def _intervals(*functions: Lines) -> Iterator[tuple[float, float, list[Line]]]:
    """The intervals on which all functions are lines, and the lines."""
    knots = sorted({start for p in functions for start, *_ in p})
    for start, end in pairwise([*knots, math.inf]):
        at = [max(piece for piece in p if piece[0] <= start) for p in functions]
        yield start, end, [(slope, shift) for _, slope, shift in at]


def tidy(found: list[tuple[float, float, float]]) -> Lines | None:
    """Without knots at which nothing changes; None where there are too many, or a step."""
    kept = found[:1]
    for start, slope, shift in found[1:]:
        _, before, other = kept[-1]
        size = max(abs(slope * start), abs(before * start), 1.0)
        if not close_to(slope * start + shift, before * start + other, size):
            return None
        if not (close_to(slope, before) and close_to(shift, other)):
            kept.append((start, slope, shift))
    return tuple(kept) if len(kept) <= MOST and all(map(math.isfinite, _numbers(kept))) else None


def _numbers(found: list[tuple[float, float, float]]) -> list[float]:
    return [v for k, piece in enumerate(found) for v in piece[k == 0 :]]


def scaled(p: Lines, scale: float, shift: float) -> Lines | None:
    return tidy([(start, slope * scale, other * scale + shift) for start, slope, other in p])


def summed(p: Lines, q: Lines, sign: float) -> Lines | None:
    """None where large numbers cancel, and leave another number than 0."""
    found = []
    for start, end, ((slope, shift), (other, more)) in _intervals(p, q):
        along, level = slope + sign * other, shift + sign * more
        if slope and close_to(slope, -sign * other) and level and math.isinf(end - start):
            return None
        found.append((start, along, level))
    return tidy(found)


def extreme(p: Lines, q: Lines, choose: Callable[[Any, Any], Any]) -> Lines | None:
    """The greater or the less of two functions."""
    found = []
    for start, end, (one, other) in _intervals(p, q):
        apart = one[0] - other[0]
        crossing = (other[1] - one[1]) / apart if apart else math.inf
        cuts = [start, *([crossing] if start < crossing < end else []), end]
        for low, high in pairwise(cuts):
            x = _within(low, high)
            _, line = choose((one[0] * x + one[1], one), (other[0] * x + other[1], other))
            found.append((low, *line))
    return tidy(found)


def _constant(value: float) -> Lines:
    return ((-math.inf, 0.0, value),)


def _clipped(p: Lines | None, low: float | None, high: float | None) -> Lines | None:
    if p is not None and low is not None and low > -math.inf:
        p = extreme(p, _constant(low), max)
    if p is not None and high is not None and high < math.inf:
        p = extreme(p, _constant(high), min)
    return p


# --- what the host computes -----------------------------------------------------------------------------


def _made(found: Lines | None, *parts: Pieces) -> Pieces | None:
    """What one operator more makes of functions."""
    return None if found is None else (1 + sum(steps for steps, _ in parts), found)


@hosted()
def is_kinked(op: str) -> bool:
    """The function makes pieces."""
    return op in KINKED


@hosted()
def line_of(x: Fact) -> Pieces | None:
    """x as a function of itself; not of float64, in which more numbers differ than `close_to` tells apart."""
    return (0, LINE) if x.dtype in KERNEL_FLOATS and x.dtype != TensorProto.DOUBLE and not x.const else None


def _bent(op: str, settings: Settings, p: Lines) -> Lines | None:
    known = dict(settings)
    if op in ("Abs", "Neg"):
        turned = scaled(p, -1.0, 0.0)
        return turned if op == "Neg" or turned is None else extreme(p, turned, max)
    if op in ("Clip", "Relu"):
        return _clipped(p, 0.0 if op == "Relu" else known.get("min"), known.get("max"))
    if op == "HardSigmoid" and known.keys() >= {"alpha", "beta"}:
        return _clipped(scaled(p, known["alpha"], known["beta"]), 0.0, 1.0)
    if op == "LeakyRelu" and "alpha" in known:
        above, below = _clipped(p, 0.0, None), _clipped(p, None, 0.0)
        sloped = below and scaled(below, known["alpha"], 0.0)
        return summed(above, sloped, 1.0) if above and sloped else None
    return None


@hosted()
def pieces_of_function(op: str, settings: Settings, p: Pieces) -> Pieces | None:
    """A function of one operand."""
    return _made(_bent(op, settings, p[1]), p)


@hosted()
def pieces_beside_number(op: str, p: Pieces, x: Fact, c: Fact) -> Pieces | None:
    """op of a function and a number."""
    value = number_beside.function(x, c)
    if value is None or op not in ("Mul", "Add"):
        return None
    return _made(scaled(p[1], value, 0.0) if op == "Mul" else scaled(p[1], 1.0, value), p)


@hosted()
def pieces_behind_number(op: str, p: Pieces, x: Fact, c: Fact) -> Pieces | None:
    """A number less a function."""
    value = number_beside.function(x, c)
    return None if value is None or op != "Sub" else _made(scaled(p[1], -1.0, value), p)


@hosted()
def pieces_of_both(op: str, p: Pieces, q: Pieces) -> Pieces | None:
    """op of two functions."""
    if op in ("Add", "Sub"):
        return _made(summed(p[1], q[1], 1.0 if op == "Add" else -1.0), p, q)
    return _made(extreme(p[1], q[1], max if op == "Max" else min), p, q) if op in ("Max", "Min") else None


@hosted()
def number_as_pieces(x: Fact, c: Fact) -> Pieces | None:
    """A number as a function of x."""
    value = number_beside.function(x, c)
    return None if value is None else (0, _constant(value))


@hosted()
def chosen_pieces(op: str, x: Fact, c: Fact, p: Pieces, q: Pieces) -> Pieces | None:
    """p where x is in that order with a number, else q; what there is at the number itself is one value."""
    knot = number_beside.function(x, c)
    if knot is None or op not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    low, high = (q[1], p[1]) if op.startswith("Greater") else (p[1], q[1])
    found: list[tuple[float, float, float]] = []
    for start, end, lines in _intervals(low, high, ((-math.inf, 0.0, 0.0), (knot, 0.0, 0.0))):
        found.append((start, *lines[0 if end <= knot else 1]))
    return _made(tidy(found), p, q, (1, LINE))


# --- auxiliary relations --------------------------------------------------------------------------------


@auxiliary()
def lines(x: Tensor, c: Tensor, u: Tensor, v: Tensor, s: Settings, op: String):
    """Enters in `pieces` what functions with pieces are of."""
    own, bent = assign(pieces(x, x), line_of(x)), is_kinked(op)
    yield rule(unary(op, s, x), bent, then=own)
    yield rule(unary(op, s, -x), bent, then=own)
    yield rule(unary(op, s, x * c), bent, number_as_pieces(x, c), then=own)
    for known, operand in (((), x), ((), -x), ((number_as_pieces(x, c),), x * c)):
        for xs in (cons(operand, cons(u, nil())), cons(u, cons(operand, nil()))):
            yield rule(variadic(op, xs), *known, then=own)
    for order in (binary(op, x, c), binary(op, c, x)):
        yield rule(where(order, u, v), number_as_pieces(x, c), then=own)


@hosted()
def turned_order(op: str) -> str:
    """The comparison with its operands exchanged."""
    if op.startswith("Greater"):
        return op.replace("Greater", "Less")
    return op.replace("Less", "Greater")


@auxiliary(lines)
def functions_in_pieces(
    y: Tensor, x: Tensor, u: Tensor, v: Tensor, c: Tensor, p: Pieces, q: Pieces, s: Settings,
    op: String,
):  # fmt: skip
    """Fills `pieces`."""
    of_u, of_v, found = eq(p, pieces(u, x)), eq(q, pieces(v, x)), pieces(y, x)
    yield rule(of_u, eq(y, unary(op, s, u)), then=assign(found, pieces_of_function(op, s, p)))
    yield rule(of_u, eq(y, binary(op, u, c)), then=assign(found, pieces_beside_number(op, p, x, c)))
    yield rule(of_u, eq(y, binary(op, c, u)), then=assign(found, pieces_behind_number(op, p, x, c)))
    yield rule(of_u, of_v, eq(y, binary(op, u, v)), then=assign(found, pieces_of_both(op, p, q)))
    both = variadic(op, cons(u, cons(v, nil())))
    yield rule(of_u, of_v, eq(y, both), then=assign(found, pieces_of_both(op, p, q)))
    flat_u, flat_v = number_as_pieces(x, u), number_as_pieces(x, v)
    for order, asked in ((binary(op, x, c), op), (binary(op, c, x), turned_order(op))):
        choice = eq(y, where(order, u, v))
        yield rule(choice, of_u, of_v, then=assign(found, chosen_pieces(asked, x, c, p, q)))
        yield rule(choice, of_u, then=assign(found, chosen_pieces(asked, x, c, p, flat_v)))
        yield rule(choice, of_v, then=assign(found, chosen_pieces(asked, x, c, flat_u, q)))
