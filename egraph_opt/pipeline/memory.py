"""What a run takes: the original at any sizes of its dims, and its memory before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import onnx_ir as ir

from egraph_opt.cost.model import bind
from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.facts.symbolic import symbols
from egraph_opt.graph.constants import byte_size, constant_bytes
from egraph_opt.graph.walks import captured_values
from egraph_opt.graph.work import operations
from egraph_opt.memory.arena import arena
from egraph_opt.memory.liveness import usage
from egraph_opt.memory.objective import Objective, bytes_text
from egraph_opt.memory.trace import Stored, arrange, liveness, places_in
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.report.figures import MemoryReport
from egraph_opt.verification.budget import RunNeeds

PER_NODE = 1000.0
"""What it takes to begin with a node, in operations."""

MOST_ROUNDS, ROUNDS = 10_000.0, 100.0
"""Rounds of a loop that are believed, and how many there are where more are written: a condition ends it."""


def run_needs(region: Region, points: Mapping[str, int], sizes: Mapping[str, int]) -> RunNeeds:
    """What a run takes; sizes that only it shows count as nothing, and as `points` in what it may take.

    Args:
        points: guesses for symbols that have no size.
    """
    known = _Estimate(sizes)
    needs = known.of(region)
    if not known.open:
        return needs
    guessed = _Estimate({**points, **sizes}, guesses=True).of(region)
    return replace(needs, guessed_bytes=guessed.bytes, guessed_operations=guessed.operations)


class _Estimate:
    """Of runs at some sizes.

    Attributes:
        open: there are dims that these sizes say nothing of; with `guesses` they are taken to be 128.
    """

    def __init__(self, at: Mapping[str, int], *, guesses: bool = False) -> None:
        self._at, self._guesses = at, guesses
        self._bound: dict[Fact, Fact] = {}
        self.open = False

    def of(self, region: Region) -> RunNeeds:
        """Tensors live from where they are made to where they are used last."""
        graph, kept = region.lowered.graph, {node: k for k, node in enumerate(region.lowered.kept)}
        nodes = list(graph)
        used = [{v for v in (*node.inputs, *captured_values(node)) if v is not None} for node in nodes]
        last = {value: k for k, values in enumerate(used) for value in values}
        last.update(dict.fromkeys(graph.outputs, len(nodes)))
        live: dict[ir.Value, float] = {}
        now = peak = work = 0.0
        for k, node in enumerate(nodes):
            inner = [self.of(body) for body in region.bodies.get(kept.get(node, -1), ())]
            for value in node.outputs:
                live[value] = self._bytes(region, value)
                now += live[value]
            peak = max(peak, now + max((body.bytes for body in inner), default=0.0))
            rounds = self._rounds(region, node)
            work += PER_NODE + self._operations(region, node)
            work += rounds * math.fsum(body.operations for body in inner)
            for value in {*used[k], *node.outputs}:
                if last.get(value, k) == k:
                    now -= live.pop(value, 0.0)
        return RunNeeds(peak, work)

    def _fact(self, region: Region, value: ir.Value | None) -> Fact:
        term = None if value is None else region.lowered.term_of.get(value)
        fact = (None if term is None else region.lowered.facts[term]) or UNKNOWN
        if fact not in self._bound:
            self._bound[fact] = bind(fact, self._at) if self._guesses or self._is_known(fact) else UNKNOWN
        return self._bound[fact]

    def _is_known(self, fact: Fact) -> bool:
        if all(symbols(dim) <= self._at.keys() for dim in fact.shape or ()):
            return True
        self.open = True
        return False

    def _bytes(self, region: Region, value: ir.Value) -> float:
        size = byte_size(self._fact(region, value)) or 0
        return float(size) if size < 2**63 else math.inf

    def _operations(self, region: Region, node: ir.Node) -> float:
        attributes = {name: attribute.value for name, attribute in node.attributes.items()}
        operands = [None if v is None else self._fact(region, v) for v in node.inputs]
        found = operations(node.op_type, attributes, operands, [self._fact(region, v) for v in node.outputs])
        return found if math.isfinite(found) else 0.0

    def _rounds(self, region: Region, node: ir.Node) -> float:
        if node.op_type == "Loop" and node.inputs and node.inputs[0] is not None:
            count = self._fact(region, node.inputs[0]).splat
            return float(count) if count is not None and 0 <= count <= MOST_ROUNDS else ROUNDS
        return ROUNDS if node.op_type in ("Loop", "Scan") else 1.0


def arranged(
    written: ir.Model,
    facts: Mapping[ir.Value, Fact],
    region: Region,
    extracted: Extracted,
    *,
    points: Mapping[str, int],
    objective: Objective,
    stored: Stored,
) -> MemoryReport:
    """Put the nodes of a rebuilt model into an order that needs less memory, if there is one.

    Args:
        written: the model, in which nodes may change places.
        facts: of its values.
        region: the original.
        stored: the bytes of a tensor on the target.

    Returns:
        What it needs, beside what the original needs; `constants_before` is left open.
    """
    after = arrange(written.graph, facts, points, places_in(region.lowered.graph), stored=stored)
    before = None if region.memory is None else usage(liveness(region.memory, points, stored))
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
