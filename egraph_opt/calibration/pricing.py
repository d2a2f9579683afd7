"""What a cost model says of observations, and how that changes with its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from egraph_opt.calibration.coordinates import Floats, Space
from egraph_opt.calibration.observations import Observation
from egraph_opt.cost.model import CostModel, NodeView

LEAST = 1e-9
"""A price below this is taken as this, so that it has a logarithm."""

STEP = 1e-4
"""How far a coordinate is moved to see what it changes."""

PROBES = (-2.3, 2.3)
"""How far coordinates are moved to see what depends on them at all, to a tenth and tenfold: prices rise with
each, or fall."""

SEEN = 1e-6
"""A price that changes by less, as a share, does not depend on what was moved."""


class Predictions:
    """Logarithms of the prices of observations, at any point of a space.

    Each distinct node is priced once, and a derivative prices only what depends on its coordinate.
    """

    def __init__(self, space: Space, observations: Sequence[Observation]) -> None:
        self.space = space
        self.nodes, owners = _distinct(observations)
        self.flat = np.array([number for own in owners for number in own])
        self.counts = np.array([len(own) for own in owners])
        self.begins = np.cumsum(self.counts) - self.counts
        self.depending: list[npt.NDArray[np.int64]] = []
        self.look_around(np.zeros(len(space.coordinates)))

    def look_around(self, point: Floats) -> None:
        """Find out which nodes depend on which coordinate, near a point and far from it."""
        base = self._prices(self.space.make(point))
        least, most = self.space.bounds
        found: list[npt.NDArray[np.int64]] = []
        for k in range(len(self.space.coordinates)):
            changed = np.zeros(len(self.nodes), dtype=np.bool_)
            for probe in PROBES:
                moved = point.copy()
                moved[k] = np.clip(point[k] + probe, least[k], most[k])
                changed |= abs(self._prices(self.space.make(moved)) - base) > SEEN * base
            if self.depending:
                changed[self.depending[k]] = True
            found.append(np.flatnonzero(changed))
        self.depending = found

    def logs(self, point: Floats) -> Floats:
        """The logarithm of what each observation should have taken."""
        return self._logs(self._prices(self.space.make(point)))

    def derivatives(self, point: Floats, numbers: Sequence[int], step: float = STEP) -> Floats:
        """How the logarithms change with some coordinates: a column for each.

        Args:
            step: how far each is moved; to the other side where its range ends.
        """
        found = np.zeros((len(self.counts), len(numbers)))
        base = self._prices(self.space.make(point))
        least, most = self.space.bounds
        for column, k in enumerate(numbers):
            moved, prices, rows = point.copy(), base.copy(), self.depending[k]
            to = step if least[k] <= point[k] + step <= most[k] else -step
            moved[k] += to
            prices[rows] = self._prices(self.space.make(moved), rows.tolist())
            found[:, column] = (self._logs(prices) - self._logs(base)) / to
        return found

    @property
    def seen(self) -> list[int]:
        """The coordinates that any node depends on."""
        return [k for k, rows in enumerate(self.depending) if len(rows)]

    def _prices(self, model: CostModel, rows: Iterable[int] | None = None) -> Floats:
        wanted = self.nodes if rows is None else [self.nodes[k] for k in rows]
        return np.array([max(model.kernel_cost(node, core), LEAST) for node, core in wanted])

    def _logs(self, prices: Floats) -> Floats:
        means: Floats = np.log(np.add.reduceat(prices[self.flat], self.begins) / self.counts)
        return means


def _distinct(observations: Sequence[Observation]) -> tuple[list[tuple[NodeView, str]], list[list[int]]]:
    """The distinct nodes, and the numbers of those of each observation."""
    numbers: dict[object, int] = {}
    nodes: list[tuple[NodeView, str]] = []
    owners: list[list[int]] = []
    for observation in observations:
        own = []
        for view in observation.views:
            key = (view.op_type, view.domain, _frozen(view), view.inputs, view.outputs, observation.core)
            if key not in numbers:
                numbers[key] = len(nodes)
                nodes.append((view, observation.core))
            own.append(numbers[key])
        owners.append(own)
    return nodes, owners


def _frozen(view: NodeView) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in view.attributes.items()))
