"""What a certificate says of cost, checked: what the result costs, and that no graph is cheaper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from egraph_opt.certificates.cases import bound_of_parts
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.selection import check_choice
from egraph_opt.certificates.stated_bound import StatedBound
from egraph_opt.certificates.written_nodes import check_written
from egraph_opt.imports import onnx_ir as ir

PROVED = Fraction(1, 10**9)
"""The share of a cost that a bound may be below it: equal sums of prices differ by less as they are added."""

DIGITS = 6


@dataclass(frozen=True)
class CheckedBound:
    """What a certificate shows of cost.

    Attributes:
        cost_model, unit: what costs are of, and in.
        cost: of the chosen graph.
        lower_bound: no graph of the e-graph costs less; the cost where it is that, else rounded down.
        proved: the cost is optimal, up to a relative 1e-9.
        exact: the bound is the cost.
        classes, nodes: of the e-graph, as it is stated.
        cases: that the bound is shown by.
        accounted: nodes of the result that are nodes of the chosen graph; None where that is not shown.
        others: nodes of the result that hand on what these make.
        unwritten: chosen nodes with a price that are no node of the result.
        bodies: of If, Loop and Scan, priced as they were chosen.
    """

    cost_model: str
    unit: str
    cost: float
    lower_bound: float
    proved: bool
    exact: bool
    classes: int
    nodes: int
    cases: int
    accounted: int | None
    others: int
    unwritten: int
    bodies: int

    def lines(self) -> list[str]:
        """In words."""
        cost, unit = f"{self.cost:.{DIGITS}g}", "" if self.unit == self.cost_model else f" {self.unit}"
        bound = cost if self.proved else _down(self.lower_bound)
        found = [
            f"the graph costs {cost}{unit} ({self.cost_model}); "
            f"no graph of this e-graph is cheaper than {bound}",
            f"  of {self.nodes} e-nodes in {self.classes} classes, by {self.cases} cases in exact numbers",
        ]
        if self.accounted is None:
            found.append("  that the nodes of the result are those that were chosen is not shown")
        else:
            others = f"; {self.others} hand on what these make" if self.others else ""
            found.append(f"  {self.accounted} nodes of the result are those that were chosen{others}")
        if self.unwritten:
            found.append(f"  priced, and no node of the result (conversions of layout): {self.unwritten}")
        if self.bodies:
            found.append(f"  bodies of If, Loop and Scan are priced as they were chosen: {self.bodies}")
        return found


def _down(value: float) -> str:
    """A number to some digits, not above it."""
    text = f"{value:.{DIGITS}g}"
    if float(text) <= value:
        return text
    step = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - DIGITS)
    return f"{float(text) - step:.{DIGITS}g}"


def check_bound(found: StatedBound, running: Sequence[ir.Node]) -> CheckedBound:
    """Check what a certificate says of cost.

    Args:
        running: the nodes of the result that compute something from inputs.

    Raises:
        CertificateError: it does not show that; the message names the first thing that is wrong.
    """
    problem = found.problem
    check_choice(problem, found.chosen)
    accounted = (
        None if found.written is None else check_written(problem, found.chosen, found.written, running)
    )
    cost, bound = problem.cost_of(found.chosen), bound_of_parts(problem, found.parts, found.fineness)
    if bound < found.bound:
        raise CertificateError(
            f"the bound is said to be {float(found.bound):.17g}, and what is shown is {float(bound):.17g}"
        )
    if found.bound > cost:  # which no evidence can show
        raise CertificateError(f"the bound {float(found.bound):.17g} is above the cost {float(cost):.17g}")
    lower = float(found.bound)
    return CheckedBound(
        cost_model=found.cost_model,
        unit=found.unit,
        cost=float(cost),
        lower_bound=lower
        if found.bound == cost or Fraction(lower) <= found.bound
        else math.nextafter(lower, 0.0),
        proved=found.bound >= cost * (1 - PROVED),
        exact=found.bound == cost,
        classes=len(problem.options),
        nodes=len(problem.owner),
        cases=sum(len(part.cases) for part in found.parts),
        accounted=None if accounted is None else accounted.chosen,
        others=0 if accounted is None else accounted.others,
        unwritten=0 if accounted is None else accounted.unwritten,
        bodies=found.bodies,
    )
