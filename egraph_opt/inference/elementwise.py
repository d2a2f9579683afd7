"""Element-wise operators: broadcast shapes, and the arithmetic of known elements and splats.

``out[i] = op(a[i], b[i], ...)``, the operands broadcast to one shape.  A splat of the result is computed in
the element type itself; operators whose rounding is not fixed by IEEE 754 (Exp, Tanh, Pow ...) give none.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import BOOL, FLOATS
from egraph_opt.facts.fact import SMALL, UNKNOWN, Dim, Element, Fact, Shape

from .call import Call, ContradictionError, formula
from .float_ranges import ANY, interval_of
from .numbers import Array, array, cast, comparison_of, divide, modulo, numpy_type, with_data

Scalar = Element | float
Operation = Callable[..., Scalar]
"""Of the type of the operands and the elements."""


def broadcast_dims(dims: Sequence[Dim]) -> Dim:
    """The dim that these broadcast to; None if that is not known; ContradictionError if they cannot."""
    wide = [d for d in dims if d != 1]
    if not wide:
        return 1
    numbers = {d for d in wide if isinstance(d, int)}
    if len(numbers) > 1:
        raise ContradictionError(f"dims {dims} do not broadcast")
    if numbers:
        return numbers.pop()
    # min(L, 512) broadcasts to L: above 512, the two would not broadcast at all.
    return next((w for w in wide if all(symbolic.is_limited(d, w, least=2) for d in wide)), None)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape that all of these broadcast to (numpy's rule)."""
    known = [s for s in shapes if s is not None]
    if len(known) < len(shapes) or not known:
        return None
    first = known[0]
    if all(s == first and None not in s for s in known):
        return first
    rank = max(len(s) for s in known)
    padded = [(1,) * (rank - len(s)) + s for s in known]
    return tuple(broadcast_dims(dims) for dims in zip(*padded, strict=True))


def zipped(operands: Sequence[Fact], operation: Callable[..., Scalar]) -> Array | None:
    """The elements of an element-wise result, where those of all operands are known."""
    columns = [array(fact) for fact in operands]
    known = [c for c in columns if c is not None]
    if len(known) < len(columns):
        return None
    # A result of many elements is not kept, so it is not computed.
    if math.prod(np.broadcast_shapes(*(c.shape for c in known))) > SMALL:
        return None
    with np.errstate(all="ignore"):
        result = np.frompyfunc(operation, len(known), 1)(*known)
    return np.asarray(result, dtype=np.object_)


def elementwise(call: Call, operation: Operation | None, dtype: int | None = None) -> list[Fact]:
    """The result of an element-wise operator; its type is that of the last operand unless given."""
    operands = call.present
    source = operands[-1].dtype if operands else 0
    fact = Fact(source if dtype is None else dtype, broadcast([f.shape for f in operands]))
    if operation is None or not source:
        return [fact]

    def apply(*items: Scalar) -> Scalar:
        return operation(source, *items)

    splats = [f.splat for f in operands]
    one = None if None in splats else apply(*splats)
    return [with_data(fact, zipped(operands, apply), one)]


def _float(dtype: int, function: Callable[..., np.generic], *items: Scalar) -> Scalar:
    """A numpy function in the element type; None unless the type is a float."""
    if dtype not in FLOATS or any(isinstance(item, str) for item in items):
        return None
    kind = numpy_type(dtype).type
    with np.errstate(all="ignore"):
        return float(function(*(kind(item) for item in items)))


def _arithmetic(on_integers: Callable[..., Element], on_floats: Callable[..., np.generic]) -> Operation:
    def operation(dtype: int, *items: Scalar) -> Scalar:
        if dtype in FLOATS:
            return _float(dtype, on_floats, *items)
        return None if None in items else on_integers(*items)

    return operation


def _abs(a: Element) -> Element:
    return symbolic.maximum(a, symbolic.negative(a))


def _sign(a: Element) -> Element:
    return (a > 0) - (a < 0) if isinstance(a, int) else None


def _fold(function: Operation) -> Operation:
    """An n-ary operation from a binary one, from the left."""

    def operation(dtype: int, first: Scalar, *others: Scalar) -> Scalar:
        for item in others:
            first = None if first is None else function(dtype, first, item)
        return first

    return operation


