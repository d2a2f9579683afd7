"""Values beside one: arrays beside that of a constant, attributes beside one of an operator.

Each differs in one thing, and some of them hold what a condition may have forgotten: the numbers that the law
names, the ends of what types hold, another order, elements of which only some are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.errors import LawError
from egraph_opt.operators.expressions import Sort, coerced

Array = np.ndarray[Any, Any]

SHARES = (1.0004, 0.9996, 1.003, 0.997, 0.5, 2.0)
"""What a number is multiplied by: within a thousandth of itself, nearly itself, and clearly not."""

APART = 10.0
"""By how much the last of several numbers is larger than the others."""

AXES = 6
"""Along which a slice may cut."""

COUNTED = frozenset({"Axes", "Dims", "Pads", "Permutation", "Sizes"})
"""Sorts of numbers none of which is below 0."""

LARGER = (lambda n: n + 1, lambda n: 2 * n, lambda n: n + 3)
"""What all numbers of a row may become."""

FLOATS_AT_ENDS = (2.0**24, 2.0**31, 40_000.0, 65_504.0)
INTEGERS_AT_ENDS = (2**24, 2**31, -(2**31) - 1, 2**40, 256, -129)
"""Where types of fewer bits end."""


def other_arrays(array: Array, numbers: Sequence[float]) -> Iterator[Array]:
    """Arrays of the type and shape of one; `numbers` are those that the law names."""
    if array.size and array.dtype.kind == "b":
        yield from _conditions(array)
    if not array.size or array.dtype.kind not in "iuf":
        return
    with np.errstate(all="ignore"):
        made = _floats(array) if array.dtype.kind == "f" else _integers(array)
        yield from made
        yield from _in_another_order(array)
        if array.size > 1:
            yield from _partly_others(array, numbers)
        for number in numbers if array.dtype.kind == "f" or array.size == 1 else ():
            yield from (
                np.full_like(array, number * share) for share in (1.0, *SHARES[:2]) if _has(array, number)
            )


def _floats(array: Array) -> Iterator[Array]:
    yield from ((array * share).astype(array.dtype) for share in (*SHARES, -1.0))
    most = float(np.finfo(array.dtype).max)
    near_the_end = (tables.NEAR_THE_END,) * (array.size <= tables.KNOWN_ELEMENTS)
    ends = (*tables.TOO_SMALL, *FLOATS_AT_ENDS, *near_the_end)
    yield from (np.full_like(array, number) for number in ends if number <= most)


def _integers(array: Array) -> Iterator[Array]:
    wide = array.astype(np.int64)
    yield from ((wide + step).astype(array.dtype) for step in (1, -1))
    yield (-wide).astype(array.dtype)
    if array.size == 1:
        info = np.iinfo(array.dtype)
        ends = (*INTEGERS_AT_ENDS, info.min, info.max, 0, 1, -1)
        yield from (np.full_like(array, number) for number in ends if _has(array, number))


def _conditions(array: Array) -> Iterator[Array]:
    """All true, all false, each turned over, and a row that is all false."""
    yield from (np.ones_like(array), np.zeros_like(array), ~array)
    if array.ndim > 1:
        row = array.copy()
        row[(-1,) * (array.ndim - 1)] = False
        yield row


def _has(array: Array, number: float) -> bool:
    """Whether a number is one of an array's type."""
    if array.dtype.kind == "f":
        return True
    info = np.iinfo(array.dtype)
    return number == int(number) and info.min <= number <= info.max


