"""Observations of a device behind a command: the nodes of models, each timed as a model of its own.

What a command takes for a model that does nothing is taken off, so that starting a model counts for no node.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.lab.tables import csv_text
from egraph_opt.measurement.device_call import DeviceAnswer
from egraph_opt.measurement.runner import Runner
from egraph_opt.measurement.specimen import UnmeasurableError, specimen_of
from egraph_opt.measurement.store import COLUMNS
from egraph_opt.measurement.times_journal import Rounds
from egraph_opt.model.files import write_whole

BATCH = 64
"""Models of a call, where one call takes several."""

NOTHING = NodeView("Identity", "", {}, (Fact(1, (1,)),), (Fact(1, (1,)),), opset=13)
"""A node that a device does nothing for."""

Row = tuple[object, ...]


def collect(
    runner: Runner, views: Iterable[NodeView], progress: Callable[[float], None] = lambda done: None
) -> list[Row]:
    """Rows as `egraph-opt measurements export` writes them, one for each distinct node.

    Raises:
        TimingError: the command fails even for a model that does nothing, or answers for several devices.
    """
    specimens = {"": specimen_of(NOTHING)}
    for view in views:
        with suppress(UnmeasurableError):  # of a type or a size that nobody knows, or with a body
            made = specimen_of(view)
            specimens.setdefault(made.key, made)
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        files: dict[str, Path] = {}
        for number, (key, specimen) in enumerate(specimens.items()):
            files[key] = Path(folder) / f"{number}.onnx"
            files[key].write_bytes(specimen.model)
        times = _times(runner, list(files.values()), progress)
    answers = dict(zip(files, times, strict=True))
    nothing = answers.pop("")
    least, device = _median(nothing), nothing[0].device
    return [_row(runner, key, rounds, least, device) for key, rounds in answers.items()]


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write what was collected, which `calibrate` reads."""
    write_whole(path, csv_text(COLUMNS, rows).encode())


def _times(
    runner: Runner, files: Sequence[Path], progress: Callable[[float], None]
) -> list[list[DeviceAnswer]]:
    """Per model an answer a round; the first model has to run."""
    rounds = Rounds(runner, files, "a model that does nothing")
    step, done, most = BATCH if runner.takes_many else 1, 0, len(files) * runner.rounds

    def batches(waiting: Sequence[int]) -> Iterator[Sequence[int]]:
        """The first one alone: where that fails, the command is wrong, and no model of the others."""
        nonlocal done
        others = [k for k in waiting if k]
        first = [waiting[:1]] if waiting[:1] == [0] else []
        for batch in (*first, *(others[start : start + step] for start in range(0, len(others), step))):
            yield batch
            done += len(batch)
            progress(min(done / most, 1.0))

    for number in range(runner.rounds):
        rounds.run(number, batches)
    return rounds.answers


def _median(rounds: Sequence[DeviceAnswer]) -> float:
    return statistics.median(answer.micros for answer in rounds)


def _row(runner: Runner, key: str, rounds: Sequence[DeviceAnswer], least: float, device: str) -> Row:
    """A measurement, or why there is none."""
    place = (device or "device", "runner", runner.command, key)
    errors = [answer.error for answer in rounds if answer.error]
    if errors:
        return (*place, None, None, None, None, None, None, errors[0])
    micros, every = _median(rounds) - least, [answer.micros for answer in rounds]
    if micros <= 0:
        return (*place, None, None, None, None, None, None, "takes no longer than a model that does nothing")
    spread = (max(every) - min(every)) / micros if math.isfinite(micros) else None
    return (*place, micros, 0.0, 0.0, 1, spread, len(rounds), None)
