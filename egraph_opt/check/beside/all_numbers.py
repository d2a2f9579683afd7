"""An example whose constants and settings change all at once: on one of them changed alone a relation between
them does not hold any more, and a law that asks for it does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from egraph_opt.check.scope import attributes_in
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

STEPS = (1, -1, 2, -2, 3, -3)
"""What is added to all numbers but 0."""

INTEGERS = (0, 1, -1, 50_000, 2**24, 2**31 - 1)
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0**24, 40_000.0)
"""What all constants of a kind are: products of two of the larger ones are beyond types."""

Array = np.ndarray[Any, Any]
Numbers = Callable[[Any], Any]


def with_all_numbers_changed(example: Example) -> Iterator[Callable[[], Example]]:
    """Numbers some more or less, twice as much, or of the other sign; all constants one number."""
    yield from (partial(_changed, example, partial(_more, step)) for step in STEPS)
    yield from (partial(_changed, example, change) for change in (_twice, np.negative))
    several = [v.const_value for v in example.operands.values if v.const_value is not None]
    if len(several) > 1:
        for whole, part in zip(INTEGERS, FLOATS, strict=True):
            yield partial(_with_constants, example, partial(_alike, whole, part))


def _more(step: int, numbers: Any) -> Any:
    return np.where(numbers == 0, numbers, numbers + step)


def _twice(numbers: Any) -> Any:
    return 2 * numbers


def _alike(whole: int, part: float, numbers: Any) -> Any:
    return np.full_like(numbers, part if numbers.dtype.kind == "f" else whole)


def _changed(example: Example, change: Numbers) -> Example:
    made = _with_constants(example, change)
    return replace(made, term=transformed(made.term, partial(_of_settings, change)))


def _with_constants(example: Example, change: Numbers) -> Example:
    operands = example.operands
    for place, value in enumerate(operands.values):
        array = None if value.const_value is None else value.const_value.numpy()
        if array is None or array.dtype.kind not in "iuf":
            continue
        wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        with np.errstate(all="ignore"):
            changed = np.asarray(change(wide)).astype(array.dtype)
        operands = operands.with_constant(place, changed)
    return replace(example, operands=operands)


def _of_settings(change: Numbers, part: Expression) -> Expression:
    """An operator whose settings, such as bounds and slopes, are changed."""
    given = list(part.arguments)
    for k in attributes_in(part):
        if given[k].sort.name == "Settings":
            given[k] = constant(
                tuple((name, _setting(change, value)) for name, value in given[k].head.value), given[k].sort
            )
    return part if given == list(part.arguments) else with_arguments(part, tuple(given))


def _setting(change: Numbers, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return type(value)(np.asarray(change(np.asarray(value))).item())
