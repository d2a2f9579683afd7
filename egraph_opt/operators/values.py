"""What the values of attributes look like, by their sorts: one of another type would match nothing, or break.

Numbers of numpy are taken as Python's, and a whole number where a float is asked for as that float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.errors import LawError


def plain_value(value: Any, sort: str, where: str) -> Any:
    """A constant of a law as the terms of a model have it.

    Args:
        sort: the name of the attribute's sort; "" where none is said.

    Raises:
        LawError: it is no value of the sort.
    """
    value = _plain(value)
    if sort == "Float" and _is_int(value):
        value = float(value)
    fits, form = FORMS.get(sort, (_anything, ""))
    if not fits(value):
        hint = "; write a tuple" if isinstance(value, (list, set, np.ndarray)) else ""
        raise LawError(f"{where}: {value!r} is no {sort}: that is {form}{hint}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if type(value) is tuple else value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_int(value) and bool(value >= 0)


def _tuple_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(map(holds, value))


def _is_permutation(value: Any) -> bool:
    return _tuple_of(_is_count)(value) and sorted(value) == list(range(len(value)))


def _are_axes(value: Any) -> bool:
    return _tuple_of(_is_count)(value) and list(value) == sorted(set(value))


def _is_slice(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 4
        and all(_is_int(part) or (part is None and k == 2) for k, part in enumerate(value))
    )


def _is_setting(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _anything(value: Any) -> bool:
    return True


FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Permutation": (_is_permutation, "a tuple of all axes, such as (1, 0)"),
    "Axis": (_is_count, "a number counted from the front, 0 or more"),
    "Axes": (_are_axes, "a sorted tuple of numbers counted from the front, such as (0, 1)"),
    "Dims": (lambda value: isinstance(value, tuple), "a tuple of dims, such as (2, 3)"),
    "Sizes": (_tuple_of(_is_count), "a tuple of lengths, such as (2, 3)"),
    "Pads": (_tuple_of(_is_int), "a tuple of whole numbers, such as (0, 1, 0, 1)"),
    "Slices": (_tuple_of(_is_slice), "a tuple of (axis, start, end, step), such as ((0, 1, 3, 1),)"),
    "Settings": (_tuple_of(_is_setting), 'a tuple of pairs, such as (("alpha", 1.0),)'),
    "DataType": (
        lambda value: _is_int(value) and value in TensorProto.DataType.values(),
        "one of onnx.TensorProto, such as TensorProto.FLOAT",
    ),
    "Float": (lambda value: isinstance(value, float), "a number, such as 1e-5"),
    "Flag": (lambda value: value in (0, 1), "0 or 1"),
    "Mode": (lambda value: isinstance(value, str), 'a word, such as "constant"'),
    "Equation": (lambda value: isinstance(value, str), 'a text, such as "ij,jk->ik"'),
    "Number": (lambda value: isinstance(value, float) or _is_int(value), "a number"),
    "Place": (lambda value: value is None or _is_int(value), "a whole number, or None for the end"),
}
"""By sort: whether a value is one, and what one is."""
