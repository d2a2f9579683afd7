"""What operators make of the intervals of their operands: one rule for each, under ``@bounded``.

Operands are nowhere taken for the same: x * x of an x around 0 may be negative here.  A difference has room
around its ends.  So nothing is concluded that another spelling of the same number, in which large numbers
cancel, does not keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Interval

from .call import Call
from .float_ranges import ANY, GREATEST, around, bounded, interval_of, numbers_of
from .range_rules import reduces_something

ROOM = 1 / 64
"""Part of an end that is left for the rounding of what is not rounded correctly, or of many sums."""


def _of(call: Call, k: int) -> Interval:
    return (interval_of(call.fact(k)) if call.has(k) else None) or ANY


def _finite(a: Interval) -> bool:
    return not math.isinf(a[0]) and not math.isinf(a[1])


def _roomy(low: float, high: float, nan: bool) -> Interval:
    return low - abs(low) * ROOM, high + abs(high) * ROOM, nan


# --- functions of one operand ------------------------------------------------------------------------------


def _exp(number: float) -> float:
    return math.inf if number > 700 else math.exp(number)


def _absolute(a: Interval) -> Interval:
    ends = sorted((abs(a[0]), abs(a[1])))
    return 0.0 if a[0] <= 0 <= a[1] else ends[0], ends[1], a[2]


def _root(a: Interval) -> Interval:
    return math.sqrt(max(a[0], 0.0)), math.sqrt(max(a[1], 0.0)), a[2] or a[0] < 0


def _sign(a: Interval) -> Interval:
    return float((a[0] > 0) - (a[0] < 0)), float((a[1] > 0) - (a[1] < 0)), a[2]


def _step(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    def at(end: float) -> float:
        return end if math.isinf(end) else float(function(end))

    return lambda a: (at(a[0]), at(a[1]), a[2])


def _within(low: float, high: float, *, of_infinity: bool = True) -> Callable[[Interval], Interval]:
    """A function between two numbers that it does not pass; NaN of infinity too, or not."""
    return lambda a: (low, high, a[2] or (not of_infinity and not _finite(a)))


UNARY: dict[str, Callable[[Interval], Interval]] = {
    "Abs": _absolute,
    "Atan": _within(-1.6, 1.6),
    "Ceil": _step(math.ceil),
    "Cos": _within(-1.0, 1.0, of_infinity=False),
    "Erf": _within(-1.0, 1.0),
    "Exp": lambda a: (min(_exp(a[0]), GREATEST) * (1 - ROOM), _exp(a[1]) * (1 + ROOM), a[2]),
    "Floor": _step(math.floor),
    "HardSigmoid": _within(0.0, 1.0),
    "Neg": lambda a: (-a[1], -a[0], a[2]),
    "Relu": lambda a: (max(a[0], 0.0), max(a[1], 0.0), a[2]),
    "Round": _step(round),
    "Sigmoid": _within(0.0, 1.0),
    "Sign": _sign,
    "Sin": _within(-1.0, 1.0, of_infinity=False),
    "Softplus": _within(0.0, math.inf),
    "Softsign": _within(-1.0, 1.0, of_infinity=False),
    "Sqrt": _root,
    "Tanh": _within(-1.0, 1.0),
}


@bounded(*UNARY)
def _unary(call: Call) -> list[Interval | None]:
    return [UNARY[call.op_type](_of(call, 0))]


@bounded("Elu")
def _elu(call: Call) -> list[Interval | None]:
    x, alpha = _of(call, 0), call.number("alpha", 1.0)
    return [(-alpha if x[0] < 0 else x[0], max(x[1], 0.0), x[2]) if alpha >= 0 else None]


@bounded("Softmax", "LogSoftmax")
def _softmax(call: Call) -> list[Interval | None]:
    """Of infinities they are NaN, and a logarithm of what is 0 is infinite."""
    nan = not _finite(_of(call, 0)) or _of(call, 0)[2]
    return [(0.0, 1.0, nan) if call.op_type == "Softmax" else (-math.inf, 0.0, nan)]


@bounded("Cast", "CastLike")
def _cast(call: Call) -> list[Interval | None]:
    """Integers beyond the float type become infinite, which `coarse` says of all that are large."""
    return [numbers_of(call.fact(0)) if call.fact(0).dtype else None]


@bounded("DequantizeLinear")
def _dequantize(call: Call) -> list[Interval | None]:
    """Differences of integers are exact."""
    q, scale = numbers_of(call.fact(0)), _of(call, 1)
    zero = numbers_of(call.fact(2)) if call.has(2) else (0.0, 0.0, False)
    if q is None or zero is None:
        return [None]
    return [_product((q[0] - zero[1], q[1] - zero[0], False), scale)]


# --- functions of several operands -------------------------------------------------------------------------


def _sum(a: Interval, b: Interval) -> Interval:
    """Of numbers of either sign it has room: another spelling may be rounded to the other side of an end."""
    low, high = a[0] + b[0], a[1] + b[1]
    opposite = (a[1] == math.inf and b[0] == -math.inf) or (a[0] == -math.inf and b[1] == math.inf)
    nan = a[2] or b[2] or opposite
    same_side = min(a[0], b[0]) >= 0 or max(a[1], b[1]) <= 0
    sizes = (abs(end) for end in (*a[:2], *b[:2]) if not math.isinf(end))
    room = 0.0 if same_side else ROOM * max(sizes, default=0.0)
    return (
        (-math.inf if math.isnan(low) else low - room),
        (math.inf if math.isnan(high) else high + room),
        nan,
    )


def _difference(a: Interval, b: Interval) -> Interval:
    return _sum(a, UNARY["Neg"](b))


def _times(x: float, y: float) -> float:
    """0 times infinity is NaN, and 0 times what is nearly infinite 0."""
    return 0.0 if x == 0 or y == 0 else x * y


def _product(a: Interval, b: Interval) -> Interval:
    ends = [_times(x, y) for x in a[:2] for y in b[:2]]
    undefined = any(u[0] <= 0 <= u[1] and not _finite(v) for u, v in ((a, b), (b, a)))
    return min(ends), max(ends), a[2] or b[2] or undefined


def _quotient(a: Interval, b: Interval) -> Interval:
    """Nothing is known where the divisor may be 0, whose sign may be either."""
    if b[0] <= 0 <= b[1]:
        return ANY
    ends = sorted((1 / b[0], 1 / b[1]))
    low, high, nan = _product(a, (ends[0], ends[1], b[2]))
    return _roomy(low, high, nan or not (_finite(a) or _finite(b)))


def _greatest(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1]), a[2] or b[2]


def _least(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1]), a[2] or b[2]


@bounded("Reciprocal")
def _reciprocal(call: Call) -> list[Interval | None]:
    return [_quotient((1.0, 1.0, False), _of(call, 0))]


SEVERAL: dict[str, Callable[[Interval, Interval], Interval]] = {
    "Add": _sum,
    "Sum": _sum,
    "Sub": _difference,
    "Mul": _product,
    "Div": _quotient,
    "Max": _greatest,
    "Min": _least,
}


@bounded(*SEVERAL)
def _several(call: Call) -> list[Interval | None]:
    return [reduce(SEVERAL[call.op_type], (interval_of(fact) or ANY for fact in call.present))]


@bounded("Clip")
def _clip(call: Call) -> list[Interval | None]:
    low, high = (
        _of(call, k) if call.has(k) else (call.number(name, end),) * 2
        for k, name, end in ((1, "min", -math.inf), (2, "max", math.inf))
    )
    a, b, nan = _of(call, 0)
    return [(min(max(a, low[0]), high[0]), min(max(b, low[1]), high[1]), nan)]


@bounded("Where")
def _where(call: Call) -> list[Interval | None]:
    return [around([_of(call, 1), _of(call, 2)])]


# --- elements of the operands, elsewhere -------------------------------------------------------------------


@bounded(
    *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand"),
    *("Tile", "Gather", "GatherElements", "GatherND", "DepthToSpace", "SpaceToDepth"),
)
def _moved(call: Call) -> list[Interval | None]:
    return [_of(call, 0)] * call.n_outputs


@bounded("Concat")
def _concat(call: Call) -> list[Interval | None]:
    return [around(interval_of(fact) for fact in call.present if 0 not in (fact.shape or ()))]


@bounded("Pad")
def _pad(call: Call) -> list[Interval | None]:
    filler = _of(call, 2) if call.has(2) else (call.number("value", 0.0),) * 2 + (False,)
    is_constant = call.text("mode", "constant") == "constant"
    return [around([_of(call, 0), filler]) if is_constant else _of(call, 0)]


# --- reductions --------------------------------------------------------------------------------------------


@bounded("ReduceMax", "ReduceMin")
def _extremum(call: Call) -> list[Interval | None]:
    """What is the greatest of nothing is another question."""
    return [_of(call, 0) if reduces_something(call) else None]


@bounded("ReduceMean", "GlobalAveragePool")
def _mean(call: Call) -> list[Interval | None]:
    """Of nothing it is NaN, and infinities of both signs have none."""
    low, high, _ = _of(call, 0)
    return [_roomy(low, high, True)]


@bounded("GlobalMaxPool")
def _greatest_of_all(call: Call) -> list[Interval | None]:
    x = _of(call, 0)
    return [x if not math.isinf(x[0]) and 0 not in (call.shape(0) or (0,)) else None]


@bounded("ReduceSum")
def _total(call: Call) -> list[Interval | None]:
    """Sums of numbers of one sign."""
    low, high, _ = _of(call, 0)
    return [(0.0 if low >= 0 else -math.inf, 0.0 if high <= 0 else math.inf, True)]


@bounded("ReduceL1", "ReduceL2")
def _norm(call: Call) -> list[Interval | None]:
    is_float = call.fact(0).dtype in FLOATS
    return [(0.0, math.inf, True) if is_float else None]
