"""Saturation again, from the graph that was chosen, as long as that makes it cheaper or smaller.

Guards keep some laws from what they have made themselves: what was merged from n parts is merged from any of
them, and e-graphs would grow with the square of n, or worse.  In the graph that was chosen, what was made is
as good as what was there before, and those laws go on from it.

Likewise what has become constant behind operators that no law looks into (a NonZero of a mask whose shape is
known by now): constants are computed where a graph is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

import onnx_ir as ir

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.repricing import Key
from egraph_opt.forking import cached_property
from egraph_opt.graph.node_counts import computed_from_constants
from egraph_opt.laws.law import registered
from egraph_opt.pipeline.limits import Clock
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.uses_of_laws import uses_of_laws
from egraph_opt.rebuild.value_info import ValueInfo
from egraph_opt.report.figures import RewriteReport

MOST_ITERATIONS = 8
"""Each makes the graph cheaper or smaller, so that there is an end; this is for prices that hardly differ."""

WORTH = 1e-6
"""The share by which an iteration has to make the graph cheaper."""

ROUNDING = 1e-9
"""The share by which two sums of the same prices may differ."""

Again = Callable[[ir.Model, Clock], Region | None]
"""Saturates a rebuilt model by the same laws, in the time that is left; None where there is too little."""


@dataclass(frozen=True)
class Iteration:
    """A saturation and what was chosen of it, rebuilt.

    Attributes:
        info: of the values and nodes of the rebuilt model.
        key: what it was priced at.
    """

    region: Region
    extracted: Extracted = field(repr=False)
    model: ir.Model = field(repr=False)
    info: ValueInfo = field(repr=False)
    key: Key = field(repr=False)

    @cached_property
    def uses(self) -> tuple[RewriteReport, ...]:
        """What became of the matches of each law."""
        return uses_of_laws(self.region.walk(), self.extracted.walk())


AnyIteration = TypeVar("AnyIteration", bound=Iteration)


def may_go_on(last: Iteration, model: CostModel, given: ir.Model) -> bool:
    """Whether another iteration may find something.

    A law was used that is kept from what it made, or a value has become constant that was none in the model
    that was given to it.

    Where a cost model has a margin for nodes that the original does not have, costs of two iterations cannot
    be compared.
    """
    if model.margin or any(part.saturation.stop != "saturated" for part in last.region.walk()):
        return False
    return any(row.used and _resumes(row) for row in last.uses) or _has_new_constants(last.model, given)


def _has_new_constants(model: ir.Model, given: ir.Model) -> bool:
    """Whether something is computed from constants alone that the model before computed from inputs."""
    still = computed_from_constants(model)
    if not still:
        return False
    before = {value.name for node in given.graph for value in node.outputs} - computed_from_constants(given)
    return not before.isdisjoint(still)


def _resumes(row: RewriteReport) -> bool:
    law = registered.get(f"{row.ruleset}.{row.name}")
    return law is not None and law.resumes


def restarted(
    first: AnyIteration,
    model: CostModel,
    again: Callable[[ir.Model], Region | None],
    choose: Callable[[ir.Model, Region], AnyIteration],
    *,
    given: ir.Model,
    deadline: float,
    failure: Callable[[Exception], None],
) -> list[AnyIteration]:
    """All iterations that made the graph cheaper or smaller, and the first; what goes wrong ends them.

    Args:
        given: the model that the first one is of.
        choose: of a model that was saturated; names of values are new beside those of the model.
        deadline: when the graph has to be chosen, as `time.monotonic` has it.
        failure: called with what went wrong in an iteration, and may raise it.
    """
    found = [first]
    started = time.monotonic()
    while len(found) < MOST_ITERATIONS:
        before = found[-2].model if len(found) > 1 else given
        if not may_go_on(found[-1], model, before):
            break
        took = (time.monotonic() - started) / len(found)
        if time.monotonic() + 2 * took > deadline:
            break
        try:
            following = _next(found[-1], again, choose)
        except Exception as error:  # of any kind: what was found before is good
            failure(error)
            break
        if following is None:
            break
        saving = first.extracted.fusion_saving
        extracted = replace(following.extracted, fusion_saving=saving)
        found.append(replace(following, extracted=extracted))
    return found


def _next(
    last: AnyIteration,
    again: Callable[[ir.Model], Region | None],
    choose: Callable[[ir.Model, Region], AnyIteration],
) -> AnyIteration | None:
    """One more iteration; None where it makes nothing cheaper, and has no fewer nodes for the same price."""
    region = again(last.model)
    if region is None:
        return None
    found = choose(last.model, region)
    before, after = last.extracted.solution.cost, found.extracted.solution.cost
    smaller = after <= before * (1 + ROUNDING) and len(found.model.graph) < len(last.model.graph)
    return found if smaller or after < before * (1 - WORTH) else None


def uses_in(
    iterations: Sequence[Iteration], before: Sequence[RewriteReport] = ()
) -> tuple[RewriteReport, ...]:
    """What became of the matches of each law, in all iterations and before them."""
    return added(before, *(iteration.uses for iteration in iterations))


def added(*uses: Sequence[RewriteReport]) -> tuple[RewriteReport, ...]:
    """What became of the matches of each law, several times."""
    found: dict[tuple[str, str], RewriteReport] = {}
    for row in chain.from_iterable(uses):
        known = found.get((row.ruleset, row.name))
        if known is not None:
            saves = row.saves or known.saves
            row = replace(
                row,
                matches=row.matches + known.matches,
                used=row.used + known.used,
                saves=saves,
                saved=row.saved + known.saved,
            )
        found[row.ruleset, row.name] = row
    return tuple(found[key] for key in sorted(found))
