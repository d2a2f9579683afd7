"""What a target's compiler makes of a model by itself: no law but its own takes part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.repricing import SearchLimits
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import select
from egraph_opt.model.reading import read_model
from egraph_opt.pipeline.limits import SATURATED_MEMORY
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.region import Region, region_of
from egraph_opt.pipeline.region_extraction import Extracted, extract_region
from egraph_opt.pipeline.size_points import SizePoint, mean_cost

ROUNDING = 1e-9
"""Costs that differ by less are the same."""


def cost_before(
    region: Region,
    extracted: Extracted,
    model: CostModel,
    sizes: Sequence[SizePoint],
    alone: Callable[[], float],
) -> float:
    """What a model costs as the target's compiler runs it.

    Args:
        extracted: what was chosen.
        alone: asked, where something may be gained, what the compiler's laws make of the model by themselves.
    """
    written = mean_cost(region.original, model, sizes)
    before = written - extracted.fusion_saving  # by the compiler's laws on what others have made equal, too
    after = extracted.solution.cost
    if not model.applied or not written > after * (1 + ROUNDING):
        return before
    compiled = alone()
    return max(compiled, after) if math.isfinite(compiled) else before


def compiled_alone(
    original: GivenModel,
    region: Region,
    model: CostModel,
    *,
    ranges: Assumptions,
    sizes: Sequence[SizePoint],
    end: float,
) -> float:
    """What a model costs after the laws of the target's compiler, and no others.

    Where others take part, they change first what the compiler would have found, and what is equal by them
    alone counts as a node that is left.

    Args:
        region: the model, saturated by all laws; what was read there is not read again.
        end: when it has to be known, as `time.monotonic` has it.

    Returns:
        Infinity where there is no time for it, and where no law that the compiler applies finds anything.
    """
    if not original.required and not any(finds_something(part, model) for part in region.walk()):
        return math.inf
    limits = original.limits
    laws = tuple(
        law
        for law in select((), model.rulesets, original.exactness)
        if original.left_out.isdisjoint((law.key, law.ruleset)) and _is_of_compiler(law, model)
    )

    def saturated(lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
        return saturate_terms(
            lowered,
            laws,
            model.limits,
            nodes=limits.nodes,
            rounds=limits.rounds,
            seconds=max(end - time.monotonic(), 0.0),
            memory=limits.memory().share(SATURATED_MEMORY),
        )

    if time.monotonic() >= end:
        return math.inf
    if original.required:  # which changed the model that the region is of
        alone = region_of(
            *(read_model(original.loaded.original), limits, ranges, saturated),
            exactness=original.exactness,
            warnings=[],
            clock=lambda stage: None,
        )
    else:
        alone = region.saturated_again(saturated)
    search = SearchLimits("greedy-dag", deadline=end)  # of the original there is little to choose
    found = extract_region(
        *(alone, model, sizes), search=search, fold_bytes=limits.fold_bytes, clock=lambda stage: None
    )
    in_time = all(part.prices.complete for part in found.walk())
    return found.written - found.fusion_saving if in_time else math.inf


def _is_of_compiler(law: Law, model: CostModel) -> bool:
    """Whether a law of the rulesets that a cost model wants is one of the target's compiler.

    It recognises its kernels; so that less is computed or carried it moves what its own passes do.
    """
    return law.key in model.applied or law.kind != "move" or law.serves not in ("arithmetic", "traffic")


def finds_something(region: Region, model: CostModel) -> bool:
    """Whether a law that the target's compiler applies matched: by itself it finds no more than among all."""
    return not model.applied.keys().isdisjoint((*region.saturation.matches, *region.saturation.rested))
