"""Which parameters measurements determine, from how residuals change with each of them.

Parameters are taken one after the other, those first that are known least (confidence U before I, M, D), and
of these the ones that change most.  One that changes nothing which those before it do not change as well says
nothing of its own: only their product, or their sum, is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.lab.calibration.coordinates import Coordinate, Floats, Space

MOST_ERROR = 0.25
"""The standard error, as a share of the value, beyond which a parameter is not determined."""

WIDE = MOST_ERROR
"""How far coordinates are moved, either way, to see whether times change with them."""

KINK = 0.5
"""Where times change less than this one way, as a share of the other way, a maximum switches there."""

FEWEST_ROWS = 3.0
"""So many observations have to change with it, at least; one that changes half as much counts for less."""

BY_CONFIDENCE = "UIMD"

UNSEEN = "no time here depends on it"
FEW = "too few kernels depend on it"
VAGUE = "the times scatter too much to tell"


@dataclass(frozen=True)
class Determination:
    """What is determined.

    Attributes:
        errors: standard errors by number of the coordinate, as shares of the value.
        reasons: by name of those that are not determined why not.
        limits: of those that times change with one way only what the value is: "at most" or "at least".
    """

    errors: Mapping[int, float]
    reasons: Mapping[str, str]
    limits: Mapping[int, str] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The coordinates that are determined."""
        return tuple(sorted(self.errors))


def judge(space: Space, slopes: Floats, spread: float, numbers: Sequence[int]) -> Determination:
    """Find out which coordinates are determined.

    Args:
        slopes: by observation and coordinate how the weighted residual changes.
        spread: of the weighted residuals.
        numbers: the coordinates that are in question; the others are not determined.
    """
    reasons = dict(_obvious(space, slopes))
    chosen: list[int] = []
    for k in _in_turn(space.coordinates, slopes, [k for k in numbers if _name(space, k) not in reasons]):
        own = _apart(slopes[:, k], slopes[:, chosen])
        if float(np.linalg.norm(own)) * MOST_ERROR >= spread:
            chosen.append(k)
    errors = _errors(slopes, chosen, spread)
    while errors and max(errors.values()) > MOST_ERROR:
        worst = max(errors, key=lambda k: errors[k])
        chosen.remove(worst)
        errors = _errors(slopes, chosen, spread)
    for k in range(len(space.coordinates)):
        if k not in errors:
            alone = float(np.linalg.norm(slopes[:, k])) * MOST_ERROR >= spread
            reasons.setdefault(_name(space, k), _together(space, slopes, k, chosen) if alone else VAGUE)
    return Determination(errors, reasons)


def kinks(up: Floats, down: Floats) -> dict[int, str]:
    """The coordinates with which times change one way only, and what their values are then.

    Args:
        up, down: how residuals change where each coordinate becomes larger, and smaller.
    """
    above, below = np.linalg.norm(up, axis=0), np.linalg.norm(down, axis=0)
    most = {int(k): "at most" for k in np.flatnonzero(below < KINK * above)}
    return most | {int(k): "at least" for k in np.flatnonzero(above < KINK * below)}


def _name(space: Space, number: int) -> str:
    return space.coordinates[number].name


def _obvious(space: Space, slopes: Floats) -> list[tuple[str, str]]:
    """What no observation, or hardly one, changes with."""
    found = []
    for k, coordinate in enumerate(space.coordinates):
        squares = slopes[:, k] ** 2
        total = float(squares.sum())
        if total < 1e-12:
            found.append((coordinate.name, UNSEEN))
        elif total**2 / float((squares**2).sum()) < FEWEST_ROWS:
            found.append((coordinate.name, FEW))
    return found


def _in_turn(coordinates: Sequence[Coordinate], slopes: Floats, numbers: Sequence[int]) -> list[int]:
    """The least known first, of these what changes most."""
    sizes = np.linalg.norm(slopes, axis=0)
    return sorted(numbers, key=lambda k: (BY_CONFIDENCE.find(coordinates[k].confidence), -sizes[k]))


def _apart(column: Floats, others: Floats) -> Floats:
    """The part of a column that no combination of others makes."""
    if not others.shape[1]:
        return column
    solved, *_ = np.linalg.lstsq(others, column, rcond=None)
    return column - others @ solved


def _together(space: Space, slopes: Floats, number: int, chosen: Sequence[int]) -> str:
    """With which parameter it cannot be told apart: the one that changes most alike."""
    if not chosen:
        return VAGUE
    own = slopes[:, number] / np.linalg.norm(slopes[:, number])
    alike = [abs(float(own @ slopes[:, k])) / float(np.linalg.norm(slopes[:, k])) for k in chosen]
    return f"cannot be told apart from {_name(space, chosen[int(np.argmax(alike))])}"


def _errors(slopes: Floats, chosen: Sequence[int], spread: float) -> dict[int, float]:
    """Standard errors of coordinates."""
    if not chosen:
        return {}
    part = slopes[:, list(chosen)]
    freedom = len(part) / max(len(part) - len(chosen), 1)
    variances = np.diag(np.linalg.pinv(part.T @ part)) * spread**2 * freedom
    return {k: float(np.sqrt(variance)) for k, variance in zip(chosen, variances, strict=True)}
