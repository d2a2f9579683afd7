"""What is known of a value: its type, and what its elements are where that is known.

A :class:`Fact` is the data of the e-class analysis.  Facts form a lattice: :func:`meet` joins what two
sources know of one value, and answers :data:`CLASH` where they contradict each other, which means that
something unsound was claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

Dim = int | str | None
"""A dimension: a number, the canonical text of a symbolic expression (see `symbolic`), or unknown."""

Shape = tuple[Dim, ...]
Element = int | str | None

Range = tuple[int, int]
"""Least and greatest of some integers, both included."""

NO_NUMBER: Range = (1, 0)
"""The range of a value that two sources put into ranges apart: it has no elements, or one of them is wrong.
Nothing is concluded from it."""

Interval = tuple[float, float, bool]
"""Least and greatest of some floats, both included, possibly infinite; whether there may be NaN too."""

NO_FLOAT: Interval = (math.inf, -math.inf, True)
"""The interval of a value that two sources put into intervals apart, which rounding may do: nothing is
concluded from it."""

LARGEST = 2**63 - 1
"""A dim, and the elements of a tensor: more cannot be counted."""

MOST_DIMS = 64
"""NumPy has no arrays of more."""

SMALL = 256
"""Integer tensors of at most this many elements have their elements tracked in ``Fact.value``."""


@dataclass(frozen=True)
class Fact:
    """What is known of one value.

    Attributes:
        dtype: ``onnx.TensorProto.DataType``; 0 if unknown or if the value is no tensor; -1 in ``CLASH``.
        shape: dimensions, or None if even the rank is unknown.
        const: the value depends on constants only.
        value: the elements of an integer (or boolean, as 0 and 1) tensor of rank 0 or 1, where all of them
            are known as numbers or symbolic expressions.
        splat: the one value that every element has, where there is one (never NaN or -0.0, which compare
            badly).
        data: the elements of a small tensor of any rank and number type, row by row, where all are known:
            a float one (scales of Resize, say) as floats, else as ``value``, which it repeats.
        range: between which numbers the elements of an integer (or boolean) tensor lie, where that is less
            than its type has and where neither ``splat`` nor numbers in ``data`` say it already.
        interval: likewise of a float tensor, where that is less than any float, up to the rounding of the
            operators that make it.
        units: of a constant whose rows along the first axis have a single 1.0 each and else zeros, as the
            identity has: by row, where in it.
        twice: of a constant that has each number of a row along the last axis twice: in its "halves", or as
            "neighbours".
    """

    dtype: int = 0
    shape: Shape | None = None
    const: bool = False
    value: tuple[int | str, ...] | None = None
    splat: float | int | None = None
    data: tuple[int | float | str, ...] | None = None
    range: Range | None = None
    interval: Interval | None = None
    units: tuple[int, ...] | None = None
    twice: str | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """All dims are numbers."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    @property
    def is_symbolic(self) -> bool:
        """All dims are known, as numbers or as expressions."""
        return self.shape is not None and None not in self.shape

    @property
    def ints(self) -> tuple[int, ...] | None:
        """The elements where all of them are numbers."""
        if self.value is None or not all(isinstance(v, int) for v in self.value):
            return None
        return self.value  # type: ignore[return-value]

    @property
    def has_numbers(self) -> bool:
        """The elements, if there are any, are known as numbers."""
        if self.splat is not None or (self.shape is not None and 0 in self.shape):
            return True
        items = self.data if self.data is not None else self.value
        return items is not None and not any(isinstance(item, str) for item in items)

    def settled(self) -> Fact:
        """The fact without a range or an interval where numbers say it."""
        if (self.range is None and self.interval is None) or not self.has_numbers:
            return self
        return replace(self, range=None, interval=None)

    def without_data(self) -> Fact:
        """The type alone."""
        return Fact(self.dtype, self.shape)


UNKNOWN = Fact()
CLASH = Fact(dtype=-1)


def is_impossible(fact: Fact) -> bool:
    """No tensor has such a shape: a dim below zero, more elements than can be counted, too many dims.

    >>> [is_impossible(Fact(1, shape)) for shape in ((-4, 3), (2**62, 4), (2**62, 0))]
    [True, True, False]
    """
    shape = fact.shape or ()
    numbers = [d for d in shape if isinstance(d, int)]
    if len(shape) > MOST_DIMS or any(not 0 <= d <= LARGEST for d in numbers):
        return True
    return len(numbers) == len(shape) and math.prod(numbers) > LARGEST


def _meet_dims(a: Dim, b: Dim) -> Dim:
    """The more precise of two compatible dims; raises ValueError where they contradict."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ValueError(f"{a} is not {b}")
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    return min(a, b, key=lambda text: (len(text), text))


def _meet_all(a: Sequence[Dim] | None, b: Sequence[Dim] | None) -> tuple[Dim, ...] | None:
    if a is None:
        return None if b is None else tuple(b)
    if b is None:
        return tuple(a)
    if len(a) != len(b):
        raise ValueError("lengths differ")
    return tuple(_meet_dims(x, y) for x, y in zip(a, b, strict=True))


def meet_ranges(a: Range | None, b: Range | None) -> Range | None:
    """The numbers in both ranges; None is any number.

    >>> meet_ranges((0, 9), (5, 12)), meet_ranges((0, 4), (5, 12))
    ((5, 9), (1, 0))
    """
    if a is None or b is None:
        return b if a is None else a
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else NO_NUMBER


def meet_intervals(a: Interval | None, b: Interval | None) -> Interval | None:
    """The floats in both intervals; None is any float.

    >>> meet_intervals((0.0, math.inf, True), (-1.0, 1.0, False))
    (0.0, 1.0, False)
    """
    if a is None or b is None:
        return b if a is None else a
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high, a[2] and b[2]) if low <= high else NO_FLOAT


@lru_cache(maxsize=1 << 14)
def meet(a: Fact, b: Fact) -> Fact:
    """What both facts together know; ``CLASH`` if they contradict (dtype, rank, two known numbers).

    >>> meet(Fact(1, ("N", None)), Fact(0, (2, 3))).shape
    (2, 3)
    >>> meet(Fact(1, (2,)), Fact(1, (3,))) is CLASH
    True
    """
    if a == b:
        return a
    if a is CLASH or b is CLASH or a.dtype < 0 or b.dtype < 0:
        return CLASH
    if a.dtype and b.dtype and a.dtype != b.dtype:
        return CLASH
    try:
        shape = _meet_all(a.shape, b.shape)
        value = _meet_all(a.value, b.value)
    except ValueError:
        return CLASH
    # A splat is a claim about float arithmetic as well, where two roundings may differ: the first stays.
    splat = a.splat if a.splat is not None else b.splat
    known = replace(
        a,
        dtype=a.dtype or b.dtype,
        shape=shape,
        const=a.const or b.const,
        value=value,  # type: ignore[arg-type]
        splat=splat,
        data=a.data if a.data is not None else b.data,
        range=meet_ranges(a.range, b.range),
        interval=meet_intervals(a.interval, b.interval),
        units=a.units if a.units is not None else b.units,
        twice=a.twice or b.twice,
    )
    return known.settled()


ABSENT = Fact(dtype=-2, const=True)
"""The fact of an optional operand that is not there."""
