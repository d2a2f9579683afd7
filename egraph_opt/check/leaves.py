"""The operands of a term in the making: what is known of them, and tensors only of a term that is kept.

Most of what is drawn is rejected, and a value of a graph costs more than all else of an operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.choices import Random, pick, picks
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.inference.constants import array_fact
from egraph_opt.laws.examples import Operands
from egraph_opt.operators.constants import leaf

Array = np.ndarray[Any, Any]

MOST_ELEMENTS, MOST_OF_A_LEAF = 2000, 50_000
"""Of what is drawn as it pleases, and of what has to fit."""


def numbers_of(dims: Sequence[Dim] | None) -> tuple[int, ...]:
    """The dims that are numbers."""
    return tuple(d for d in dims or () if isinstance(d, int))


def is_large(dims: Sequence[Dim], most: int = MOST_ELEMENTS) -> bool:
    known = numbers_of(dims)
    return math.prod(known) > most and any(d > 3 for d in known)


def any_shape(rng: Random) -> tuple[Dim, ...]:
    """Any shape: up to five axes, some of them symbolic, of length one or empty."""
    rank = pick(rng, *tables.RANKS)
    dims: list[Dim] = picks(rng, tables.DIMS, rank)
    if rank > 1 and pick(rng, *[False] * 7, True):  # axes that their sizes do not tell apart
        dims = [d if d == 1 else pick(rng, 2, 3) if k == 0 else dims[0] for k, d in enumerate(dims)]
    symbols = pick(rng, "", "", "", "", "", "N", "N", "N", "L", "NL", "NM") if rank else ""
    for symbol in symbols:
        dims[0 if symbol == "N" else int(rng.integers(rank))] = symbol
    if rank and pick(rng, *[False] * 15, True):
        dims[int(rng.integers(rank))] = 0
    while is_large(dims):
        dims[next(k for k, d in enumerate(dims) if isinstance(d, int) and d > 3)] = 3
    if rank and pick(rng, *[False] * 15, True):
        dims = [min(d, 2) if isinstance(d, int) else d for d in dims]
        dims[int(rng.integers(rank))] = pick(rng, *tables.LONG)
    return tuple(dims)


_leaf = lru_cache(maxsize=256)(leaf)


class Leaves:
    """Inputs and constants that were drawn.

    Attributes:
        facts: what is known of each.
        made: of each its dims, None where nobody knows its rank, or the elements of a constant.
    """

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.made: list[tuple[Dim, ...] | Array | None] = []

    def input(self, shape: tuple[Dim, ...] | None, dtype: int) -> Any:
        """An input of a shape of numbers and symbols, or of any rank."""
        if shape is None:
            return self._added(None, Fact(dtype))
        known = tuple(symbolic.symbol(d) if isinstance(d, str) else d for d in shape)
        return self._added(shape, Fact(dtype, known))

    def constant(self, array: Array, dtype: int) -> Any:
        """A constant with the elements given."""
        return self._added(array, array_fact(array, dtype))

    def _added(self, made: tuple[Dim, ...] | Array | None, fact: Fact) -> Any:
        self.made.append(made)
        self.facts.append(fact)
        return _leaf(len(self.made) - 1)

    def forget(self, count: int) -> None:
        """Keep the first ones only."""
        del self.made[count:], self.facts[count:]

    def has_inputs(self) -> bool:
        return any(item is None or isinstance(item, tuple) for item in self.made)

    def operands(self, rng: np.random.Generator) -> Operands:
        """The same as operands of an example."""
        found = Operands(rng)
        for item, fact in zip(self.made, self.facts, strict=True):
            if item is None or isinstance(item, tuple):
                found.input(item, fact.dtype)
            else:
                found.constant(item, fact.dtype)
        return found
