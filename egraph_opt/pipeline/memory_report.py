"""The memory of a model before and after, and the order in which the result is written."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from egraph_opt.facts.fact import Fact
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.memory.arena import arena
from egraph_opt.memory.liveness import usage
from egraph_opt.memory.objective import Objective, bytes_text
from egraph_opt.memory.trace import arrange, liveness, places_in
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.report.report import MemoryReport


def arranged(
    written: ir.Model,
    facts: Mapping[ir.Value, Fact],
    region: Region,
    extracted: Extracted,
    *,
    points: Mapping[str, int],
    objective: Objective,
) -> MemoryReport:
    """Put the nodes of a rebuilt model into an order that needs less memory, if there is one.

    Args:
        written: the model, in which nodes may change places.
        facts: of its values.
        region: the original.

    Returns:
        What it needs, beside what the original needs; `constants_before` is left open.
    """
    after = arrange(written.graph, facts, points, places_in(region.lowered.graph))
    before = None if region.memory is None else usage(liveness(region.memory, points))
    return MemoryReport(
        before=None if before is None else before.peak,
        after=after.usage.peak,
        arena_before=None if before is None else arena(before.blocks),
        arena_after=arena(after.usage.blocks),
        constants_after=constant_bytes(written.graph),
        unknown=after.liveness.unknown,
        limit=objective.limit,
        front=extracted.front,
    )


def over_limit(memory: MemoryReport) -> list[str]:
    """A warning where the result needs more than it was allowed."""
    if memory.limit is None or memory.after is None or memory.after <= memory.limit:
        return []
    return [
        f"no graph was found that needs at most {bytes_text(memory.limit)} at its peak;"
        f" this one needs the least: {bytes_text(memory.after)}"
    ]