def _in_another_order(array: Array) -> Iterator[Array]:
    """The same elements: each axis on by one, backwards, and both, one of which is not its own inverse, and
    two in the middle in each other's place; integers in order, and the rest of them backwards or turned; and
    more of them along an axis of one."""
    if array.ndim == 1 and array.size > 2 and array.dtype.kind in "iu":
        rising = np.sort(array)
        for begin in (array.size // 3, array.size // 2):
            yield np.concatenate([rising[:begin], rising[begin:][::-1]])
            yield np.concatenate([rising[:begin], np.roll(rising[begin:], 1)])
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            backwards = np.flip(array, axis)
            yield from (np.roll(array, 1, axis), backwards, np.roll(backwards, 1, axis))
            order, middle = np.arange(array.shape[axis]), array.shape[axis] // 2
            order[middle - 1 : middle + 1] = (middle, middle - 1)
            yield np.take(array, order, axis)
        else:
            yield np.repeat(array, 2, axis)


def _partly_others(array: Array, numbers: Sequence[float]) -> Iterator[Array]:
    """All elements as they are but the last, one in between, or all behind the first."""
    if array.dtype.kind == "f":
        last = array.flat[-1] or array.dtype.type(1)
        others: list[Any] = [last * share for share in (*SHARES, APART, 1 / APART, -1.0)]
        others += [number * share for number in numbers if abs(number) < 1 for share in (1.0, 0.5)]
    else:
        others = [n for step in (1, -1, -2, 5, 128) if _has(array, n := int(array.flat[-1]) + step)]
    for place in dict.fromkeys((-1, array.size // 3, 1)):
        for other in others if place == -1 else others[-2:]:
            made = array.copy()
            made.flat[place] = np.asarray(other).astype(array.dtype)
            yield made
    behind = array.copy()
    behind.reshape(-1)[1:] = np.arange(1, array.size) % 5 + 1
    yield behind
    if array.ndim > 1 and array.shape[0] > 1:
        rows = array.copy()
        rows[1:] = np.resize(np.arange(1, 8), rows[1:].shape)
        yield rows


def near(value: Any, numbers: Sequence[float]) -> Iterator[Any]:
    """Values that differ from one in one number: of a tuple in one entry, of a dataclass in one field."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int):
        yield from (value + 1, value - 1, value + 2, 2 * value, value + 5)
        yield from (int(n) + step for n in numbers if n == int(n) for step in (0, -1, 1))
    elif isinstance(value, float):
        yield from (float(np.float32(value * share)) for share in SHARES)
        yield from (n * share for n in numbers for share in (1.0, *SHARES[:2]))
        if np.isfinite(value) and value == int(value):
            yield from (value + 1, value - 1)
    elif isinstance(value, tuple):
        yield from _near_tuple(value, numbers)
    elif is_dataclass(value):
        for entry in fields(value):
            for other in near(getattr(value, entry.name), numbers):
                yield replace(value, **{entry.name: other})  # type: ignore[type-var]
        yield from _with_two_fields_changed(value)


def _with_two_fields_changed(value: Any) -> Iterator[Any]:
    """Two rows of numbers, such as strides and pads, both larger in all their places."""
    rows = [entry.name for entry in fields(value) if _is_row(getattr(value, entry.name))]
    for one, other in combinations(rows, 2):
        for first, second in product(LARGER, repeat=2):
            changes = ((one, first), (other, second))
            yield replace(value, **{name: tuple(map(c, getattr(value, name))) for name, c in changes})


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(entry, int) for entry in value)


def near_parts(sizes: Sequence[int]) -> Iterator[Any]:
    """Parts of the same whole, one more or one less."""
    if sizes and isinstance(sizes[-1], int) and sizes[-1] > 1:
        yield (*sizes[:-1], sizes[-1] - 1, 1)
    if len(sizes) > 1 and all(isinstance(size, int) for size in sizes):
        yield (*sizes[:-2], sizes[-2] + sizes[-1])


def near_permutations(axes: Sequence[int]) -> Iterator[Any]:
    """Permutations that differ in two axes."""
    for k, j in combinations(range(len(axes)), 2):
        yield tuple({axes[k]: axes[j], axes[j]: axes[k]}.get(axis, axis) for axis in axes)


def _near_tuple(value: tuple[Any, ...], numbers: Sequence[float]) -> Iterator[Any]:
    if len(value) == 2 and all(isinstance(entry, str) for entry in value):
        key, old = value
        yield from ((key, other) for other in tables.SETTINGS_BY_NAME.get(key, ()) if other != old)
        return
    if value and all(isinstance(entry, str) for entry in value):
        yield from (value[::-1], (*value[:-1], tables.ACTIVATION), (value[0],) * len(value))
        return
    if len(value) == 2 and value[0] in tables.FLAGS:
        yield (value[0], 1 - int(bool(value[1])))
        return
    if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        yield from ((value[0], end) for end in (2**31 - 1, -(2**31)))
    for k, entry in enumerate(value):
        yield from ((*value[:k], other, *value[k + 1 :]) for other in near(entry, numbers))
    if len(value) > 1 and all(isinstance(entry, int) for entry in value):
        yield (*value[:-2], value[-1], value[-2])
        yield tuple(entry + 1 for entry in value)


def is_of(sort: Sort, value: Any) -> bool:
    """Whether a value is one that terms have, in its normal form."""
    try:
        coerced(value, sort, "")
    except LawError:
        return False
    if sort.name in COUNTED and any(isinstance(entry, int) and entry < 0 for entry in value):
        return False  # on dims below 0 ONNX's inference ends the process
    cut = [entry[0] for entry in value] if sort.name == "Slices" else []
    return cut == sorted(set(cut)) and min(cut, default=0) >= 0


def near_slices(spec: tuple[tuple[int, int, int | None, int], ...]) -> Iterator[Any]:
    """Slices that cut one axis more, or one less."""
    for k in range(len(spec)) if len(spec) > 1 else ():
        yield (*spec[:k], *spec[k + 1 :])
    free = [axis for axis in range(AXES) if axis not in {entry[0] for entry in spec}]
    for cut in ((0, 2, 1), (1, 3, 1), (0, 1, 1), (0, 4, 2)):
        yield from (tuple(sorted((*spec, (axis, *cut)), key=lambda entry: entry[0])) for axis in free[:3])


def near_equations(equation: str) -> Iterator[str]:
    """Equations in which a letter of the first operand stands for the one behind it, too, which comes out or
    does not, and those in which two neighbours of an operand, or of the result, have changed places."""
    inputs = equation.partition(",")[0].partition("->")[0]
    for one, other in pairwise(inputs):
        if one != other and one.isalpha() and other.isalpha():
            yield equation.replace(other, one, 1)
            terms, arrow, result = equation.partition("->")
            yield terms.replace(other, one, 1) + arrow + result.replace(other, "")
    for k, (one, other) in enumerate(pairwise(equation)):
        if one != other and one.isalpha() and other.isalpha():
            yield equation[:k] + other + one + equation[k + 2 :]
    yield equation.partition("->")[0]
