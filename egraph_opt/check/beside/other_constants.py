"""Constants that are nearly what an example has, or the odd ones among their kind.

Within a millionth of a number; fractions where a function is none; one NaN or infinity; whole numbers of so
many digits that multiples are rounded; where every bit is promised the least number, which has no half;
integers that are one float and several numbers; truth values in every order of so many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.variants import arrays_of, in_dtype
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws.law import Example

NEARLY = (1 + 4e-6, 1 - 4e-6, 1 + 9e-7, 1 + 2e-4)
"""Shares that differ by some tens of roundings of float32, and by more than are asked of a result."""

NEARLY_IN_DOUBLE = (1 + 2.0**-24, 1 - 2.0**-28, 1 + 3e-7)
"""The same of float64: shares that float32 has for 1, or nearly."""

FRACTIONS = (0.5, 0.75, 1.5, 2.5)
SMALL = range(2, 17)
"""Whole numbers with and without divisors, squares among them."""

STEPPING = frozenset({"Ceil", "Floor", "Round"})
"""Functions that go in steps, and numbers beside which they show."""

MANY_DIGITS = 11_484_286
"""A whole number of as many digits as float32 has: of its small multiples few have as many, five times it is
rounded up, and quotients of others by it are rounded down."""

BEYOND_DOUBLE = 2**55
"""From here on floats of 64 bits are multiples of eight."""

Array = np.ndarray[Any, Any]


def with_other_constants(example: Example, *, bits: bool = False) -> Iterator[Example]:
    """Each constant one of those, all integers at once.

    Args:
        bits: the law promises every bit, also of a NaN, and of infinities.
    """
    operands, constants = example.operands, arrays_of(example)
    heads = {node.arguments[0].head.value for node in nodes_of(example) if node.head.name == "unary"}
    steps = bool(heads & STEPPING)
    for place, array in constants.items():
        if not array.size:
            continue
        for other in _beside(array, steps=steps, bits=bits):
            yield replace(example, operands=operands.with_constant(place, other))
        if array.dtype == np.float32:
            double = in_dtype(example, TensorProto.DOUBLE)
            for share in NEARLY_IN_DOUBLE:
                other = array.astype(np.float64) * share
                yield replace(double, operands=double.operands.with_constant(place, other))
    wide = [k for k, array in constants.items() if array.dtype.kind in "iu" and array.itemsize == 8]
    for steps_apart in ((3, 1, 2), (1, 3, 2)) if len(wide) > 1 else ():
        made = operands
        for k, place in enumerate(wide):
            number = np.full_like(constants[place], BEYOND_DOUBLE + steps_apart[k % 3])
            made = made.with_constant(place, number)
        yield replace(example, operands=made)


def _beside(array: Array, *, steps: bool, bits: bool) -> Iterator[Array]:
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            yield from ((array * share).astype(array.dtype) for share in NEARLY)
            yield from (np.full_like(array, number) for number in FRACTIONS if steps)
            if array.dtype == np.float32 and (array == np.round(array)).all():
                yield np.full_like(array, MANY_DIGITS)
            if bits:
                yield np.full_like(array, np.finfo(array.dtype).smallest_subnormal)
            for place in (0, array.size - 1) if bits and array.size > 1 else ():
                for odd in (np.nan, np.inf, -np.inf):
                    made = array.copy()
                    made.flat[place] = odd
                    yield made
        elif array.dtype.kind in "iu" and array.size == 1:
            yield from (np.full_like(array, number) for number in SMALL)
        elif array.dtype == np.bool_ and array.size > 1:
            counted = np.arange(array.size).reshape(array.shape)
            yield from (counted % 2 == 0, counted % 2 == 1, counted % 3 == 1)
            yield from (np.roll(array, 1), array[..., ::-1])
