"""What the constants of terms hold, from the values of `tables`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.choices import Random, pick

Array = np.ndarray[Any, Any]

LONGEST_ORDER = 12
"""Places at which two neighbours among indices are exchanged."""


class Hints(NamedTuple):
    """Numbers that a term or its law suggests.

    Attributes:
        named: those that the law names.
        dims: of other operands.
        odd: what is odd of the type.
        huge: numbers that are large for the class of the law, or for their type.
    """

    named: Sequence[float]
    dims: Sequence[int]
    odd: Sequence[float]
    huge: Sequence[float] = ()


def elements(rng: Random, shape: tuple[int, ...], floating: bool, hints: Hints, kind: str = "") -> Array:
    """The elements of a constant of a shape, of a kind of `tables.ELEMENTS`; any where none is said."""
    size = math.prod(shape)
    filled = kind or pick(rng, *tables.ELEMENTS, *("named",) * 4 * bool(hints.named))
    if size == 1 and filled in ("uniform", "mixed", "ordered"):
        filled = "one"
    if filled == "units" and len(shape) > 1 and size:
        return _units(rng, shape)
    if filled == "named":
        return np.full(size, pick(rng, *hints.named))
    if filled == "of a dim":
        dim = pick(rng, *(hints.dims or (1,)))
        return np.full(size, pick(rng, dim, 1 / dim, *(about / dim for about in tables.ABOUT_1)))
    if filled == "one":
        return np.full(size, pick(rng, *(tables.NUMBERS if floating else tables.INTEGERS)))
    if filled == "one but one":
        made = np.full(size, pick(rng, *(tables.NUMBERS if floating else tables.INTEGERS)))
        if size > 2:
            made[int(pick(rng, 1, size // 3, size - 2))] += 1
        return made
    if filled == "huge":
        return np.full(size, pick(rng, *(hints.huge or (1,))))
    if filled == "tiny" and floating:
        return np.full(size, pick(rng, *tables.TOO_SMALL))
    if filled == "uniform":
        return rng.uniform(0.5, 2, size) if floating else rng.integers(0, 4, size)
    if filled == "ordered":
        return np.arange(size) % (tables.ORDERED if floating else max(size, 1))
    mixed = tables.MIXED if floating else tables.MIXED_INTEGERS
    return np.asarray(rng.choice(np.array(hints.odd if filled == "odd" else mixed), size))


def _units(rng: Random, shape: tuple[int, ...]) -> Array:
    """A 1 in each row along the first axis, in all at one place of a kernel: channels in order, or not."""
    made = np.zeros((*shape[:2], math.prod(shape[2:])))
    columns = np.arange(shape[0]) % shape[1]
    if pick(rng, 0, 1):
        columns = rng.permutation(columns)
    made[np.arange(shape[0]), columns, pick(rng, made.shape[2] // 2, int(rng.integers(made.shape[2])))] = 1
    return made.reshape(-1)


def indices(rng: Random, shape: tuple[int, ...], dims: Sequence[int]) -> Array:
    """Elements of a constant that picks elements along an axis, of one of the dims given."""
    size, kind = math.prod(shape), pick(rng, *tables.INDICES)
    bound = max(min(dims, default=1), 1)
    if kind == "last":
        return np.full(shape, -1)
    found = np.arange(size) % max(size if size in dims else bound, 1)
    if kind == "shuffled":
        found = rng.permutation(found)
    elif kind == "backwards":
        found = found[::-1]
    elif kind in ("rest backwards", "rest turned"):
        begin = int(pick(rng, 1, size // 3, size // 2))
        rest = found[begin:][::-1] if kind == "rest backwards" else np.roll(found[begin:], 1)
        found = np.concatenate([found[:begin], rest])
    elif kind == "two exchanged" and size > 1:
        place = int(pick(rng, *range(min(size - 1, LONGEST_ORDER))))
        found[[place, place + 1]] = found[[place + 1, place]]
    elif kind == "repeated":
        found = rng.integers(0, bound, size)
    return np.asarray(found).reshape(shape)
