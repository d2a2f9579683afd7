"""Which nodes of a model the kernels of its profile compute: a time for each node, or for several together.

A runtime names a kernel after one node, or after those that it fused.  A node that no kernel names was fused
with a neighbour: with the product or convolution before it, where that is what runtimes do, else with what
uses it.  Where nobody can tell, it has no time.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from egraph_opt.graph.timed_runtime import Feeds, Kernel, Runtime
from egraph_opt.graph.union_find import UnionFind
from egraph_opt.measurement.whole import feeds_for

TAKES_IN = frozenset(
    ("Conv", "ConvTranspose", "Gemm", "MatMul", "ConvInteger", "QLinearConv", "MatMulInteger")
)
"""Operators whose kernels take in what follows."""

LEAST_RUNS, MOST_RUNS = 8, 40
"""How often a model runs twice under the profiler, and twice without it."""

BUSY = 4.0
"""So many times as long as its own time a profile may take."""


@dataclass(frozen=True)
class TimedPlace:
    """Nodes that kernels compute together.

    Attributes:
        nodes: their numbers in the graph, in order.
        micros: of a run.
        kernels: how many they are.
    """

    nodes: tuple[int, ...]
    micros: float
    kernels: int


def timed_places(
    graph: onnx.GraphProto, kernels: Iterable[Kernel], together: Sequence[int] | None = None
) -> list[TimedPlace]:
    """The nodes of a graph by what computes them.

    Args:
        together: a number per node; those of one number are computed together, or in one price.
    """
    named = _numbers(graph)
    unit = list(range(len(graph.node))) if together is None else _first_of(together)
    fused = UnionFind(range(len(unit)))
    ran: list[tuple[int, float]] = []  # a unit of each kernel
    known: set[int] = set()
    for kernel in kernels:
        units = sorted({unit[named[name]] for name in kernel.names if name in named})
        for other in units[1:]:
            fused.join(other, units[0])
        ran += [(units[0], kernel.micros)] if units else []
        known.update(units)
    owner = {k: fused.find(k) for k in sorted(known)}
    _join(graph, unit, owner)
    micros: defaultdict[int, float] = defaultdict(float)
    counts: Counter[int] = Counter()
    for k, took in ran:
        micros[owner[k]] += took
        counts[owner[k]] += 1
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, k in enumerate(unit):
        if k in owner:
            members[owner[k]].append(number)
    return [TimedPlace(tuple(nodes), micros[p], counts[p]) for p, nodes in sorted(members.items())]


def _numbers(graph: onnx.GraphProto) -> dict[str, int]:
    """The number of a node by the names of its outputs, and by its own where no other one has that."""
    found: dict[str, int] = {}
    for number, node in enumerate(graph.node):
        for name in node.output:
            if name:
                found[name] = number
    counts = Counter(node.name for node in graph.node)
    found.update((node.name, k) for k, node in enumerate(graph.node) if node.name and counts[node.name] == 1)
    return found


def by_name(graph: onnx.GraphProto, kernels: Iterable[Kernel]) -> dict[str, float]:
    """Microseconds by the name of a node or a tensor, of each kernel the first one that the graph has."""
    named = _numbers(graph)
    found: defaultdict[str, float] = defaultdict(float)
    for kernel in kernels:
        name = next((name for name in kernel.names if name in named), None)
        if name is not None:
            found[name] += kernel.micros
    return dict(found)


def _first_of(together: Sequence[int]) -> list[int]:
    """Per node the first one of its number."""
    first: dict[int, int] = {}
    return [first.setdefault(number, k) for k, number in enumerate(together)]


def _join(graph: onnx.GraphProto, unit: Sequence[int], owner: dict[int, int]) -> None:
    """Give what no kernel names to a neighbour."""
    maker = {name: k for k, node in enumerate(graph.node) for name in node.output if name}
    users: dict[int, set[int]] = {}
    for k, node in enumerate(graph.node):
        for name in node.input:
            if name in maker:
                users.setdefault(maker[name], set()).add(k)
    taken = {k for k, node in enumerate(graph.node) if node.op_type in TAKES_IN and unit[k] in owner}
    for k, node in enumerate(graph.node):
        before = next((maker[name] for name in node.input if name in maker), -1)
        if unit[k] not in owner and before in taken and users.get(before) == {k}:
            owner[unit[k]] = owner[unit[before]]
            taken.add(k)
    for k in reversed(range(len(graph.node))):
        places = {owner.get(unit[user], -1) for user in users.get(k, ())}
        if unit[k] not in owner and len(places) == 1 and -1 not in places:
            owner[unit[k]] = places.pop()


@dataclass(frozen=True)
class RunProfile:
    """What was run of a model.

    Attributes:
        kernels: in their order.
        whole: microseconds of a run without a profiler; NaN where nobody knows.
    """

    kernels: Sequence[Kernel]
    whole: float = math.nan

    def factor(self, sums: float) -> float:
        """By what kernels that take so long together are multiplied to take as long as a run, within bounds.

        What disturbs a machine makes all that it does slower, and a profiler knows no processor time.
        """
        factor = self.whole / sums if sums > 0 else math.nan
        return min(max(factor, 1 / FARTHEST), FARTHEST) if math.isfinite(factor) else 1.0


FARTHEST = 2.0
"""Beyond this the sum of kernels is something else than a run."""


def profile(
    path: str,
    proto: onnx.ModelProto,
    runtime: Runtime,
    sizes: Mapping[str, int],
    *,
    seconds: float,
    prefix: str,
) -> RunProfile:
    """What a runtime runs of a model, in turns with runs of which nobody takes a profile.

    Args:
        proto: the model whose inputs it has.
        sizes: of symbolic dims.
        seconds: about as long as it runs, by the clock of the runtime; not much longer on a busy machine.
        prefix: of files that the profiler may write.

    Raises:
        Exception: what the runtime raises for a model that it cannot load or run.
    """
    plain, clock = runtime.session(path), runtime.clock()
    feeds: Feeds = feeds_for(proto, plain, sizes)[0]
    profiled, times = runtime.profiled(path, Path(prefix)), list[float]()
    begun, late = clock(), time.monotonic() + BUSY * seconds
    for run in range(MOST_RUNS):
        if run >= LEAST_RUNS and (clock() - begun > seconds or time.monotonic() > late):
            break
        for _ in range(2):  # behind the other one caches are empty
            profiled.run(feeds)
        plain.run(None, dict(feeds))
        start = clock()
        plain.run(None, dict(feeds))
        times.append(1e6 * (clock() - start))
    return RunProfile(profiled.kernels(), statistics.median(times))  # as models are timed whole
