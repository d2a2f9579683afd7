"""The choice among good graphs by a clock: they and the original are timed whole, in turns.

The candidates are the cheapest graph, and those that are cheapest where whatever the original does not have
is priced higher, by more and more: bolder and more cautious graphs, of which the runtime says which is best.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from egraph_opt.cost.model import CostModel
from egraph_opt.graph.isolation import apart
from egraph_opt.graph.timed_runtime import Runtime
from egraph_opt.measurement.runner import Runner
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.times_journal import latencies_on
from egraph_opt.measurement.whole import Latency, latencies
from egraph_opt.pipeline.result import Result
from egraph_opt.report.figures import LatencyReport

TOLERANCE = 0.02
"""A result may be slower than the original by this share: less cannot be told apart."""

UNSURE = 0.15
"""An interval wider than this says too little to change anything, unless all of it is above 1."""

SECONDS = 2.0
"""How long models are timed, at least."""


@dataclass(frozen=True)
class Timed:
    """What the clock says.

    Attributes:
        fastest: the number of the fastest candidate; None where the original is faster than all of them.
    """

    fastest: int | None
    report: LatencyReport


def fastest(
    original: Path | onnx.ModelProto,
    results: Sequence[Result],
    model: CostModel,
    *,
    seed: int = 0,
    runner: Runner | None = None,
) -> Timed:
    """Time the original and the results, of which the first is the one that prices prefer.

    Args:
        runner: the command that times them; without one they are timed here.
    """
    runtime = model.runtime or OrtRuntime()
    told = LatencyReport(runtime.provider, runtime.threads, candidates=len(results), runtime=runtime.title)
    if runner is not None:
        told = replace(told, provider="", threads=0, runtime=runner.command)
    try:
        found = _time(original, results, runtime, seed, runner)
    except Exception as error:  # the runtime raises what it likes
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return Timed(0, replace(told, reason=f"not timed: {reason}"))
    first, *others = found
    best = _best(others)
    chosen = others[best]
    report = replace(
        told,
        before=first.micros,
        after=chosen.micros,
        speedup=chosen.speedup,
        low=chosen.low,
        high=chosen.high,
    )
    if model.elsewhere and runner is None:
        return Timed(best, report)
    if chosen.low < 1 and chosen.high - chosen.low > UNSURE:
        between = f"{chosen.low:.2f} to {chosen.high:.2f} times as fast as the original"
        return Timed(None, replace(report, reason=f"the machine is too busy to tell: {between}"))
    if chosen.speedup >= 1 - TOLERANCE:
        return Timed(best, report)
    slower = f"{100 * (1 / chosen.speedup - 1):.1f} % slower"
    return Timed(None, replace(report, reason=f"what was found runs {slower} in {told.runtime}"))


def _best(found: Sequence[Latency]) -> int:
    """The fastest; but the one that prices prefer stays, unless another is faster beyond doubt.

    Where that one is slower than the original, no doubt helps it.
    """
    best = max(range(len(found)), key=lambda k: (found[k].speedup, -k))
    preferred = found[0].speedup
    return 0 if preferred >= 1 - TOLERANCE and found[best].low <= preferred else best


def _time(
    original: Path | onnx.ModelProto,
    results: Sequence[Result],
    runtime: Runtime,
    seed: int,
    runner: Runner | None,
) -> list[Latency]:
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        if runner is not None:
            return _time_on(runner, original, results, Path(folder))
        source = original if isinstance(original, Path) else original.SerializeToString()
        models: list[Any] = [str(source) if isinstance(source, Path) else source]
        models += [str(result.save(Path(folder) / f"{k}.onnx")) for k, result in enumerate(results)]
        proto = onnx.load(original, load_external_data=False) if isinstance(original, Path) else original
        points = results[0].report.cost.points
        timed = partial(latencies, seconds=SECONDS, seed=seed)
        return list(apart(timed, models, runtime, dict(points), proto, seconds=LONGEST))


def _time_on(
    runner: Runner, original: Path | onnx.ModelProto, results: Sequence[Result], folder: Path
) -> list[Latency]:
    """The same by a command, which may refuse a result: that one is infinitely slow."""
    first = original if isinstance(original, Path) else folder / "original.onnx"
    if not isinstance(original, Path):
        first.write_bytes(original.SerializeToString())
    files = [result.save(folder / f"{k}.onnx") for k, result in enumerate(results)]
    found = latencies_on(runner, [first, *files])
    return [REFUSED if isinstance(each, str) else each for each in found]


LONGEST = 600.0
"""Seconds in which models have to be timed."""

REFUSED = Latency(math.inf, 0.0, 0.0, 0.0, 0)
"""Of a model that a device does not run."""
