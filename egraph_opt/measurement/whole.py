"""Whole models timed side by side: in turns, so that what disturbs the machine disturbs all of them alike.

In each turn a model runs twice, and the second run counts: the caches hold what it has, as they do where it
runs again and again, and not what the model before it had.  Ratios are taken turn by turn and their median is
given with an interval, by resampling the turns.  What is timed is processor time where one thread runs a
model: it does not count what other processes do.  But these empty its caches: a turn in which a run was
interrupted is left out, and on a busy machine there are more of them.  Inputs are those on which it runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from egraph_opt.errors import TimingError
from egraph_opt.graph.timed_runtime import Feeds, Runtime, complaint_of
from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.execution import ExecutionError
from egraph_opt.verification.inputs import random_inputs
from egraph_opt.verification.interface import interface
from egraph_opt.verification.planning import PlanSearch
from egraph_opt.verification.sizes import candidates


def feeds_for(
    model: onnx.ModelProto,
    session: Any,
    sizes: Mapping[str, int],
    *,
    seed: int = 0,
    search: bool = True,
    end: float = math.inf,
) -> tuple[Feeds, Mapping[str, int]]:
    """An array per input, and the sizes that symbolic dims have in them.

    Args:
        model: the model, of which the interface is read.
        session: of a runtime, that runs it.
        sizes: of symbolic dims; others are looked for where it does not run on these.
        search: look for others.
        end: when to stop looking, as `time.monotonic` has it.

    Raises:
        ExecutionError: nothing that was tried runs.
        UnsupportedInputError: an input of a type that has no random values.
    """
    specs = interface(model).required

    def run(feeds: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Any]:
        try:
            return list(session.run(None, dict(feeds)))
        except Exception as error:  # the runtime raises what it likes
            raise ExecutionError(str(error)) from error

    beyond = RunBudget().beyond(specs, {**next(candidates(specs), {}), **sizes})
    if beyond:
        raise ExecutionError(beyond)
    feeds = random_inputs(specs, seed=seed, sizes=sizes)
    try:
        run(feeds, sizes)
        return feeds, sizes
    except ExecutionError:
        if not search:
            raise
    try:
        plan = PlanSearch(specs, run, seed, budget=RunBudget(end=end)).plan()
    except BudgetError as error:
        raise ExecutionError(str(error)) from error
    feeds = random_inputs(specs, seed=seed, sizes=plan.sizes[0], integers=plan.integers, rank=plan.rank)
    return feeds, plan.sizes[0]


def feeds_near(
    model: onnx.ModelProto, session: Any, sizes: Mapping[str, int], *, end: float = math.inf
) -> tuple[Feeds, Mapping[str, int]]:
    """As `feeds_for`; where the model does not run on the sizes, on others, as few of them as possible.

    Raises:
        As `feeds_for`.
    """
    feeds, found = feeds_for(model, session, sizes, end=end)
    for name in sorted(name for name in found if name in sizes and found[name] != sizes[name]):
        if time.monotonic() > end:
            break
        nearer = {**found, name: sizes[name]}
        try:
            given, ran = feeds_for(model, session, nearer, search=False)
        except ExecutionError:
            continue
        feeds, found = given, ran
    return feeds, found


Floats = npt.NDArray[np.float64]

WARM = 3
LEAST_TURNS, MOST_TURNS = 11, 400
NARROW = 0.03
"""Intervals wider than this ask for more turns."""

AGAIN, AGAIN_IF_BUSY = 3, 8
"""How often at most they get them; more often while the machine is too busy for any narrow interval."""

WIDE = 0.08
"""What an interval may be in the end."""

DISTURBED = 1.2
"""A run that takes so many times its processor time was interrupted: its caches are no longer its own."""

LEAST_WAIT = 50e-6
"""Seconds of waiting that are no interruption."""

RESAMPLES = 400
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Latency:
    """How fast a model is beside the first one.

    Attributes:
        micros: the median time of a run.
        speedup: how many times as fast as the first model: the median of the turns' ratios.
        low, high: the 95 % interval of `speedup`.
        turns: how many there were.
        disturbed: the share of turns that other programs interrupted, and that are left out.
    """

    micros: float
    speedup: float
    low: float
    high: float
    turns: int
    disturbed: float = 0.0


def latencies(
    models: Sequence[bytes | str],
    runtime: Runtime,
    sizes: Mapping[str, int],
    proto: onnx.ModelProto,
    *,
    seconds: float = 3.0,
    seed: int = 0,
    exactly: bool = False,
) -> list[Latency]:
    """Time models on the same inputs, the first one being what the others are compared with.

    Args:
        sizes: of symbolic dims of the inputs.
        proto: the first model, whose interface all have.
        seconds: of timing, about.
        exactly: at these sizes and no others.

    Raises:
        TimingError: the runtime does not load or run one of them.
    """
    found = latencies_here(models, runtime, sizes, proto, seconds=seconds, seed=seed, exactly=exactly)
    for number, each in enumerate(found):
        if isinstance(each, str):
            raise TimingError(f"model {number + 1} of {len(models)}: {each}" if number else each)
    return [each for each in found if isinstance(each, Latency)]


def latencies_here(
    models: Sequence[bytes | str],
    runtime: Runtime,
    sizes: Mapping[str, int],
    proto: onnx.ModelProto,
    *,
    seconds: float = 3.0,
    seed: int = 0,
    exactly: bool = False,
) -> list[Latency | str]:
    """As `latencies`; of a model that the runtime does not load or run the reason.

    Where that is the first one, nothing is timed, and its reason is that of all.
    """
    sessions, refused = dict[int, Any](), dict[int, str]()
    given: Feeds = {}
    for number, model in enumerate(models):
        try:
            session = runtime.session(model)
            if number == 0:
                given = dict(feeds_for(proto, session, sizes, seed=seed, search=not exactly)[0])
            session.run(None, given)
            sessions[number] = session
        except Exception as error:  # the runtime raises what it likes
            refused[number] = complaint_of(error)
            if number == 0:
                return [refused[0]] * len(models)
    found = _timed(list(sessions.values()), given, runtime.clock(), seconds, seed)
    timed = dict(zip(sessions, found, strict=True))
    return [timed[k] if k in timed else refused[k] for k in range(len(models))]


def _timed(
    sessions: Sequence[Any], given: Feeds, clock: Callable[[], float], seconds: float, seed: int
) -> list[Latency]:
    begun = time.perf_counter()
    for _ in range(WARM):
        for session in sessions:
            session.run(None, given)
    round_time = (time.perf_counter() - begun) / WARM
    turns = max(LEAST_TURNS, min(MOST_TURNS, math.ceil(seconds / max(2 * round_time, 1e-6))))
    random = np.random.default_rng(seed)
    times = np.zeros((0, len(sessions), 2))
    found: list[Latency] = []
    for number in range(AGAIN_IF_BUSY):
        times = np.concatenate([times, _turns(sessions, given, turns, random, clock)])
        kept = quiet(times)
        disturbed = 1 - len(kept) / len(times)
        used = kept if len(kept) >= LEAST_TURNS else times
        found = [
            replace(_latency(used[:, 0, 0], used[:, k, 0], random), disturbed=disturbed)
            for k in range(len(sessions))
        ]
        width = max((each.high - each.low) / each.speedup for each in found)
        if len(kept) >= LEAST_TURNS and width <= (NARROW if number + 1 < AGAIN else WIDE):
            break
    return found


def quiet(times: Floats) -> Floats:
    """The turns in which no run was interrupted: of each the seconds by its clock, and those that went by."""
    waited = times[:, :, 1] - times[:, :, 0]
    is_quiet = (waited <= np.maximum((DISTURBED - 1) * times[:, :, 0], LEAST_WAIT)).all(axis=1)
    kept: Floats = times[is_quiet]
    return kept


def _turns(
    sessions: Sequence[Any],
    feeds: Mapping[str, npt.NDArray[Any]],
    turns: int,
    random: np.random.Generator,
    clock: Callable[[], float],
) -> Floats:
    """Seconds by turn and session, by the clock and as they went by; each turn has an order of its own."""
    times, order = np.zeros((turns, len(sessions), 2)), np.arange(len(sessions))
    for turn in range(turns):
        random.shuffle(order)
        for k in order.tolist():
            sessions[k].run(None, feeds)
            begun, start = time.perf_counter(), clock()
            sessions[k].run(None, feeds)
            times[turn, k] = clock() - start, time.perf_counter() - begun
    return times


def _latency(first: Floats, own: Floats, random: np.random.Generator) -> Latency:
    ratios = first / own
    drawn = random.integers(0, len(ratios), (RESAMPLES, len(ratios)))
    medians = np.sort(np.median(ratios[drawn], axis=1))
    tail = (1 - CONFIDENCE) / 2
    low, high = medians[int(tail * RESAMPLES)], medians[min(RESAMPLES - 1, int((1 - tail) * RESAMPLES))]
    return Latency(
        float(np.median(own)) * 1e6, float(np.median(ratios)), float(low), float(high), len(ratios)
    )
