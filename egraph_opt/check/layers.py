"""Operands and attributes of recurrent layers: all have the same directions, gates and hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.choices import Random, chance, pick, picks
from egraph_opt.facts.fact import ABSENT, Dim, Fact, Shape
from egraph_opt.operators.recurrent import GATES, RecurrentLayer

LENGTHS, HIDDEN, CELL = 5, 6, 7
"""The numbers of the operands that need not be there, behind x and four weights."""

ABSENT_SHARE = 0.6
"""How often each of them is not."""

FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
"""Activations of a layer for each direction."""


def layer_operand(rng: Random, before: list[Shape | None], wish: Sequence[Dim] | None) -> Shape | None:
    """The shape of x, the lengths or a state."""
    if not before:
        steps, batch, features = pick(rng, *tables.SEQUENCES), pick(rng, 1, 2, 3), pick(rng, 1, 2, 3)
        return tuple(wish) if wish is not None and len(wish) == 3 else (steps, batch, features)
    x, recurrence = before[0], before[2] if len(before) > 2 else None
    if x is None or recurrence is None or len(x) != 3 or len(recurrence) != 3:
        return None
    return (x[1],) if len(before) == LENGTHS else (recurrence[0], x[1], recurrence[2])


def layer_weights(rng: Random, x: Fact) -> tuple[Shape | None, ...]:
    """The shapes of W, R and B of some layer on x, and of no peepholes; None of what is absent."""
    kind = pick(rng, *GATES)
    directions, hidden = pick(rng, 1, 1, 2), pick(rng, 1, 2, 3)
    features = x.shape[2] if x.shape is not None and len(x.shape) == 3 else 1
    rows = GATES[kind] * hidden
    bias = None if chance(rng, 0.3) else (directions, 2 * rows)
    return (directions, rows, features), (directions, rows, hidden), bias, None


def layer_extra(rng: Random, number: int, before: Sequence[Fact]) -> np.ndarray[Any, Any] | Fact | None:
    """Lengths, or that an operand is not there; None where it is a state."""
    if number < LENGTHS:
        return None
    x, recurrence = before[0].shape, before[2].shape
    if chance(rng, ABSENT_SHARE) or (number == CELL and _kind(before) != "LSTM"):
        return ABSENT
    if number != LENGTHS:
        return None
    if x is None or len(x) != 3 or recurrence is None or not all(isinstance(d, int) for d in x[:2]):
        return ABSENT
    return np.array(picks(rng, range(1, max(int(x[0]), 1) + 1), int(x[1])), np.int32)  # type: ignore[arg-type]


def layer_of(rng: Random, shape: Shape, before: Any, operands: Sequence[Fact]) -> RecurrentLayer:
    """The attributes that suit the weights.

    Raises:
        LookupError: these are of no layer.
    """
    kind, recurrence = _kind(operands), operands[2].shape
    if not kind or recurrence is None:
        raise LookupError("weights of no recurrent layer")
    direction = "bidirectional" if recurrence[0] == 2 else pick(rng, "forward", "forward", "reverse")
    settings: dict[str, Any] = {"direction": direction, "hidden_size": recurrence[2]}
    if chance(rng, 0.3):
        count = int(recurrence[0] or 1) * FUNCTIONS[kind]
        settings["activations"] = tuple(picks(rng, tables.ACTIVATIONS, count))
    if chance(rng, 0.2):
        settings["clip"] = pick(rng, 0.5, 5.0)
    if kind == "GRU" and chance(rng, 0.5):
        settings["linear_before_reset"] = 1
    return RecurrentLayer(kind, tuple(sorted(settings.items())))


def _kind(operands: Sequence[Fact]) -> str:
    """The layer that has so many rows of weights for a hidden unit; "" where none has."""
    recurrence = operands[2].shape if len(operands) > 2 else None
    if recurrence is None or len(recurrence) != 3 or not all(isinstance(d, int) and d for d in recurrence):
        return ""
    rows, hidden = (int(d) for d in recurrence[1:])  # type: ignore[arg-type]
    return next((kind for kind, gates in GATES.items() if rows == gates * hidden), "")
