"""What a worker does: it has the e-graph of a batch, from a file where somebody saturated it, and answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from egraph_opt.cost.registry import cost_model
from egraph_opt.errors import EgraphOptError, ModelReadError
from egraph_opt.laws.loading import load_laws
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.stages import saturate
from egraph_opt.sweep.planning import Batch, Group, Task
from egraph_opt.sweep.repricer import Repricer

KEPT = 2
"""E-graphs that a worker keeps: batches come e-graph by e-graph."""


@dataclass(frozen=True)
class RunRow:
    """The answer to a run.

    Attributes:
        number: of the run.
        stop: what ended saturation.
        error: why there is no answer.
    """

    number: int
    price: float = math.nan
    bound: float = math.nan
    gap: float = math.nan
    nodes: int = 0
    graph: str = ""
    seconds: float = 0.0
    stop: str = ""
    error: str = ""


@dataclass(frozen=True)
class Done:
    """The rows of a batch."""

    batch: int
    rows: tuple[RunRow, ...]


def run_batch(batch: Batch, folder: Path) -> Done:
    """Answer the runs of a batch; one that fails has an error in its row.

    Args:
        folder: of e-graphs, which workers share.
    """
    try:
        repricer = _repricer(batch.group, folder)
    except EgraphOptError as error:
        return Done(batch.number, tuple(RunRow(task.number, error=_told(error)) for task in batch.tasks))
    return Done(batch.number, tuple(_answer(repricer, task) for task in batch.tasks))


def _answer(repricer: Repricer, task: Task) -> RunRow:
    try:
        model = cost_model(task.priced.name, task.priced.values)
        answer = repricer.ask(model, task.extractor)
    except Exception as error:  # a cost model may be anybody's
        return RunRow(task.number, error=_told(error))
    return RunRow(
        number=task.number,
        price=float(answer.price),
        bound=float(answer.bound),
        gap=float(answer.gap),
        nodes=answer.graph.nodes,
        graph=answer.graph.key,
        seconds=answer.seconds,
        stop=repricer.stop,
    )


def _told(error: Exception) -> str:
    """An error on one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, EgraphOptError) else f"{type(error).__name__}: {text}"


@lru_cache(maxsize=KEPT)
def _repricer(group: Group, folder: Path) -> Repricer:
    """The e-graph of a group; saturated here, and kept in the folder, unless somebody did so before."""
    kept = folder / f"{group.key}.npz"
    if kept.exists():
        try:
            return Repricer(Saturated.load(kept))
        except ModelReadError:  # cut off, or of another release
            kept.unlink(missing_ok=True)
    target = cost_model(group.target.name, group.target.values)
    for file in group.laws:
        load_laws(file)
    saturated = saturate(group.model, rewrites=group.rewrites, limits=group.limits, target=target)
    if saturated.region is not None:
        folder.mkdir(parents=True, exist_ok=True)
        saturated.save(kept)
    return Repricer(saturated)
