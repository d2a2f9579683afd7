"""Arithmetic on elements, exactly as the element type does it.

An element is a number or, in an integer tensor, the text of a symbolic expression.  An operation answers None
where its result is not known or not representable: integer overflow, NaN, and negative zero, which compares
equal to zero and would be mistaken for it.  Symbolic shape arithmetic is assumed not to overflow 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import BOOL, FLOATS, INTEGERS
from egraph_opt.facts.fact import SMALL, Element, Fact

Number = int | float

WIDE = frozenset({TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64})
"""Integer types that symbolic elements are assumed to fit into."""


@lru_cache(64)
def numpy_type(dtype: int) -> np.dtype[np.generic]:
    return helper.tensor_dtype_to_np_dtype(dtype)


@lru_cache(64)
def integer_range(dtype: int) -> tuple[int, int]:
    """Least and greatest number of an integer type (or bool)."""
    if dtype == BOOL:
        return 0, 1
    info = ml_dtypes.iinfo(numpy_type(dtype))  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def settle(dtype: int, element: Element | float) -> Element | float:
    """The element as one of type ``dtype``; None where that type cannot have it or it is better not kept."""
    if element is None:
        return None
    if isinstance(element, str):
        if dtype not in WIDE:
            return None
        low = symbolic.lower_bound(element)
        return element if dtype in _SIGNED or (low is not None and low >= 0) else None
    if dtype in FLOATS:
        element = float(element)
        if math.isnan(element) or (element == 0 and math.copysign(1, element) < 0):
            return None
        return element
    if dtype not in INTEGERS and dtype != BOOL:
        return None
    if isinstance(element, float) and not element.is_integer():
        return None
    low_end, high_end = integer_range(dtype)
    return int(element) if low_end <= element <= high_end else None


_SIGNED = frozenset({TensorProto.INT32, TensorProto.INT64})


Array = np.ndarray[Any, np.dtype[Any]]
"""An array of objects: numbers and texts."""


def array(fact: Fact) -> Array | None:
    """The elements as an array of numbers and texts, where they are known."""
    items = fact.data if fact.data is not None else fact.value
    if items is None or fact.shape is None:
        return None
    shape = tuple(d for d in fact.shape if isinstance(d, int))
    if len(shape) < len(fact.shape) or math.prod(shape) != len(items):
        return None
    result: Array = np.empty(len(items), dtype=np.object_)
    result[:] = items
    return result.reshape(shape)


def with_data(fact: Fact, items: Array | None = None, splat: Element | float = None) -> Fact:
    """The type ``fact`` with these elements and this splat, as far as they can be kept."""
    data: tuple[int | float | str, ...] | None = None
    if items is not None and items.size <= SMALL and fact.dtype:
        settled = [settle(fact.dtype, item) for item in items.ravel()]
        if None not in settled and len(fact.shape or ()) == items.ndim:
            data = tuple(settled)  # type: ignore[arg-type]
    one = settle(fact.dtype, splat)
    value = data if items is not None and items.ndim <= 1 and fact.dtype not in FLOATS else None
    splat = None if isinstance(one, str) else one
    return replace(fact, value=value, splat=splat, data=data)  # type: ignore[arg-type]


def completed(fact: Fact) -> Fact:
    """The fact with what its elements say of its splat, and its splat of its elements."""
    data = fact.data if fact.data is not None else fact.value
    splat = fact.splat
    if data is not None:
        if splat is None and data and isinstance(data[0], int | float) and data.count(data[0]) == len(data):
            splat = data[0]
    elif splat is not None and fact.is_static:
        size = math.prod(d for d in fact.shape or () if isinstance(d, int))
        data = (splat,) * size if size <= SMALL else None
    is_value = fact.shape is not None and len(fact.shape) <= 1 and fact.dtype not in FLOATS
    value = data if is_value else None
    whole = replace(fact, value=value, splat=splat, data=data).settled()  # type: ignore[arg-type]
    return fact if whole == fact else whole


def cast(source: int, target: int, element: Element | float) -> Element | float:
    """Cast where ONNX defines it: floats truncate towards zero, of what is out of range nothing is known."""
    if element is None or not source or not target:
        return None
    if isinstance(element, str):
        if target == BOOL:
            return _is_nonzero(element)
        return settle(target, element)
    if target == BOOL:
        return int(element != 0)
    if target in FLOATS:
        with np.errstate(all="ignore"):
            wide = np.uint64 if element > np.iinfo(np.int64).max else np.int64
            exact = np.asarray(element, dtype=numpy_type(source) if source in FLOATS else wide)
            return settle(target, float(exact.astype(numpy_type(target))))
    if isinstance(element, float):
        if not math.isfinite(element):
            return None
        element = math.trunc(element)
    return settle(target, element)


def _is_nonzero(element: str) -> Element:
    low, high = symbolic.lower_bound(element), symbolic.upper_bound(element)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return 1
    return None


def divide(a: Element, b: Element) -> Element:
    """Integer division, which truncates towards zero."""
    if b == 0 or a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    exact = symbolic.exact_div(a, b)
    if exact is not None:
        return exact
    if symbolic.is_at_least(a, 0) and symbolic.is_at_least(b, 0):
        return symbolic.floordiv(a, b)
    return None


def modulo(a: Element, b: Element, c_like: bool) -> Element:
    """The remainder, with the sign of the divisor, or of the dividend if ``c_like`` (fmod)."""
    if b == 0 or a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a - b * divide(a, b) if c_like else a % b  # type: ignore[operator]
    if symbolic.is_at_least(b, 0) and (symbolic.is_at_least(a, 0) or not c_like):
        return symbolic.sub(a, symbolic.mul(b, symbolic.floordiv(a, b)))
    return None


def comparison_of(a: Element, b: Element, holds: Callable[[int, int], bool]) -> Element:
    """1 or 0 as the sign of ``a - b`` satisfies the comparison with 0, where all signs it may have agree."""
    difference = symbolic.sub(a, b)
    low, high = symbolic.lower_bound(difference), symbolic.upper_bound(difference)
    if difference is None:
        return None
    signs = []
    if low is None or low < 0:
        signs.append(-1)
    if (low is None or low <= 0) and (high is None or high >= 0):
        signs.append(0)
    if high is None or high > 0:
        signs.append(1)
    answers = {holds(sign, 0) for sign in signs}
    return int(answers.pop()) if len(answers) == 1 else None
