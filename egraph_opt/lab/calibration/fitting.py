"""Robust least squares on the logarithms of times.

Residuals are weighed by how far those of their operator scatter, so that an operator that a model describes
badly does not spoil the parameters of the others; a loss that grows slowly keeps single outliers from
deciding.  From several starts, since the maxima in a model make valleys.  Then only what the measurements
determine is fitted again, and everything else is at its default (`determined`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.lab.calibration.coordinates import Floats, Space
from egraph_opt.lab.calibration.determination import MOST_ERROR, WIDE, Determination, judge, kinks
from egraph_opt.lab.calibration.observations import Observation, Predictions, by_operator

STARTS = 3
"""The defaults, and points around them."""

SAMPLE = 500
"""So many observations, about, are enough to find out from where to start with all of them."""

SPREAD = 0.7
"""How far other starts lie, as a standard deviation of coordinates."""

PRIOR = 0.02
"""How strongly coordinates are drawn to their defaults while it is not known which are determined."""

SURE = 2.0
"""How much the loss has to grow with a default, to show that it is wrong."""

ENOUGH = 1e-5
"""A step that changes less than this, as a share, is the last."""

MOST_STEPS = 100

ROUNDS = 6
"""How often at most it is judged what is determined."""

LEAST_SCATTER = 0.01
"""No clock is better than this."""

FEWEST = 5
"""Operators with fewer observations have no scatter of their own."""

MOST_WEIGHT = 3.0
"""No operator counts more or less than the others by more than this."""

NORMAL = 1.4826
"""The standard deviation of normal numbers whose median distance is 1."""


@dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes:
        point: the coordinates; those that are not determined are 0, which is the default.
        determination: which are determined, and why the others are not.
        before, after: by observation the logarithm of measured / price.
    """

    point: Floats
    determination: Determination
    before: Floats
    after: Floats


