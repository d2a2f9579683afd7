"""Operands and attributes of rotary embeddings: heads along an axis of their own or in a row, all of a row
rotated or its first part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.check.choices import Random, pick
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.rotary import settings_of

SIZES = (2, 4, 8)
"""Features of a head."""


def rotated_operand(rng: Random, before: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """The shape of x, then of the cosines, then of the sines."""
    if not before:
        return tuple(wish) if wish is not None and len(wish) in (3, 4) else _heads(rng)
    if len(before) == 2:
        return before[1]
    x = before[0]
    if x is None or len(x) not in (3, 4) or not isinstance(x[-1], int) or x[-1] < 2:
        return None
    sizes = [x[-1] // heads for heads in (1, 2, 3) if len(x) == 3 and x[-1] % (2 * heads) == 0] or [x[-1]]
    size = pick(rng, *sizes)
    return (x[0], x[-2], pick(rng, size // 2, size // 2, max(size // 4, 1)))


def rotation(rng: Random, shape: Shape, before: Mapping[str, Any], operands: Sequence[Fact]) -> Any:
    """The attributes that suit the angles.

    Raises:
        LookupError: none do.
    """
    angles = operands[1].shape if len(operands) > 1 else None
    pairs, row = angles[-1] if angles else None, shape[-1] if shape else None
    if not isinstance(pairs, int) or not isinstance(row, int) or 2 * pairs > row:
        raise LookupError("angles of no part of a row")
    heads = [n for n in (1, 2, 3) if row % n == 0 and row // n >= 2 * pairs] if len(shape) == 3 else [0]
    count = int(pick(rng, *heads))
    whole = row // max(count, 1) == 2 * pairs
    return settings_of(int(pick(rng, 0, 1)), count, 0 if whole and pick(rng, True, False) else 2 * pairs)


def _heads(rng: Random) -> Shape:
    batch, heads, length, size = pick(rng, 1, 2), pick(rng, 1, 2, 3), pick(rng, 1, 4, 6), pick(rng, *SIZES)
    apart = pick(rng, True, False)
    return (batch, heads, length, size) if apart else (batch, length, heads * size)