_ADD = _arithmetic(symbolic.add, np.add)
_SUB = _arithmetic(symbolic.sub, np.subtract)
_MUL = _arithmetic(symbolic.mul, np.multiply)
_DIV = _arithmetic(divide, np.divide)
_MAX = _arithmetic(symbolic.maximum, np.maximum)
_MIN = _arithmetic(symbolic.minimum, np.minimum)

SAME_TYPE: dict[str, Operation | None] = {
    "Add": _ADD,
    "Sub": _SUB,
    "Mul": _MUL,
    "Div": _DIV,
    "Sum": _fold(_ADD),
    "Max": _fold(_MAX),
    "Min": _fold(_MIN),
    "Neg": _arithmetic(symbolic.negative, np.negative),
    "Abs": _arithmetic(_abs, np.abs),
    "Sign": _arithmetic(_sign, np.sign),
    "Relu": _arithmetic(lambda a: symbolic.maximum(a, 0), lambda a: np.maximum(a, a.dtype.type(0))),
    "Floor": _arithmetic(lambda a: None, np.floor),
    "Ceil": _arithmetic(lambda a: None, np.ceil),
    "Round": _arithmetic(lambda a: None, np.rint),
    "Sqrt": _arithmetic(lambda a: None, np.sqrt),
    "Reciprocal": _arithmetic(lambda a: None, lambda a: a.dtype.type(1) / a),
    "Pow": None,
    "PRelu": None,
    "Mean": None,
    "BitShift": None,
    "BitwiseAnd": None,
    "BitwiseOr": None,
    "BitwiseXor": None,
}

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Equal": operator.eq,
    "Less": operator.lt,
    "Greater": operator.gt,
    "LessOrEqual": operator.le,
    "GreaterOrEqual": operator.ge,
}

LOGIC: dict[str, Callable[..., bool]] = {
    "And": lambda a, b: bool(a and b),
    "Or": lambda a, b: bool(a or b),
    "Xor": lambda a, b: bool(a) != bool(b),
    "Not": lambda a: not a,
}


@formula(*(op for op in SAME_TYPE if op not in ("Mul", "Pow", "PRelu")))
def _same_type(call: Call) -> list[Fact]:
    # Before opset 7 broadcasting was an attribute with an axis.
    return elementwise(call, SAME_TYPE[call.op_type]) if call.opset >= 7 else []


@formula("Mul")
def _mul(call: Call) -> list[Fact]:
    made = list(_same_type(call))
    if made and any(call.fact(k).splat == 0 and _is_positive(call.fact(1 - k)) for k in (0, 1)):
        return [with_data(made[0], splat=0.0)]
    return made


def _is_positive(x: Fact) -> bool:
    """All elements are finite and above 0, so that 0.0 times x is 0.0: not -0.0, and not NaN."""
    low, high, may_be_nan = interval_of(x) or ANY
    return low > 0 and high < math.inf and not may_be_nan


@formula("Pow")
def _pow(call: Call) -> list[Fact]:
    return elementwise(call, None, call.fact(0).dtype) if call.opset >= 7 else []


@formula("PRelu")
def _prelu(call: Call) -> list[Fact]:
    shape, slope = call.shape(0), call.shape(1)
    return [Fact(call.fact(0).dtype, broadcast([shape, slope]) if widens(slope, shape) else shape)]


def keeps(shape: Shape | None, target: Shape | None) -> bool:
    """Whether a tensor of `shape` is known to leave the shape of one alone that it is broadcast against."""
    if shape is None or not shape:
        return shape is not None
    if target is None or len(shape) > len(target):
        return False
    aligned = target[len(target) - len(shape) :]
    return all(a == 1 or symbolic.known_equal(a, b) for a, b in zip(shape, aligned, strict=True))


def widens(shape: Shape | None, target: Shape | None) -> bool:
    """Whether a tensor of `shape` is known to make one of `target` bigger that it is broadcast against."""
    if shape is None or target is None:
        return False
    if len(shape) > len(target):
        return True
    aligned = target[len(target) - len(shape) :]
    return any(b == 1 and isinstance(a, int) and a != 1 for a, b in zip(shape, aligned, strict=True))


