"""The choice among good graphs by a clock: they and the original are timed whole, in turns, at each size."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from egraph_opt.cost.model import CostModel
from egraph_opt.graph.isolation import CrashError, apart
from egraph_opt.graph.timed_runtime import Runtime, complaint_of
from egraph_opt.measurement.runner import Runner
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.times_journal import latencies_on
from egraph_opt.measurement.whole import Latency, latencies_here
from egraph_opt.model.input_shapes import sized_file
from egraph_opt.pipeline.result import Result
from egraph_opt.pipeline.size_points import SizePoint
from egraph_opt.report.figures import LatencyReport, SizeLatency

TOLERANCE = 0.02
"""A result may be slower than the original by this share: less cannot be told apart."""

UNSURE = 0.15
"""An interval wider than this says too little to change anything, unless all of it is above 1."""

SECONDS = 2.0
"""How long models are timed, at least."""

LONGEST = 600.0
"""Seconds in which models have to be timed."""

REFUSED = Latency(math.inf, 0.0, 0.0, 0.0, 0)
"""Of a model that is not run where it is timed."""


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
    sizes: Sequence[SizePoint],
    *,
    seed: int = 0,
    runner: Runner | None = None,
) -> Timed:
    """Time the original and the results, of which the first is the one that prices prefer.

    Args:
        sizes: of symbolic dims; at none of them a result may be slower than the original.
        runner: the command that times them; without one they are timed here.
    """
    runtime = model.runtime or OrtRuntime()
    told = LatencyReport(runtime.provider, runtime.threads, candidates=len(results), runtime=runtime.title)
    if runner is not None:
        told = replace(told, provider="", threads=0, runtime=runner.command)
    try:
        answers = _time(original, results, runtime, sizes, seed=seed, runner=runner)
    except Exception as error:  # the runtime raises what it likes
        return Timed(0, replace(told, reason=f"not timed: {complaint_of(error)}"))
    refused = [next((at for at in at_sizes if isinstance(at, str)), "") for at_sizes in answers]
    if refused[0]:
        return Timed(0, replace(told, reason=f"not timed: the original: {refused[0]}"))
    elsewhere = model.elsewhere and runner is None
    if refused[1] and elsewhere:  # it may run on the machine that it is for
        return Timed(0, replace(told, reason=f"not timed: the result: {refused[1]}"))
    if all(refused[1:]):
        return Timed(
            None, replace(told, reason=f"what was found does not run in {told.runtime}: {refused[1]}")
        )
    found = [[REFUSED if isinstance(at, str) else at for at in at_sizes] for at_sizes in answers]
    weights = [size.weight for size in sizes]
    first, *others = (mean_latency(at_sizes, found[0], weights) for at_sizes in found)
    slowest = [min(found[k + 1], key=lambda at: at.speedup) for k in range(len(others))]
    best = best_of(others, [at.speedup for at in slowest])
    chosen, worst = others[best], slowest[best]
    report = replace(
        told,
        before=first.micros,
        after=chosen.micros,
        speedup=chosen.speedup,
        low=chosen.low,
        high=chosen.high,
        disturbed=chosen.disturbed,
        sizes=_by_size(sizes, found[0], found[best + 1]) if len(sizes) > 1 else (),
    )
    if elsewhere:
        return Timed(best, report)
    if worst.low < 1 and worst.high - worst.low > UNSURE:
        between = f"{worst.low:.2f} to {worst.high:.2f} times as fast as the original"
        return Timed(None, replace(report, reason=f"the machine is too busy to tell: {between}"))
    if worst.speedup >= 1 - TOLERANCE:
        return Timed(best, report)
    slower = f"{100 * (1 / worst.speedup - 1):.1f} % slower" if worst.speedup else "not at all"
    at = sizes[found[best + 1].index(worst)]
    where = f" at {', '.join(f'{name}={size}' for name, size in at.said.items())}" if len(sizes) > 1 else ""
    return Timed(None, replace(report, reason=f"what was found runs {slower} in {told.runtime}{where}"))


def mean_latency(own: Sequence[Latency], first: Sequence[Latency], weights: Sequence[float]) -> Latency:
    """The latency of what is run at several sizes by their weights.

    Args:
        first: of the model that others are compared with, at the same sizes.
    """
    if len(own) == 1:
        return own[0]
    if not all(at.speedup > 0 for at in own):
        return REFUSED
    before = math.fsum(w * at.micros for w, at in zip(weights, first, strict=True))

    def speedup(ratios: Sequence[float]) -> float:
        """Of the original's time that of the model, each by its ratio, which the turns have shown."""
        parts = zip(weights, first, ratios, strict=True)
        return before / math.fsum(w * at.micros / ratio for w, at, ratio in parts)

    low, middle, high = (
        speedup(ratios) for ratios in zip(*((at.low, at.speedup, at.high) for at in own), strict=True)
    )
    micros = math.fsum(w * at.micros for w, at in zip(weights, own, strict=True))
    turns, disturbed = min(at.turns for at in own), max(at.disturbed for at in own)
    return Latency(micros, middle, low, high, turns, disturbed)


