"""From a profile to parameters: read, match, fit, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from egraph_opt.cost.parameters import Override
from egraph_opt.errors import CalibrationError, ProfileError
from egraph_opt.lab.calibration.coordinates import Coordinate, Space, space_of
from egraph_opt.lab.calibration.fitting import Fit, fit, median_factor
from egraph_opt.lab.calibration.model_nodes import read_nodes
from egraph_opt.lab.calibration.observations import LEAST, Observation, Observations, by_operator, observe
from egraph_opt.lab.calibration.profiles import read_profile

AT_BOUND = 1e-3
"""A coordinate that is as near to the end of its range has run into it."""

RANGE_END = "at the end of its range"

NO_PRICE = "the cost model gives it no price"


@dataclass(frozen=True)
class Learned:
    """A parameter that the measurements determine.

    Attributes:
        value: what it is now.
        error: its standard error, as a share of the value.
        remark: what else is to be said of the value: "at most" that, "at the end of its range"; mostly "".
    """

    coordinate: Coordinate
    value: float
    error: float
    remark: str = ""

    @property
    def name(self) -> str:
        return self.coordinate.name


@dataclass(frozen=True)
class OperatorError:
    """By what factor prices are wrong, up or down, in the middle of an operator's kernels."""

    operator: str
    kernels: int
    before: float
    after: float


@dataclass(frozen=True)
class Calibration:
    """What a profile says of a cost model.

    Attributes:
        cost: the name of the cost model.
        space: what might have been fitted.
        learned: the parameters that are determined.
        kept: why the others keep their defaults, by name.
        operators: errors by operator, the most frequent first.
        total: those of all kernels.
        observations: what was used, and what was left out.
    """

    cost: str
    space: Space
    learned: tuple[Learned, ...]
    kept: Mapping[str, str]
    operators: tuple[OperatorError, ...]
    total: OperatorError
    observations: Observations


@dataclass(frozen=True)
class CalibrationRequest:
    """What is calibrated.

    Attributes:
        profile: a profiler's CSV file, or exported measurements.
        cost: the cost model, named as for `--cost`.
        held: values of parameters that stay.
        only: parameters that may change; by default all but those of the data sheet.
        model: the model that ran; None where nobody has it.
        sizes: of its symbolic dims.
    """

    profile: Path
    cost: str = "ascend"
    held: tuple[Override, ...] = ()
    only: Sequence[str] = ()
    model: Path | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)


def calibrate(
    request: CalibrationRequest, progress: Callable[[str, float | None], None] = lambda stage, done: None
) -> Calibration:
    """Fit the parameters of a cost model to a profile.

    Raises:
        ProfileError: the profile has no kernel that a price can be found for.
        CalibrationError: no parameter is determined by it.
        CostModelError, UnknownParameterError: the cost model.
        ModelReadError, InvalidModelError, ExternalDataError: the model.
    """
    progress("read", None)
    space = space_of(request.cost, request.held, request.only)
    if not space.coordinates:
        reasons = _kept(space.kept) or "it declares none"
        raise CalibrationError(f"{request.cost} has no number that could be fitted: {reasons}")
    profile = read_profile(request.profile)
    nodes = None if request.model is None else read_nodes(request.model, request.sizes)
    seen = _priced(space, observe(profile, nodes))
    if not seen.used:
        raise ProfileError(f"{request.profile}: no row can be used: {_reasons(seen.left_out)}")
    found = fit(space, seen.used, lambda done: progress("fit", done))
    if not found.determination.numbers:
        reasons = f"{len(seen.used)} kernels determine no parameter of {request.cost}"
        raise CalibrationError(f"{request.profile}: {reasons}: {_kept(found.determination.reasons)}")
    return _calibration(request.cost, space, found, seen)


def _priced(space: Space, seen: Observations) -> Observations:
    """The observations to which the cost model gives a price."""
    model = space.model.make(space.held)

    def has_price(entry: Observation) -> bool:
        return sum(model.kernel_cost(view, entry.core) for view in entry.views) > LEAST

    used = tuple(entry for entry in seen.used if has_price(entry))
    free = sum(entry.runs for entry in seen.used) - sum(entry.runs for entry in used)
    left_out = {**seen.left_out, **({NO_PRICE: free} if free else {})}
    return replace(seen, used=used, rows=seen.rows - free, left_out=left_out)


def _reasons(left_out: Mapping[str, int]) -> str:
    return "; ".join(f"{reason} ({count})" for reason, count in list(left_out.items())[:4])


def _kept(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in list(reasons.items())[:3])


def _calibration(cost: str, space: Space, found: Fit, seen: Observations) -> Calibration:
    learned = tuple(
        _learned(
            space.coordinates[k],
            float(found.point[k]),
            found.determination.errors[k],
            found.determination.limits.get(k, ""),
        )
        for k in found.determination.numbers
    )
    errors = tuple(
        OperatorError(
            name,
            len(own),
            median_factor(found.before[np.array(own)]),
            median_factor(found.after[np.array(own)]),
        )
        for name, own in by_operator(seen.used).items()
    )
    total = OperatorError("all", len(seen.used), median_factor(found.before), median_factor(found.after))
    kept = {**space.kept, **found.determination.reasons}
    return Calibration(cost, space, learned, kept, errors, total, seen)


def _learned(coordinate: Coordinate, place: float, error: float, limit: str) -> Learned:
    least, most = coordinate.bounds
    if place - least < AT_BOUND or most - place < AT_BOUND:
        limit = RANGE_END
    value = min(max(_rounded(coordinate.value(place), error), coordinate.least), coordinate.most)
    return Learned(coordinate, value, error, limit)


def _rounded(value: float, error: float) -> float:
    """As many digits as its error leaves, and one more.

    >>> _rounded(3.14159, 0.02), _rounded(0.0123456, 0.2)
    (3.142, 0.0123)
    """
    digits = 4 if error < 0.05 else 3
    return float(f"{value:.{digits}g}")
