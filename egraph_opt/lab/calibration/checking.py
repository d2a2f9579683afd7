"""What a cost model predicts of the nodes of a model, next to what a profile of the model measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from egraph_opt.cost.model import CostModel
from egraph_opt.errors import ProfileError
from egraph_opt.lab.calibration.kernels import UnusableError
from egraph_opt.lab.calibration.model_nodes import ModelNodes, read_nodes
from egraph_opt.lab.calibration.observations import observation
from egraph_opt.lab.calibration.profiles import ProfileRow, read_profile


@dataclass(frozen=True)
class CheckedKernel:
    """A kernel of the profile.

    Attributes:
        nodes: names of the nodes that it computes; none where the compiler put it in.
        type: of the kernel, as the profile has it.
        runs: how often it ran.
        measured: microseconds of a run.
        predicted: what the cost model says; NaN where it says nothing.
        remark: why it says nothing.
    """

    nodes: tuple[str, ...]
    type: str
    runs: int
    measured: float
    predicted: float = math.nan
    remark: str = ""

    @property
    def factor(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured


@dataclass(frozen=True)
class ProfileCheck:
    """A profile and a model, kernel by kernel.

    Attributes:
        kernels: those that differ most first, then those without a prediction.
        silent: nodes of the model that no kernel has the name of: they cost nothing, or are in others.
        left_out: lines of the profile that have no time, by reason.
    """

    profile: str
    model: str
    cost: str
    unit: str
    kernels: tuple[CheckedKernel, ...]
    silent: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def priced(self) -> tuple[CheckedKernel, ...]:
        """The kernels of which there are both figures."""
        return tuple(kernel for kernel in self.kernels if math.isfinite(kernel.predicted))

    @property
    def measured(self) -> float:
        """The sum of what was measured of those, each once."""
        return math.fsum(kernel.measured for kernel in self.priced)

    @property
    def predicted(self) -> float:
        return math.fsum(kernel.predicted for kernel in self.priced)

    @property
    def unpriced(self) -> float:
        """The sum of what was measured of the others."""
        return math.fsum(kernel.measured for kernel in self.kernels) - self.measured


def check_profile(
    profile: Path, model: Path, cost: CostModel, sizes: Mapping[str, int] | None = None
) -> ProfileCheck:
    """Compare a profile with the prices of the kernels of a model.

    Args:
        sizes: of symbolic dims of the model.

    Raises:
        ProfileError: the profile cannot be read, or has no kernels by name.
        ModelReadError, InvalidModelError, ExternalDataError: the model.
    """
    read, nodes = read_profile(profile), read_nodes(model, sizes)
    rows = [row for row in read.rows if not row.total and not row.key]
    if not rows:
        raise ProfileError(f"{profile}: has no kernels with names: give an op_summary or kernel_details")
    kernels = [_checked(row, nodes, cost) for row in rows]
    if not any(kernel.nodes for kernel in kernels):
        raise ProfileError(
            f"{profile}: no kernel has the name of a node of {model}: is it the model that ran?"
        )
    named = {name for kernel in kernels for name in kernel.nodes}
    return ProfileCheck(
        read.label,
        str(model),
        cost.name,
        cost.unit,
        tuple(sorted(kernels, key=_order)),
        tuple(name for name in nodes.by_name if name not in named),
        dict(Counter(read.left_out).most_common()),
    )


def _order(kernel: CheckedKernel) -> tuple[bool, float, Sequence[str]]:
    known = math.isfinite(kernel.predicted)
    difference = abs(kernel.predicted - kernel.measured) if known else kernel.measured
    return not known, -difference, kernel.nodes


def _checked(row: ProfileRow, nodes: ModelNodes, cost: CostModel) -> CheckedKernel:
    names = nodes.names_within(row.name)
    try:
        found = observation(row, nodes)
    except UnusableError as error:
        return CheckedKernel(names, row.type, row.count, row.micros, remark=str(error))
    predicted = math.fsum(cost.kernel_cost(view, found.core) for view in found.views) / len(found.views)
    return CheckedKernel(names, row.type, row.count, row.micros, predicted)


def check_lines(found: ProfileCheck, most: int) -> Iterator[str]:
    """The comparison in lines of 80 columns."""
    priced = found.priced
    yield f"{found.profile}: {len(found.kernels)} kernels, {len(priced)} of them priced by {found.cost}"
    yield f"{'measured':>10}{'predicted':>11}{'factor':>8}  kernel and nodes"
    for kernel in found.kernels[:most]:
        what = f"{kernel.type}: {', '.join(kernel.nodes) or 'put in by the compiler'}"
        if math.isfinite(kernel.predicted):
            figures = f"{kernel.measured:>10.2f}{kernel.predicted:>11.2f}{kernel.factor:>8.2f}"
        else:
            figures, what = f"{kernel.measured:>10.2f}{'?':>11}{'':>8}", f"{what} ({kernel.remark})"
        yield f"{figures}  {what}"
    if len(found.kernels) > most:
        yield f"{len(found.kernels) - most} more: --most N, --json"
    if priced:
        total = f"{found.measured:>10.2f}{found.predicted:>11.2f}{found.predicted / found.measured:>8.2f}"
        yield f"{total}  all that are priced, in {found.unit}"
    if found.unpriced > 0:
        yield f"{found.unpriced:>10.2f}{'':>19}  without a price"
    if found.silent:
        yield f"{len(found.silent)} nodes have no kernel of their name: {', '.join(found.silent)}"
    for reason, count in found.left_out.items():
        yield f"left out {count}: {reason}"
