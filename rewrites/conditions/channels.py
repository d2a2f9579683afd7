"""Constants that hold one number, or one number per channel: what the linear laws ask of facts.

No laws here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.facts.numbers import as_float, is_finite
from egraph_opt.laws import Operands, assign, auxiliary, eq, guard, hosted, rule, table
from egraph_opt.laws.sorts import Axes, Dims, Float, Int, Name, String, Tensor
from egraph_opt.operators import ConvWindow, Literal, binary

LARGEST: dict[int, float] = {
    TensorProto.FLOAT: float(np.finfo(np.float32).max),
    TensorProto.DOUBLE: float(np.finfo(np.float64).max),
    TensorProto.FLOAT16: float(np.finfo(np.float16).max),
    TensorProto.BFLOAT16: 3.3895313892515355e38,
}
"""The largest number of a type."""

SMALLEST: dict[int, float] = {
    TensorProto.FLOAT: float(np.finfo(np.float32).tiny),
    TensorProto.DOUBLE: float(np.finfo(np.float64).tiny),
    TensorProto.FLOAT16: float(np.finfo(np.float16).tiny),
    TensorProto.BFLOAT16: float(np.finfo(np.float32).tiny),
}
"""The smallest positive normal number of a type."""


@hosted()
def is_scale(c: Fact) -> bool:
    """A factor that may go somewhere: a finite one, since infinity times a sum is not the sum of infinities.

    1 is left to the laws of identities: x = x * 1 would never end.
    """
    return is_finite_constant(c) and c.splat != 1


@hosted()
def is_shift(c: Fact) -> bool:
    """A summand that may go somewhere, so not 0, nor an infinity, which swallows all others."""
    return is_finite_constant(c) and c.splat != 0


def is_finite_constant(c: Fact) -> bool:
    """A floating-point constant of known static shape, of which no element is known to be infinite."""
    return is_float_constant(c) and all(map(is_finite, known_elements(c) or ()))


def static_shape(fact: Fact) -> tuple[int, ...] | None:
    """The dims where all of them are numbers."""
    return fact.shape if fact.is_static else None  # type: ignore[return-value]


def is_float_constant(fact: Fact) -> bool:
    """A floating-point constant of known static shape."""
    return fact.const and fact.is_static and fact.dtype in FLOATS


def known_elements(fact: Fact) -> tuple[float, ...] | None:
    """The elements of a small or uniform float constant, as far as they differ."""
    if fact.dtype not in FLOATS or not fact.const:
        return None
    if fact.splat is not None:
        return (as_float(fact.splat),)
    return None if fact.data is None else tuple(as_float(v) for v in fact.data)  # type: ignore[arg-type]


def elements_beside_zero(c: Fact) -> tuple[float, ...] | None:
    """The elements of a float constant, or between which numbers they lie if 0 and NaN are not among them."""
    if (known := known_elements(c)) is not None or c.interval is None or not c.const or c.dtype not in FLOATS:
        return known
    low, high, may_be_nan = c.interval
    return None if may_be_nan or low <= 0 <= high else (low, high)


def overflows_nowhere(op: str, a: Fact, b: Fact) -> bool:
    """a op b overflows nothing and vanishes nowhere, as far as the elements are known."""
    x, y = known_elements(a), known_elements(b)
    if not x or not y:
        return op != "Mul" or is_moderate(a.dtype, *(x or y or ()))
    largest = [max(map(abs, values)) for values in (x, y)]
    both = largest[0] * largest[1] if op == "Mul" else largest[0] + largest[1]
    if not (both <= LARGEST[a.dtype] and all(map(is_finite, (*x, *y)))):
        return False  # infinite ones too: x + inf + c would be a chain of any length
    if op != "Mul":
        return True
    least = [min((abs(v) for v in values if v), default=1.0) for values in (x, y)]
    return min(*least, least[0] * least[1]) >= SMALLEST[a.dtype]


def is_moderate(dtype: int, *numbers: float) -> bool:
    """Whether the squares of numbers are there, so that what they are multiplied with may be as large, and
    none is subnormal, of which products have few digits."""
    if dtype not in LARGEST:
        return True
    return all(n == 0 or SMALLEST[dtype] <= abs(n) <= LARGEST[dtype] ** 0.5 for n in numbers)


LARGEST_SHIFT = 1e9
"""Of numbers that are greater two may take each other away, and leave nothing of what is between them."""


def largest_of(*constants: Fact) -> float:
    """The sum of the largest sizes of some constants, as far as their elements are known."""
    return sum(max(map(abs, known_elements(c) or (0.0,))) for c in constants)


def product_fits(a: Fact, b: Fact, axes: Axes = (-1,), beside: tuple[Fact, ...] = ()) -> bool:
    """A sum of products of the elements of two tensors overflows nowhere, as far as these are known.

    Args:
        axes: those of `a` along which there is a sum.
        beside: what is added to it, as far as that is constant.
    """
    x, y = known_elements(a), known_elements(b)
    if not x or not y or a.shape is None or a.dtype not in LARGEST:
        return is_moderate(a.dtype, *(x or y or ()))
    summed = math.prod(d for axis in axes if a.shape and isinstance(d := a.shape[axis], int))
    whole = summed * max(map(abs, x)) * max(map(abs, y)) + largest_of(*beside)
    return whole <= LARGEST[a.dtype] and all(map(is_finite, (*x, *y)))


FEW_BITS = 64
"""How much smaller than normal a number may be that is written in a type, where it has some bits left."""


@hosted()
def in_type_of(x: Fact, number: Float) -> Float | None:
    """A number of an attribute, as ONNX keeps it, in float32, where the type of x has about the same one."""
    return number if number == 0 or _has_about(x.dtype, abs(number)) else None


def _has_about(dtype: int, size: float) -> bool:
    return dtype in LARGEST and SMALLEST[dtype] / FEW_BITS <= size <= LARGEST[dtype]


@hosted()
def is_moderate_factor(c: Fact) -> bool:
    """Elements of a constant are moderate, as far as they are known; what varies is."""
    return is_moderate(c.dtype, *(known_elements(c) or ()))


@hosted()
def in_range(c: Fact, number: Float) -> bool:
    """A number of the constant's type, times which the constant overflows nowhere, as far as its elements are
    known."""
    largest = max(map(abs, known_elements(c) or ()), default=1.0)
    return abs(number) * max(largest, 1.0) <= LARGEST.get(c.dtype, math.inf)


@hosted()
def axes_of_a_row(w: Fact) -> Axes | None:
    """The weight's axes but the first."""
    return tuple(range(1, len(w.shape or ())))