@formula("Mod")
def _mod(call: Call) -> list[Fact]:
    c_like = call.integer("fmod", 0) == 1
    return elementwise(call, _arithmetic(lambda a, b: modulo(a, b, c_like), lambda a, b: a.dtype.type("nan")))


@formula(*COMPARISONS)
def _comparison(call: Call) -> list[Fact]:
    holds = COMPARISONS[call.op_type]

    def operation(dtype: int, a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, str) or isinstance(b, str):
            return comparison_of(a, b, holds)  # type: ignore[arg-type]
        return int(holds(a, b))

    return elementwise(call, operation, BOOL) if call.opset >= 7 else []


@formula(*LOGIC)
def _logic(call: Call) -> list[Fact]:
    holds = LOGIC[call.op_type]
    return elementwise(call, lambda dtype, *items: int(holds(*items)), BOOL) if call.opset >= 7 else []


@formula("Where")
def _where(call: Call) -> list[Fact]:
    condition, yes, no = call.fact(0), call.fact(1), call.fact(2)
    shape = broadcast([condition.shape, yes.shape, no.shape])
    items = zipped([condition, yes, no], lambda c, a, b: a if c else b)
    if condition.splat is not None:
        splat = (yes if condition.splat else no).splat
    else:
        splat = yes.splat if yes.splat == no.splat else None
    return [with_data(Fact(yes.dtype or no.dtype, shape), items, splat)]


@formula("Clip")
def _clip(call: Call) -> list[Fact]:
    fact = Fact(call.fact(0).dtype, call.shape(0))
    if call.opset < 11:
        low: Scalar = call.number("min", -np.inf)
        high: Scalar = call.number("max", np.inf)
    else:
        low = call.fact(1).splat if call.has(1) else -np.inf
        high = call.fact(2).splat if call.has(2) else np.inf
    if low is None or high is None or isinstance(low, str) or isinstance(high, str):
        return [fact]

    def operation(item: Scalar) -> Scalar:
        if item is None or isinstance(item, str):
            return None
        clipped = min(max(item, low), high)
        # A limit is rounded to the element type, which only a cast does.
        return item if clipped == item else cast(fact.dtype, fact.dtype, clipped)

    return [with_data(fact, zipped([call.fact(0)], operation), operation(call.fact(0).splat))]


@formula("Cast")
def _cast(call: Call) -> list[Fact]:
    return _cast_to(call, call.integer("to", 0))


@formula("CastLike")
def _cast_like(call: Call) -> list[Fact]:
    return _cast_to(call, call.fact(1).dtype)


def _cast_to(call: Call, target: int) -> list[Fact]:
    x = call.fact(0)

    def operation(item: Scalar) -> Scalar:
        return cast(x.dtype, target, item)

    return [with_data(Fact(target, x.shape), zipped([x], operation), operation(x.splat))]


# fmt: off
SHAPE_KEEPING = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Celu", "Cosh", "Elu",
    "Erf", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "LogSoftmax", "Hardmax",
    "Mish", "Selu", "Shrink", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Swish",
    "Tan", "Tanh", "ThresholdedRelu", "LRN", "LpNormalization", "MeanVarianceNormalization",
    "InstanceNormalization", "GroupNormalization", "RMSNormalization", "CumSum", "CumProd",
    "ReverseSequence", "ScatterElements", "Scatter", "ScatterND",
)
# fmt: on


@formula(*SHAPE_KEEPING)
def _shape_keeping(call: Call) -> list[Fact]:
    """The first output is typed as the first input."""
    return [Fact(call.fact(0).dtype, call.shape(0))]


NOT_ROUNDED = {"Exp": (0.0, 1.0), "Cos": (0.0, 1.0), "Log": (1.0, 0.0), "Sigmoid": (0.0, 0.5)}
"""A number of which the value of a function is no rounded one, and that value: kernels agree about it."""


@formula(*NOT_ROUNDED)
def _of_one_number(call: Call) -> list[Fact]:
    known, value = NOT_ROUNDED[call.op_type]
    return elementwise(call, lambda dtype, item: value if dtype in FLOATS and item == known else None)


@formula("IsNaN", "IsInf")
def _predicate(call: Call) -> list[Fact]:
    return [Fact(BOOL, call.shape(0))] if call.inputs else [UNKNOWN]
