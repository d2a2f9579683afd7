"""What operators make of the ranges of their operands: one rule for each, under ``@ranged``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import BOOL
from egraph_opt.facts.fact import Dim, Fact, Range

from . import intervals
from .call import Call, normal_axes, normal_axis
from .elementwise import COMPARISONS
from .float_ranges import ANY, interval_of
from .intervals import hull
from .ranges import LARGEST_DIM, range_of, ranged

# --- what rules ask ----------------------------------------------------------------------------------------


def _of(call: Call, k: int) -> Range | None:
    """The range of an operand; None for one that is absent or has no integers."""
    return range_of(call.fact(k), call.bounds) if call.has(k) else None


def _dim(call: Call, dim: Dim) -> Range:
    low, high = symbolic.bounds_of(dim, call.bounds)
    return max(low or 0, 0), LARGEST_DIM if high is None else min(high, LARGEST_DIM)


def _count(call: Call, dims: Sequence[Dim]) -> Range:
    return reduce(intervals.multiply, (_dim(call, d) for d in dims), (1, 1))


def _positions(count: Range) -> Range:
    """Indices of so many elements: that there is one to have an index means that there is an element."""
    return 0, max(count[1] - 1, 0)


def _is_empty(fact: Fact) -> bool:
    return fact.shape is not None and 0 in fact.shape


# --- element-wise -----------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[Range, Range], Range | None]] = {
    "Add": intervals.add,
    "Sub": intervals.subtract,
    "Mul": intervals.multiply,
    "Div": intervals.divide,
    "BitwiseAnd": intervals.bitwise_and,
    "Less": intervals.less,
    "LessOrEqual": intervals.less_or_equal,
    "Greater": lambda a, b: intervals.less(b, a),
    "GreaterOrEqual": lambda a, b: intervals.less_or_equal(b, a),
    "Equal": intervals.equal,
    "And": intervals.least,
    "Or": intervals.greatest,
    "Xor": intervals.exclusive_or,
}

UNARY: dict[str, Callable[[Range], Range]] = {
    "Neg": intervals.negate,
    "Abs": intervals.absolute,
    "Sign": intervals.sign,
    "Relu": lambda a: intervals.greatest(a, (0, 0)),
    "BitwiseNot": lambda a: (~a[1], ~a[0]),
    "Not": lambda a: (1 - a[1], 1 - a[0]),
}

VARIADIC: dict[str, Callable[[Range, Range], Range]] = {
    "Max": intervals.greatest,
    "Min": intervals.least,
    "Sum": intervals.add,
}


def _compared(call: Call, k: int) -> Any:
    """The range of an operand; floats that may be NaN have none."""
    floats = interval_of(call.fact(k))
    return _of(call, k) if floats is None else None if floats[2] else floats[:2]


@ranged(*BINARY)
def _binary(call: Call) -> list[Range | None]:
    is_comparison = call.op_type in COMPARISONS
    a, b = (_compared(call, k) if is_comparison else _of(call, k) for k in range(2))
    return [None if a is None or b is None else BINARY[call.op_type](a, b)]


@ranged(*UNARY)
def _unary(call: Call) -> list[Range | None]:
    a = _of(call, 0)
    return [None if a is None else UNARY[call.op_type](a)]


@ranged(*VARIADIC)
def _variadic(call: Call) -> list[Range | None]:
    known = [r for r in (range_of(fact, call.bounds) for fact in call.present) if r is not None]
    return [reduce(VARIADIC[call.op_type], known) if known and len(known) == len(call.present) else None]


@ranged("Mod")
def _mod(call: Call) -> list[Range | None]:
    a, b = _of(call, 0), _of(call, 1)
    if a is None or b is None:
        return [None]
    return [(intervals.c_modulo if call.integer("fmod", 0) else intervals.modulo)(a, b)]


@ranged("Clip")
def _clip(call: Call) -> list[Range | None]:
    x, low, high = (_of(call, k) for k in range(3))
    if x is not None and low is not None:
        x = intervals.greatest(x, low)
    return [intervals.least(x, high) if x is not None and high is not None else x]


@ranged("Cast", "CastLike")
def _cast(call: Call) -> list[Range | None]:
    """A number that the type does not have wraps around: then nothing is known, as `narrowed` sees to.

    Floats are cut off towards zero, a little less than 3 to 2; NaN and infinity become anything.
    """
    x, floats = _of(call, 0), interval_of(call.fact(0))
    target = call.integer("to", 0) if call.op_type == "Cast" else call.fact(1).dtype
    if floats is not None and target != BOOL:
        is_whole = not floats[2] and math.isfinite(floats[0]) and math.isfinite(floats[1])
        room = [end + side * abs(end) / 64 for end, side in ((floats[0], -1), (floats[1], 1))]
        return [(math.trunc(room[0]), math.trunc(room[1])) if is_whole else None]
    if x is None or target != BOOL:
        return [x]
    return [(0, 0) if x == (0, 0) else (1, 1) if x[0] > 0 or x[1] < 0 else None]


@ranged("IsNaN", "IsInf")
def _is_special(call: Call) -> list[Range | None]:
    low, high, nan = interval_of(call.fact(0)) or ANY
    possible = nan if call.op_type == "IsNaN" else math.isinf(low) or math.isinf(high)
    return [None if possible else (0, 0)]


@ranged("Where")
def _where(call: Call) -> list[Range | None]:
    condition = _of(call, 0)
    if condition is not None and condition[0] == condition[1]:
        return [_of(call, 1 if condition[0] else 2)]
    return [hull([_of(call, 1), _of(call, 2)])]


# --- elements of the first operand, elsewhere ---------------------------------------------------------------


@ranged(
    *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand"),
    *("Tile", "Gather", "GatherElements", "GatherND", "Compress", "ReverseSequence", "DepthToSpace"),
    "SpaceToDepth",
)
def _moved(call: Call) -> list[Range | None]:
    return [_of(call, 0)] * call.n_outputs


@ranged("Concat")
def _concat(call: Call) -> list[Range | None]:
    return [hull(range_of(fact, call.bounds) for fact in call.present if not _is_empty(fact))]


@ranged("Pad")
def _pad(call: Call) -> list[Range | None]:
    filler = _of(call, 2) if call.has(2) else (0, 0)
    is_constant = call.text("mode", "constant") == "constant"
    return [hull([_of(call, 0), filler]) if is_constant else _of(call, 0)]


@ranged("Trilu")
def _trilu(call: Call) -> list[Range | None]:
    return [hull([_of(call, 0), (0, 0)])]


@ranged("ScatterElements", "Scatter", "ScatterND")
def _scatter(call: Call) -> list[Range | None]:
    return [hull([_of(call, 0), _of(call, 2)]) if call.text("reduction", "none") == "none" else None]


@ranged("OneHot")
def _one_hot(call: Call) -> list[Range | None]:
    return [_of(call, 2)]


@ranged("EyeLike")
def _eye_like(call: Call) -> list[Range | None]:
    return [(0, 1)]


# --- positions and counts ---------------------------------------------------------------------------------


@ranged("Shape")
def _shape(call: Call) -> list[Range | None]:
    return [hull(_dim(call, d) for d in call.shape(0) or ()) or (0, LARGEST_DIM)]


@ranged("Size")
def _size(call: Call) -> list[Range | None]:
    shape = call.shape(0)
    low, high = (0, LARGEST_DIM) if shape is None else _count(call, shape)
    return [(min(low, LARGEST_DIM), min(high, LARGEST_DIM))]


@ranged("NonZero")
def _non_zero(call: Call) -> list[Range | None]:
    longest = hull(_dim(call, d) for d in call.shape(0) or ())
    return [_positions(longest or (0, LARGEST_DIM))]


def _along(call: Call, default: int) -> Range:
    """The length of the axis that the operator works along."""
    shape = call.shape(0)
    if not shape:
        return 0, LARGEST_DIM
    return _dim(call, shape[normal_axis(call.integer("axis", default), len(shape))])


@ranged("ArgMax", "ArgMin")
def _arg_max(call: Call) -> list[Range | None]:
    return [_positions(_along(call, 0))]


@ranged("TopK")
def _top_k(call: Call) -> list[Range | None]:
    return [_of(call, 0), _positions(_along(call, -1))]


@ranged("MaxPool")
def _max_pool(call: Call) -> list[Range | None]:
    """The second output counts through the whole input."""
    return [None, _positions(_count(call, call.shape(0) or (None,)))]


@ranged("NonMaxSuppression")
def _non_max_suppression(call: Call) -> list[Range | None]:
    """Indices of batches, classes and boxes."""
    dims = [*(call.shape(0) or (None,))[:2], *(call.shape(1) or (None,))]
    return [_positions(hull(_dim(call, d) for d in dims) or (0, LARGEST_DIM))]


@ranged("Range")
def _range(call: Call) -> list[Range | None]:
    start, limit, step = (_of(call, k) for k in range(3))
    if start is None or limit is None or step is None:
        return [None]
    upwards = (start[0], max(limit[1] - 1, start[0]))
    downwards = (min(limit[0] + 1, start[1]), start[1])
    if step[0] > 0:
        return [upwards]
    return [downwards if step[1] < 0 else hull([upwards, downwards])]


# --- reductions --------------------------------------------------------------------------------------------


def _reduced(call: Call) -> Sequence[Dim]:
    """The dims that a reduction goes over; an unknown one where that is not known."""
    shape, axes = call.shape(0), call.axes(1)
    if shape is None or (call.gives_axes(1) and axes is None):
        return (None,)
    if not axes:
        return () if call.integer("noop_with_empty_axes", 0) else shape
    return [shape[k] for k in normal_axes(axes, len(shape))]


def reduces_something(call: Call) -> bool:
    """Every element of a reduction is one of an element or more."""
    return _count(call, _reduced(call))[0] >= 1


@ranged("ReduceMax", "ReduceMin")
def _reduce_max(call: Call) -> list[Range | None]:
    """What is the greatest of nothing is another question."""
    return [_of(call, 0) if reduces_something(call) else None]


@ranged("ReduceSum")
def _reduce_sum(call: Call) -> list[Range | None]:
    x = _of(call, 0)
    return [None if x is None else intervals.multiply(x, _count(call, _reduced(call)))]


@ranged("MatMul")
def _product(call: Call) -> list[Range | None]:
    x, y, shape = _of(call, 0), _of(call, 1), call.shape(0)
    if x is None or y is None:
        return [None]
    return [intervals.multiply(intervals.multiply(x, y), _count(call, shape[-1:] if shape else (None,)))]


@ranged("CumSum")
def _cumulated(call: Call) -> list[Range | None]:
    x, axis, shape = _of(call, 0), call.fact(1).splat, call.shape(0)
    if x is None or not shape:
        return [None]
    longest = hull(_dim(call, d) for d in shape) or (0, LARGEST_DIM)
    if isinstance(axis, int) and -len(shape) <= axis < len(shape):
        longest = _dim(call, shape[axis])
    return [intervals.multiply(x, (0, longest[1]))]