@hosted()
def may_sum(c: Fact, w: Fact, axes: Axes) -> bool:
    """A shift of which the sums of W * c along some axes of the weight W may be another shift."""
    return is_finite_constant(c) and product_fits(w, c, axes)


@hosted()
def may_sum_beside(c: Fact, w: Fact, axes: Axes, b: Fact) -> bool:
    """The same of a shift that is added to a bias b, present or not."""
    return is_finite_constant(c) and product_fits(w, c, axes, (b,))


@hosted()
def may_scale(c: Fact, w: Fact) -> bool:
    """A factor that may go into a weight, as far as the elements of both are known."""
    return is_scale(c) and overflows_nowhere("Mul", w, c)


def count_along(c: Fact, rank: int, axis: int, dim: int) -> int | None:
    """How many numbers a constant has along one axis of an operand: `dim` or 1.

    Args:
        c: the constant, which is broadcast against the operand.
        rank, axis, dim: the operand's rank, the axis, and the operand's size there.

    Returns:
        None where c varies along another axis, or makes the result bigger than the operand.
    """
    shape = static_shape(c)
    if shape is None or not is_float_constant(c) or len(shape) > rank or dim < 1:
        return None
    dims = (1,) * (rank - len(shape)) + shape
    if any(d != 1 for k, d in enumerate(dims) if k != axis) or dims[axis] not in (1, dim):
        return None
    return dims[axis]


def at_axis(count: int, rank: int, axis: int) -> Dims:
    """Full-rank dims that are 1 but for `count` at an axis."""
    return tuple(count if k == axis else 1 for k in range(rank))


@hosted()
def channel_dims(x: Fact, s: Fact) -> Dims | None:
    """The dims [1, C, 1, ...] of constants [C]."""
    if x.rank is None or x.rank < 2 or not s.is_static or s.rank != 1:
        return None
    return at_axis(s.shape[0], x.rank, 1)  # type: ignore[index,arg-type]


def splat(like: Fact, dims: tuple[int, ...], value: float) -> Literal:
    """A literal with one value in every element, of the dtype of another operand."""
    return Literal(like.dtype, dims, (value,))


@hosted()
def static_dims(w: Fact) -> Dims | None:
    return static_shape(w)


# --- chains ---------------------------------------------------------------------------------------------


@table(merge="max")
def chained(op: String, x: Tensor) -> Int:
    """1 where x, to which Mul or Add applies a constant, is itself that of something and one number; else 0.

    Two constants of a chain combine.  Only the combined one moves further, or every order of all would.
    """


@hosted()
def is_number(op: str, c: Fact) -> bool:
    """A constant of one element that is not neutral."""
    shape = static_shape(c)
    acts = is_scale(c) if op == "Mul" else is_shift(c)
    return shape is not None and acts and math.prod(shape) == 1


@hosted()
def chain_of(op: str) -> Name | None:
    """Mul for what scales, Add for what shifts."""
    return {"Mul": "Mul", "Div": "Mul", "Add": "Add", "Sub": "Add"}.get(op)


