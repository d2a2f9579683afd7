"""Robust least squares on the logarithms of times.

Residuals are weighed by how far those of their operator scatter, so that an operator that a model describes
badly does not spoil the parameters of the others; a loss that grows slowly keeps single outliers from
deciding.  From several starts, since the maxima in a model make valleys.  Then only what the measurements
determine is fitted again, and everything else is at its default (`determined`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.calibration.coordinates import Floats, Space
from egraph_opt.calibration.determination import Determination, judge
from egraph_opt.calibration.observations import Observation, operators
from egraph_opt.calibration.pricing import Predictions

STARTS = 3
"""The defaults, and points around them."""

SAMPLE = 500
"""So many observations, about, are enough to find out from where to start with all of them."""

SPREAD = 0.7
"""How far other starts lie, as a standard deviation of coordinates."""

PRIOR = 0.02
"""How strongly coordinates are drawn to their defaults while it is not known which are determined."""

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
        self.groups = operators(observations)
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
        slopes = trust[:, None] * self.predictions.derivatives(point, everything)
        return judge(self.space, slopes, spread, numbers)


def scatter(residuals: Floats) -> float:
    """The standard deviation of residuals, as their median distance from 0 says."""
    return max(NORMAL * float(np.median(abs(residuals))), LEAST_SCATTER)


def factor(residuals: Floats) -> float:
    """The median factor by which something is wrong, up or down; 1 is right."""
    return float(np.exp(np.median(abs(residuals))))
