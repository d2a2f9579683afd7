"""What an optimization did, in figures: the parts of a `Report`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from egraph_opt.memory.objective import MemoryPoint


@dataclass(frozen=True)
class OpenPiece:
    """A part of a graph, solved by itself, whose cost is not proved to be the least.

    `tensors` are those of the original that it computes for the rest, `nodes` the e-nodes to choose from.
    """

    tensors: Sequence[str]
    nodes: int
    cost: float
    lower_bound: float


@dataclass(frozen=True)
class OperatorCost:
    """What the nodes of one operator, or one kind of kernel, cost in the result.

    `resources` says what binds them: by how much the cost would fall if a resource cost nothing, by its name.
    `tensors` are, of kernels that only convert the format of a tensor, those of the original that are
    converted; others have none.
    """

    operator: str
    nodes: int
    cost: float
    resources: Mapping[str, float] = field(default_factory=dict)
    tensors: Sequence[str] = ()


@dataclass(frozen=True)
class CostlyNode:
    """A node of the original that costs much, why it does, and what is computed there now.

    Attributes:
        name: of the node, or of its first output where it has none.
        cost: what it costs as it is written.
        why: what is slow about it, or which resources bind it.
        came: operators of the result that the original has not there, with how many there are more; "there"
            is between tensors that both have.
        went: operators of which the result has fewer there, with how many.
        before, after: what all cost that is computed there, as it is written and in the result.
        kept: whether the result has as many of the operator there.
    """

    name: str
    operator: str
    cost: float
    why: str
    came: Mapping[str, int] = field(default_factory=dict)
    went: Mapping[str, int] = field(default_factory=dict)
    before: float = 0.0
    after: float = 0.0
    kept: bool = False


@dataclass(frozen=True)
class SizeReport:
    """Sizes of symbolic dims that a choice is for; `weight` is their share of all that is run."""

    dims: Mapping[str, int]
    weight: float


@dataclass(frozen=True)
class CostReport:
    """Cost of the model before and after, in `unit`; no graph in the e-graph costs less than `lower_bound`.

    `written` is what the nodes of the file cost one by one, `before` what the target's compiler makes of them
    by itself: only what `after` is below that is gained.
    `gap` is `(after - lower_bound) / after`, between 0 (proved to be the cheapest) and 1.  `points` are the
    sizes at which symbolic dims of the inputs were priced, at which the model runs; `observed` counts dims of
    inner values that a run has shown.  Independent `pieces` of the graphs were solved
    apart; `open` are those that are not proved optimal, the largest gap first.  `by_operator` is what `after`
    consists of, the most expensive operator first; `costly` are the nodes of the original that cost most,
    where the cost model says why they do.  `refused` counts the answers of the solver of integer programs
    that contradict what we compute, by what was wrong; none of them was used.  `sides` are what work at the
    same time, such as host and device, with the sums of what each does for the nodes of the file one by one
    (as `written` is) and after: the larger is about what a run takes.  Where a choice is for several `sizes`,
    costs are their mean.
    """

    model: str
    unit: str
    before: float
    after: float
    lower_bound: float = 0.0
    gap: float = 0.0
    points: Mapping[str, int] = field(default_factory=dict)
    pieces: int = 0
    open: Sequence[OpenPiece] = ()
    by_operator: Sequence[OperatorCost] = ()
    costly: Sequence[CostlyNode] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    written: float = math.nan
    observed: int = 0
    sides: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    sizes: Sequence[SizeReport] = ()

    def verdict(self) -> str:
        """Which side of the target bounds the result, and by how much; "" where it has no sides."""
        after = sorted(((late, name) for name, (_, late) in self.sides.items()), reverse=True)
        if len(after) < 2 or not after[0][0] > 0:
            return ""
        (most, name), (next_most, _) = after[:2]
        if not next_most > 0:
            return f"{name}-bound"
        return f"{name}-bound, {most / next_most:.2g} times the {after[1][1]}"


@dataclass(frozen=True)
class NodesReport:
    """Numbers of nodes: in the file, and of those the ones that run (see `nodes_of`)."""

    before: int
    after: int
    runtime_before: int
    runtime_after: int


@dataclass(frozen=True)
class MemoryReport:
    """Bytes of results in use at once, the most in a run, with symbolic dims as in `CostReport.points`.

    Nodes run in the order in which they are written; element-wise operators take the place of an operand that
    is not used again, views share their operand's.  Inputs of the model and constants are not counted.

    Attributes:
        before, after: the peak; None where the model was not examined.
        arena_before, arena_after: of an arena that holds the results, gaps included.
        constants_before, constants_after: in the file.
        unknown: results of the model after whose size is not known; they count as 0.
        limit: the most that was asked for, or None.
        front: where memory was asked about, the graphs seen that no other beats in cost and peak both, the
            cheapest first.
    """

    before: int | None = None
    after: int | None = None
    arena_before: int | None = None
    arena_after: int | None = None
    constants_before: int | None = None
    constants_after: int | None = None
    unknown: int = 0
    limit: int | None = None
    front: tuple[MemoryPoint, ...] = ()

    def unchanged(self) -> MemoryReport:
        """The report where the model is handed out as it came."""
        return dataclasses.replace(
            self, after=self.before, arena_after=self.arena_before, constants_after=self.constants_before
        )


@dataclass(frozen=True)
class PlaceReport:
    """What was predicted of original and result, to be compared with what they took whole.

    Attributes:
        profiled: graphs that ran under the profiler.
        changed: distinct nodes that took something else in their place than alone.
        before_alone, after_alone: the sums of what the nodes of original and result take alone.
        before_in_place, after_in_place: the sums of what they take in their place.
    """

    profiled: int
    changed: int
    before_alone: float
    after_alone: float
    before_in_place: float
    after_in_place: float


@dataclass(frozen=True)
class SizeLatency:
    """How long a run takes at one of several sizes: the fields are those of `LatencyReport`."""

    dims: Mapping[str, int]
    before: float
    after: float
    speedup: float
    low: float
    high: float


@dataclass(frozen=True)
class LatencyReport:
    """How long a run takes in a runtime on this machine, timed in turns with the original.

    Attributes:
        provider, threads: of the runtime.
        before, after: microseconds, medians.
        speedup: how many times as fast as the original, the median over the turns; `low` and `high` are its
            95 % interval.
        candidates: graphs that were timed besides the original.
        reason: why there are no figures, or why the original is handed out.
        runtime: its name.
        places: what was predicted, where graphs were profiled.
        sizes: where a choice is for several, what was timed at each; the other figures are of their mean.
        disturbed: the share of turns that other programs interrupted, and that are left out.
    """

    provider: str
    threads: int
    before: float = math.nan
    after: float = math.nan
    speedup: float = math.nan
    low: float = math.nan
    high: float = math.nan
    candidates: int = 1
    reason: str = ""
    runtime: str = "onnxruntime"
    places: PlaceReport | None = None
    sizes: Sequence[SizeLatency] = ()
    disturbed: float = 0.0


@dataclass(frozen=True)
class GrowthReport:
    """How far the e-graph grew; `stop` is why it stopped: `saturated`, `nodes`, `rounds` or `seconds`.

    `rounds` are those of the main graph, and `by_round` its e-nodes before each of them and in the end; laws
    that run last, once, are in no round.
    """

    rounds: int = 0
    nodes: int = 0
    classes: int = 0
    stop: str = "saturated"
    by_round: Sequence[int] = ()


@dataclass(frozen=True)
class RewriteReport:
    """How often a law matched, and how many of the chosen nodes it made.

    Attributes:
        saves: whether it made a node unneeded by an equal one that was there already.
        own: whether it comes from a file of the user's.
        numerics: its class, see `laws.exactness`; empty for a law that is not registered any more.
        saved: how much of the cost it saved, in the unit of the cost: see `pipeline.savings`.
        formula: the law in words of mathematics.
    """

    ruleset: str
    name: str
    matches: int
    used: int
    saves: bool = False
    own: bool = False
    numerics: str = ""
    saved: float = 0.0
    formula: str = ""


@dataclass(frozen=True)
class ExactnessReport:
    """What a result was to keep, and which classes of laws it was found by: see `laws.exactness`.

    `used` counts the laws that made nodes of the result, or saved some, by their class, the strictest first;
    `matched` all that found something.  The result is as exact as the weakest class that matched, or better.
    `proved` of the used ones are proved for all sizes, see `laws.proved`.
    """

    asked: str = "real"
    used: Mapping[str, int] = field(default_factory=dict)
    matched: Mapping[str, int] = field(default_factory=dict)
    proved: int = 0


@dataclass(frozen=True)
class RulesetReport:
    """What a ruleset did to the e-graph: e-nodes that it made, matches of its laws, and the seconds it took.

    The e-nodes of the model as it came are those of `original`; `analysis` are the facts of all classes.
    """

    ruleset: str
    nodes: int
    matches: int
    seconds: float