def fit(
    space: Space,
    observations: Sequence[Observation],
    progress: Callable[[float], None] = lambda done: None,
    *,
    seed: int = 0,
) -> Fit:
    """Find the parameters that explain the observations best."""
    defaults = np.zeros(len(space.coordinates))
    some = observations[:: -(-len(observations) // SAMPLE)]
    best = _explored(_Minimizer(space, some), defaults, seed, progress)
    search = _Minimizer(space, observations)
    search.predictions.look_around(best)
    search.weigh(best)
    point, _ = search.minimum(best, search.predictions.seen, PRIOR)
    progress((STARTS + 1) / (STARTS + 2))
    point, determination = search.reduced(point)
    progress(1.0)
    return Fit(point, determination, search.residuals(defaults), search.residuals(point))


def _explored(search: _Minimizer, defaults: Floats, seed: int, progress: Callable[[float], None]) -> Floats:
    """The best point from several starts."""
    random, seen = np.random.default_rng(seed), search.predictions.seen
    best, lowest = defaults, np.inf
    for number in range(STARTS):
        start = defaults.copy()
        start[seen] = random.normal(0, SPREAD, len(seen)) if number else 0.0
        found, height = search.minimum(start, seen, PRIOR)
        if height < lowest:
            best, lowest = found, height
        progress((number + 1) / (STARTS + 2))
    return best


class _Minimizer:
    """Observations, and how much each of them counts."""

    def __init__(self, space: Space, observations: Sequence[Observation]) -> None:
        self.space = space
        self.predictions = Predictions(space, observations)
        self.measured = np.log([observation.micros for observation in observations])
        self.groups = by_operator(observations)
        self.weights = np.ones(len(observations))
        self.scale = 0.3

    def residuals(self, point: Floats) -> Floats:
        return self.measured - self.predictions.logs(point)

    def minimum(self, start: Floats, numbers: Sequence[int], prior: float) -> tuple[Floats, float]:
        """Where the loss is least, moving some coordinates; and how large it is there."""
        from scipy.optimize import least_squares

        if not numbers:
            return start, float("inf")
        chosen = np.array(numbers)
        least, most = (side[chosen] for side in self.space.bounds)
        point = start.copy()

        def height(moved: Floats) -> Floats:
            point[chosen] = moved
            return np.concatenate([self.weights * self.residuals(point), prior * moved])

        def slopes(moved: Floats) -> Floats:
            point[chosen] = moved
            found = -self.weights[:, None] * self.predictions.derivatives(point, numbers)
            return np.concatenate([found, prior * np.eye(len(chosen))])

        inside = np.clip(start[chosen], least, most)
        robust = {"loss": "cauchy", "f_scale": self.scale}
        ends = {"ftol": ENOUGH, "xtol": ENOUGH, "max_nfev": MOST_STEPS}
        solved = least_squares(height, inside, slopes, bounds=(least, most), **robust, **ends)
        point[chosen] = solved.x
        return point, float(solved.cost)

    def weigh(self, point: Floats) -> None:
        """Let operators count by how far their residuals scatter, and find what an outlier is."""
        left = self.residuals(point)
        overall = scatter(left)
        for numbers in self.groups.values():
            own = scatter(left[numbers]) if len(numbers) >= FEWEST else overall
            self.weights[numbers] = np.clip(overall / own, 1 / MOST_WEIGHT, MOST_WEIGHT)
        self.scale = 2 * overall

    def reduced(self, point: Floats) -> tuple[Floats, Determination]:
        """Fit only what is determined, until that stays the same."""
        numbers: tuple[int, ...] = tuple(range(len(point)))
        for _ in range(ROUNDS):
            determination = self._judge(point, numbers)
            start = np.zeros(len(point))
            start[list(determination.numbers)] = point[list(determination.numbers)]
            point, _ = self.minimum(start, determination.numbers, 0.0)
            self.weigh(point)
            if determination.numbers == numbers:
                break
            numbers = determination.numbers
        last = self._judge(point, numbers)
        if last.numbers != numbers:  # what is no longer determined goes back to its default
            point[[k for k in numbers if k not in last.numbers]] = 0.0
        return point, last

    def _judge(self, point: Floats, numbers: Sequence[int]) -> Determination:
        everything = range(len(point))
        weighted = self.weights * self.residuals(point)
        spread = scatter(weighted)
        trust = self.weights / (1 + (weighted / self.scale) ** 2)
        up, down = (
            trust[:, None] * self.predictions.derivatives(point, everything, step) for step in (WIDE, -WIDE)
        )
        found = judge(self.space, np.where(abs(up) < abs(down), up, down), spread, numbers)
        return self._with_limits(found, point, np.where(abs(up) < abs(down), down, up), kinks(up, down))

    def _with_limits(
        self, found: Determination, point: Floats, slopes: Floats, limits: Mapping[int, str]
    ) -> Determination:
        """With those that times change with one way only: they are limits where their defaults lie beyond."""
        sizes = np.linalg.norm(slopes, axis=0) * MOST_ERROR
        spread, height = scatter(self.weights * self.residuals(point)), self._loss(point)
        errors, reasons, kept = dict(found.errors), dict(found.reasons), dict[int, str]()
        for k, limit in limits.items():
            moved = point.copy()
            moved[k] = 0.0
            if k in errors:
                kept[k] = limit
            elif sizes[k] >= spread and self._loss(moved) > height + SURE:
                errors[k], kept[k] = float(MOST_ERROR * spread / sizes[k]), limit
                reasons.pop(self.space.coordinates[k].name, None)
        return Determination(errors, reasons, kept)

    def _loss(self, point: Floats) -> float:
        """What is made small, in units of the scale squared."""
        squares = (self.weights * self.residuals(point) / self.scale) ** 2
        return float(np.log1p(squares).sum())


def scatter(residuals: Floats) -> float:
    """The standard deviation of residuals, as their median distance from 0 says."""
    return max(NORMAL * float(np.median(abs(residuals))), LEAST_SCATTER)


def median_factor(residuals: Floats) -> float:
    """The median factor by which something is wrong, up or down; 1 is right."""
    return float(np.exp(np.median(abs(residuals))))
