"""Odd values: tables of floats and integers that random numbers do not hit, laid out over the inputs.

A table is longer than a small input, so it is spread over several runs; every input begins at another place,
so that different values meet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import ml_dtypes
import numpy as np

from egraph_opt.facts.assumption import Assumption
from egraph_opt.verification.comparison import TOLERANCES, Array
from egraph_opt.verification.execution import Value
from egraph_opt.verification.inputs import BLOCK, number_of
from egraph_opt.verification.sizes import MAX_ELEMENTS, Ranges

Spread = Literal[
    "near",
    "positive",
    "negative",
    "alike",
    "level",
    "middle",
    "wide",
    "tiny",
    "lattice",
    "ties",
    "rising",
    "falling",
]
"""Of finite floats: magnitudes of 1e-3 to 1e4, the same of one sign, up to 300 and the same in all inputs of
a shape or nearly so, one number for all that have the same first index, 1e-9 to 1e9, 1e-30 to 1e30, all of
1e-9; numbers that are whole, halves, or zero; so few of them that many are equal; and in order, so that the
greatest or least comes last."""

WHOLE = frozenset({"level", "rising", "falling"})
"""Of these it counts where in the array an element is."""

Special = Literal["all", "zeros", "infinities", "nans", "subnormals", "largest"]
"""Floats that arithmetic treats apart: one kind at a few places, or all of them everywhere."""

DECADES: Mapping[str, tuple[float, float]] = {
    "near": (-3, 4),
    "positive": (-3, 4),
    "middle": (-9, 9),
    "wide": (-30, 30),
    "negative": (-3, 4),
}
_SIGNS: Mapping[Spread, tuple[float, ...]] = {"positive": (1.0,), "negative": (-1.0,)}

DIVISIBLE = (7, -7, 2, -2, 3, -3, 100, -100, 1, 5)
"""Integers that may divide each other: neither 0 nor -1 is among them."""

FLOATS_END = (2**11, 2**24, 2**31 - 2, 2**53, 2**62)
"""Integers of which the next one is not, or hardly, told apart in floats."""

NARROW_DECADES = (-3, 1.5)
"""Of float16, which ends at 65504: squares and products of two stay within."""

LATTICE = (
    *(-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
    *(-255.0, -128.0, -7.0, 6.0, 7.0, 20.0, 127.0, 255.0),
)

TIES = (-1.0, 0.0, 1.0, 2.0)

FEW = 0.04
"""The share of elements that one kind of special value takes."""

AT_THRESHOLDS = 0.25
"""The share of elements at, just below and just above the constants of the model."""

BESIDE = (1.0, 1.0 - 1e-3, 1.0 + 1e-3, 0.5, 2.0)

MOST_ROUNDS = 12
"""Runs that one table may be spread over."""


def rounds(feeds: Mapping[str, Value], kinds: str, length: int) -> int:
    """How many runs it takes until every input of these kinds of dtype has held a table of this length."""
    counts = [a.size for value in feeds.values() for a in _arrays(value) if _takes(a, kinds) and a.size]
    return min(-(-length // min(counts)), MOST_ROUNDS) if counts else 0


def spread(
    feeds: Mapping[str, Value],
    kind: Spread,
    thresholds: Sequence[float],
    seed: int,
    *,
    part: tuple[int, int] = (0, 1),
    bounds: Ranges | None = None,
) -> dict[str, Value]:
    """The same inputs with floats of other magnitudes; `part` is which run of how many this is."""

    def values(array: Array, name: str) -> Array:
        again = part[0] if kind in ("ties", "tiny", "level") else 0
        generator = np.random.default_rng([seed, number_of(name), again])
        if kind == "alike":
            shared = np.random.default_rng([seed, part[0], *array.shape])
            made = _alike(array.shape, shared, generator, apart=part[0] > 0)
        else:
            made = _spread_values(array, kind, thresholds, generator, part)
        return _within_bounds(made, (bounds or {}).get(name)).astype(array.dtype)

    return _replaced(feeds, "f", values, whole=kind in WHOLE)


def _spread_values(
    array: Array,
    kind: Spread,
    thresholds: Sequence[float],
    generator: np.random.Generator,
    part: tuple[int, int],
) -> Array:
    shape, (k, count) = array.shape, part
    if kind == "tiny":
        return np.asarray(1e-9 * generator.standard_normal(shape))
    if kind in ("rising", "falling"):
        rising = np.linspace(-4, 4, array.size).reshape(shape)
        return np.asarray(rising if kind == "rising" else -rising)
    if kind == "ties":
        return np.asarray(generator.choice(TIES, shape))
    if kind == "level":  # what is computed of differences cancels: a variance is 0 but for rounding
        rows = 4 * generator.standard_normal(shape[:1] + (1,) * (array.ndim - 1))
        return np.asarray(np.broadcast_to(rows, shape))
    if kind == "lattice":
        return _rolled(np.array(LATTICE), array, generator, part)
    low, high = NARROW_DECADES if array.dtype.itemsize == 2 and not _is_wide(array) else DECADES[kind]
    # Stratified, so that a few elements cover all decades, too.
    order = generator.permutation(array.size * count)[k * array.size : (k + 1) * array.size]
    exponent = low + (high - low) * (order + generator.random(array.size)) / max(array.size * count, 1)
    made = 10.0**exponent * generator.choice(_SIGNS.get(kind, (-1.0, 1.0)), array.size)
    table = _beside([t for t in thresholds if t <= 10.0**high], kind)
    if table:
        taken = np.arange(int(k * array.size * AT_THRESHOLDS), int((k + 1) * array.size * AT_THRESHOLDS))
        first = list(DECADES).index(kind) * count * array.size * AT_THRESHOLDS
        places = generator.permutation(array.size)[: len(taken)]
        made[places] = np.array(table)[(int(first) + taken) % len(table)]
    return np.asarray(made.reshape(shape))


def _alike(
    shape: tuple[int, ...], shared: np.random.Generator, own: np.random.Generator, *, apart: bool
) -> Array:
    """Numbers that other inputs of the shape have as well; `apart`, but for a hundredth of them."""
    values = 10.0 ** shared.uniform(-1, 2.5, shape) * shared.choice([-1.0, 1.0], shape)
    return np.asarray(values * (1 + 0.01 * apart * own.choice([-1, 0, 0, 1], shape)))


def divisible(feeds: Mapping[str, Value], names: Sequence[str], seed: int) -> dict[str, Value]:
    """The same inputs with integers of both signs for those named, which may be divided by one another."""

    def values(array: Array, name: str) -> Array:
        generator = np.random.default_rng([seed, number_of(name)])
        limits = np.iinfo(array.dtype)
        fitting = [v for v in DIVISIBLE if limits.min < v <= limits.max]
        return np.asarray(generator.choice(np.array(fitting, array.dtype), array.shape))

    return {**feeds, **_replaced({name: feeds[name] for name in names}, "iu", values)}


def neighbours(
    feeds: Mapping[str, Value], ranges: Mapping[str, tuple[int, int]], seed: int, part: int
) -> dict[str, Value]:
    """The same inputs with large integers for those named, those of others of the shape or one apart."""

    def values(array: Array, name: str) -> Array:
        low, high = ranges[name]
        known = [v for v in FLOATS_END if low < v < min(high, int(np.iinfo(array.dtype).max))]
        places = (part * array.size + np.arange(array.size)) % max(len(known), 1)
        base = np.array(known or [max(low, 0)], array.dtype)[places].reshape(array.shape)
        own = np.random.default_rng([seed, number_of(name), part])
        steps = [0, 1] if known and part else [0]
        return np.asarray(base + own.choice(np.array(steps, array.dtype), array.shape))

    return {**feeds, **_replaced({name: feeds[name] for name in ranges}, "iu", values)}


def conditions(feeds: Mapping[str, Value]) -> dict[str, Value]:
    """The same inputs with conditions that hold nowhere but at the first element of all."""

    def values(array: Array, name: str) -> Array:
        made = np.zeros(array.size, array.dtype)
        made[:1] = True
        return made.reshape(array.shape)

    return _replaced(feeds, "b", values, whole=True)


def _beside(thresholds: Sequence[float], kind: Spread) -> list[float]:
    """Constants of the model, then what is beside them, of the signs that the kind has."""
    signs = _SIGNS.get(kind, (1.0, -1.0))
    return [t * f * sign for f in BESIDE for t in thresholds for sign in signs]


def special(
    feeds: Mapping[str, Value],
    kind: Special,
    seed: int,
    *,
    part: tuple[int, int] = (0, 1),
    bounds: Ranges | None = None,
) -> dict[str, Value]:
    """The same inputs with special floats: everywhere, or of one kind at a few places."""

    def values(array: Array, name: str) -> Array:
        if name in (bounds or {}) or array.size == 0:
            return array
        generator = np.random.default_rng([seed, number_of(name)])
        table = special_floats(array.dtype, kind)
        if kind == "all":
            return _rolled(table, array, generator, part)
        made = array.copy().reshape(-1)
        count = max(1, int(FEW * array.size))
        places = generator.permutation(array.size)[:count]
        made[places] = table[(np.arange(count) + part[0]) % len(table)]
        return made.reshape(array.shape)

    return _replaced(feeds, "f", values)


def special_floats(dtype: np.dtype[Any], kind: Special) -> Array:
    """The table of a float type."""
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    tiny, least, largest = float(info.tiny), float(info.smallest_subnormal), float(info.max)
    groups: dict[str, list[float]] = {
        "zeros": [-0.0, 0.0],
        "infinities": [math.inf, -math.inf],
        "nans": [math.nan],
        "subnormals": [least, -least, tiny / 2, -tiny / 2, tiny, -tiny],
        "largest": [largest, -largest],
    }
    if kind != "all":
        return np.array(groups[kind]).astype(dtype)
    magnitudes = [m for e in range(-30, 31, 5) for m in (10.0**e, -(10.0**e)) if tiny < abs(m) < largest]
    plain = [0.5, -0.5, 1.5, 2.5, -2.5, 2.0, 3.0, -3.0]
    values = [v for group in groups.values() for v in group]
    with np.errstate(over="ignore"):
        return np.array([*values, *magnitudes, *plain]).astype(dtype)


def integer_table(dtype: np.dtype[Any], constants: Sequence[int]) -> list[int]:
    """Integers beside constants, then small ones and those at the ends of types and of what floats hold."""
    limits = np.iinfo(dtype)
    found = _beside_integers(constants)
    found += [0, 1, -1, 2, -2, 3, -3, 7, -7, int(limits.max), int(limits.min)]
    for bits in (7, 8, 11, 15, 16, 24, 31, 32, 53, 62):
        found += [2**bits, 2**bits - 1, 2**bits + 1, -(2**bits), -(2**bits) - 1]
    found += [int(limits.max) - 1, int(limits.min) + 1]
    return [v for v in dict.fromkeys(found) if limits.min <= v <= limits.max]


def _beside_integers(constants: Sequence[int]) -> list[int]:
    return [c + d for c in constants for d in (0, -1, 1)] + [-c for c in constants]


def integers(
    feeds: Mapping[str, Value],
    ranges: Mapping[str, tuple[int, int]],
    constants: Sequence[int],
    seed: int,
    *,
    part: tuple[int, int] = (0, 1),
) -> dict[str, Value]:
    """The same inputs with the integers of the table, in these ranges, for the inputs named."""
    made = dict(feeds)
    for name, (low, high) in ranges.items():
        generator = np.random.default_rng([seed, number_of(name)])

        def values(array: Array, low: int = low, high: int = high, g: Any = generator) -> Array:
            table = [v for v in integer_table(array.dtype, constants) if low <= v <= high]
            beside = set(_beside_integers(constants)).intersection(table)
            return _rolled(np.array(table or [max(low, 0)], array.dtype), array, g, part, len(beside))

        value = feeds[name]
        made[name] = (
            [_by_block(values, a) for a in value] if isinstance(value, list) else _by_block(values, value)
        )
    return made


def _rolled(
    table: Array, array: Array, generator: np.random.Generator, part: tuple[int, int], first: int = 0
) -> Array:
    """An array of the values of a table, each run those that come next; which is next differs by input.

    The first so many take turns with the others: runs of small inputs do not come to the end of a table.
    """
    order = generator.permutation(len(table))
    if 0 < first < len(table):
        rank = np.empty(len(table))
        rank[order < first] = np.arange(first)
        rank[order >= first] = np.arange(len(table) - first) + generator.choice([-0.5, 0.5])
        order = order[np.argsort(rank)]
    places = (np.arange(array.size) + part[0] * array.size) % len(table)
    # Once all have been there, by chance: so that every two of two inputs meet.
    again = generator.integers(0, len(table), array.size)
    made = table[order[np.where(np.arange(array.size) < len(table), places, again)]]
    return np.asarray(made.astype(array.dtype).reshape(array.shape))


def _is_wide(array: Array) -> bool:
    """Whether a float type has the range of float32."""
    return float(ml_dtypes.finfo(array.dtype).max) > 1e30  # type: ignore[no-untyped-call]


def _within_bounds(values: Array, bounds: Assumption | None) -> Array:
    return values if bounds is None else np.asarray(np.clip(values, bounds.low, bounds.high))


def _takes(array: Array, kinds: str) -> bool:
    is_float = array.dtype in TOLERANCES and array.dtype.kind != "c" and array.dtype.itemsize > 1
    return is_float if kinds == "f" else array.dtype.kind in kinds


def _by_block(values: Any, array: Array, *rest: Any) -> Array:
    """Values for an array; a large one has those of its first elements again and again."""
    if array.size <= MAX_ELEMENTS:
        return np.asarray(values(array, *rest))
    return np.resize(values(array.reshape(-1)[:BLOCK], *rest), array.shape)


def _arrays(value: Value) -> list[Array]:
    return [a for a in (value if isinstance(value, list) else [value]) if isinstance(a, np.ndarray)]


def _replaced(
    feeds: Mapping[str, Value], kinds: str, values: Any, *, whole: bool = False
) -> dict[str, Value]:
    """Inputs with the arrays of some kinds of dtype replaced, large ones block by block unless `whole`."""
    made: dict[str, Value] = {}
    replace = values if whole else partial(_by_block, values)
    with np.errstate(over="ignore", invalid="ignore"):
        for name, value in feeds.items():
            if isinstance(value, list):
                made[name] = [
                    replace(a, f"{name}[{k}]") if _takes(a, kinds) else a for k, a in enumerate(value)
                ]
            elif isinstance(value, np.ndarray) and _takes(value, kinds):
                made[name] = replace(value, name)
            else:
                made[name] = value
    return made