def best_of(found: Sequence[Latency], slowest: Sequence[float]) -> int:
    """The fastest; but the one that prices prefer stays, unless another is faster beyond doubt.

    Where one is slower than the original at some size, no doubt helps it.

    Args:
        slowest: of each the least times as fast as the original that it is at any size.
    """
    allowed = [k for k in range(len(found)) if slowest[k] >= 1 - TOLERANCE] or list(range(len(found)))
    best = max(allowed, key=lambda k: (found[k].speedup, -k))
    return 0 if 0 in allowed and found[best].low <= found[0].speedup else best


def _by_size(
    sizes: Sequence[SizePoint], first: Sequence[Latency], own: Sequence[Latency]
) -> tuple[SizeLatency, ...]:
    return tuple(
        SizeLatency(size.said, before.micros, after.micros, after.speedup, after.low, after.high)
        for size, before, after in zip(sizes, first, own, strict=True)
    )


def _time(
    original: Path | onnx.ModelProto,
    results: Sequence[Result],
    runtime: Runtime,
    sizes: Sequence[SizePoint],
    *,
    seed: int,
    runner: Runner | None,
) -> list[list[Latency | str]]:
    """Per model, the original first, a latency per size, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        if runner is not None:
            found = [_time_on(runner, original, results, size.points, Path(folder)) for size in sizes]
            return [list(of_model) for of_model in zip(*found, strict=True)]
        source = original if isinstance(original, Path) else original.SerializeToString()
        models: list[Any] = [str(source) if isinstance(source, Path) else source]
        models += [str(result.save(Path(folder) / f"{k}.onnx")) for k, result in enumerate(results)]
        proto = onnx.load(original, load_external_data=False) if isinstance(original, Path) else original
        exactly = len(sizes) > 1
        timed = partial(
            latencies_here, runtime=runtime, proto=proto, seconds=SECONDS, seed=seed, exactly=exactly
        )
        found = [_time_here(partial(timed, sizes=dict(size.points)), models) for size in sizes]
        return [list(of_model) for of_model in zip(*found, strict=True)]


def _time_here(timed: Callable[[list[Any]], list[Latency | str]], models: list[Any]) -> list[Latency | str]:
    """The same at one size; where a model ends the process of the runtime, each has one with the original.

    Raises:
        CrashError: that was the original, or it takes too long.
    """
    try:
        return list(apart(timed, models, seconds=LONGEST))
    except CrashError as error:
        if error.late:
            raise
    found = list(apart(timed, models[:1], seconds=LONGEST))
    for model in models[1:]:
        try:
            found.append(apart(timed, [models[0], model], seconds=LONGEST)[1])
        except CrashError as error:
            found.append(str(error))
    return found


def _time_on(
    runner: Runner,
    original: Path | onnx.ModelProto,
    results: Sequence[Result],
    dims: Mapping[str, int],
    folder: Path,
) -> list[Latency | str]:
    """The same by a command.

    Args:
        dims: sizes that are written into the models: a command is not told any.
    """
    first = original if isinstance(original, Path) else folder / "original.onnx"
    if not isinstance(original, Path):
        first.write_bytes(original.SerializeToString())
    files = [first, *(result.save(folder / f"{k}.onnx") for k, result in enumerate(results))]
    return latencies_on(
        runner, [sized_file(file, dims, folder / f"{k}_sized.onnx") for k, file in enumerate(files)]
    )