@auxiliary()
def chains(op: String, x: Tensor, y: Tensor, c: Tensor):
    """Fills `chained`."""
    applied, chain = eq(y, binary(op, x, c)), chain_of(op)
    yield rule(applied, then=assign(chained(op, x), 0))
    yield rule(applied, is_number(chain, c), then=assign(chained(chain, y), 1))


def unchained(op: Any, x: Tensor) -> Any:
    """The guard that `op` applies a constant to x, which is not `op` of something and one number itself."""
    return guard(eq(chained(op, x), 0))


# --- the channels that come out of a convolution, and its bias ------------------------------------------


def channels_out(w: Fact, window: ConvWindow, transposed: int) -> int | None:
    """How many channels come out of a Conv or, if `transposed`, a ConvTranspose with a constant weight."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or len(shape) < 3:
        return None
    return shape[1] * window.group if transposed else shape[0]


def count_out(w: Fact, c: Fact, window: ConvWindow, transposed: int) -> int | None:
    """How many numbers a constant behind a convolution has: one, or one per channel."""
    channels = channels_out(w, window, transposed)
    return None if channels is None else count_along(c, len(w.shape or ()), 1, channels)


def is_bias(b: Fact, w: Fact, window: ConvWindow, transposed: int) -> bool:
    """A constant bias: one that is written as a product or sum might broadcast."""
    return is_float_constant(b) and b.shape == (channels_out(w, window, transposed),)


@hosted()
def scale_of_bias(w: Fact, b: Fact, c: Fact, window: ConvWindow, transposed: int) -> Dims | None:
    """The dims in which a constant behind a convolution scales its constant bias."""
    known = may_scale(c, b) and is_bias(b, w, window, transposed)
    count = count_out(w, c, window, transposed) if known else None
    return None if count is None else (count,)


@hosted()
def shift_of_zeros(w: Fact, c: Fact, window: ConvWindow, transposed: int) -> Dims | None:
    """The dims in which a constant behind a convolution is added to the zeros of an absent bias."""
    count = count_out(w, c, window, transposed) if is_shift(c) else None
    return None if count is None else (count,)


@hosted()
def shift_of_bias(w: Fact, b: Fact, c: Fact, window: ConvWindow, transposed: int) -> Dims | None:
    """The dims in which a constant behind a convolution is added to its constant bias, and their sum is
    finite."""
    known = is_finite_constant(b) and is_bias(b, w, window, transposed)
    known = known and overflows_nowhere("Add", b, c)
    return shift_of_zeros.function(w, c, window, transposed) if known else None


@hosted()
def is_ungrouped(window: ConvWindow) -> bool:
    return window.group == 1


@hosted()
def is_present(b: Fact) -> bool:
    return b != ABSENT


@hosted()
def is_constant_bias(b: Fact, w: Fact) -> bool:
    """A bias of a Conv that is there, and constant."""
    return is_float_constant(b) and w.shape is not None and b.shape == w.shape[:1]


@hosted()
def is_no_computed_bias(b: Fact, w: Fact) -> bool:
    """A bias of a Conv that is constant, or not there."""
    return b == ABSENT or bool(is_constant_bias(b, w))


@hosted()
def has_number_for_each(b: Fact, w: Fact) -> bool:
    """A bias of a Conv with a number for each channel that the weight computes, or none at all."""
    return b == ABSENT or (b.shape is not None and w.shape is not None and b.shape == w.shape[:1])


@hosted()
def is_absent(b: Fact) -> bool:
    return b == ABSENT


@hosted()
def absent_bias(w: Fact, window: ConvWindow, transposed: int) -> Literal | None:
    """The zeros that an absent bias stands for."""
    channels = channels_out(w, window, transposed)
    return None if channels is None else splat(w, (channels,), 0.0)


# --- the channels that go in ----------------------------------------------------------------------------


def count_in(x: Fact, c: Fact, rank: int, channels: int) -> int | None:
    """How many numbers a constant in front of a convolution has; x must have all `channels` itself."""
    if x.shape is None or len(x.shape) != rank:
        return None
    count = count_along(c, rank, 1, channels)
    return count if count == 1 or x.shape[1] == channels else None


# --- examples -------------------------------------------------------------------------------------------


def per_channel(g: Operands, rank: int, channels: int) -> list[Any]:
    """Constants with one number or one per channel, in three of the shapes in which they come; not near 0."""

    def uniform(*shape: int) -> Any:
        return g.constant(g.rng.uniform(0.5, 2, shape).astype(np.float32))

    spatial = (1,) * (rank - 2)
    one = [uniform(), uniform(1), uniform(1, 1, *spatial)][rank % 3]
    return [uniform(channels, *spatial), one, uniform(1, channels, *spatial)]
