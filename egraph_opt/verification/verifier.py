"""The check itself: interface, checker, and outputs in ONNX Runtime on random inputs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from egraph_opt.facts.assumption import assumptions_of
from egraph_opt.graph.arena import arena_of
from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.checking import REFUSED, checker_error
from egraph_opt.verification.course import NO_PROMISE, Course, Promise
from egraph_opt.verification.determinism import random_operators
from egraph_opt.verification.execution import ExecutionError, ModelLike, RunnableModel, Value, load
from egraph_opt.verification.inputs import UnsupportedInputError, random_inputs
from egraph_opt.verification.interface import Interface, differences, interface
from egraph_opt.verification.pieces import Pieces
from egraph_opt.verification.planning import PlanSearch
from egraph_opt.verification.ranks import with_ranks
from egraph_opt.verification.result import Status, Verification
from egraph_opt.verification.runs import MismatchError, NoMemoryError, NotComparableError, Runs
from egraph_opt.verification.sizes import Ranges


def verify(
    original: ModelLike,
    optimized: ModelLike,
    *,
    seed: int = 0,
    seeds: int = 3,
    assume: Mapping[str, Any] | None = None,
    inputs: Sequence[Mapping[str, Value]] = (),
    override_defaults: bool = True,
    folder: str | os.PathLike[str] | None = None,
    approximate: bool = False,
    promise: Promise = NO_PROMISE,
    end: float = math.inf,
    budget: RunBudget | None = None,
) -> Verification:
    """Compares an optimized model with the original.

    Interface first, then ONNX's checker (as far as the original passes it), then the outputs in ONNX Runtime
    with its graph optimisations off, on random inputs of several seeds and two sizes for every symbolic dim;
    on the first of them with these optimisations, too, as users run models; then on odd values.

    Args:
        original: a ModelProto, a serialized model, or a path (needed above 2 GB).
        optimized: likewise.
        seed: the first seed; the others follow it.
        seeds: number of runs on random inputs; there are more if the sizes or branches need more.
        assume: what inputs and symbolic dims stay within, by name, see `optimize`.
        inputs: further inputs to compare on, by name, such as samples of real data.
        override_defaults: also run with other values for inputs that have a default.
        folder: where the external data of models given in memory is.
        approximate: values may differ; how far they do is reported.
        promise: what is known of how the optimized model was made: how closely odd values are compared, and
            whether tensors inside are.
        end: when to be done, as `time.monotonic` has it, where that takes no more than fewer inputs: every
            size and every branch is compared once all the same.  What is left out is in the detail.
        budget: of memory and time; sizes that take more are left out, models that do at any size are compared
            piece by piece, and a run that takes more than its shapes say ends it all.

    Returns:
        The verdict; a mismatch is a status, not an exception.

    Raises:
        ModelReadError: one of the models cannot be read.
        AssumptionError: an assumption says nothing.
    """
    assumed = assumptions_of(assume)
    before = load(original, folder=folder)
    after = load(optimized, folder=folder)
    a, b = interface(before.proto), interface(after.proto)
    changed = differences(a, b)
    if changed:
        return Verification("failed", detail="; ".join(changed))
    invalid = checker_error(before, after)
    if invalid:
        return Verification("failed", detail=f"{REFUSED}: {invalid}")
    a, reason = with_ranks(a, before.proto)
    if reason:
        return Verification("not_comparable", detail=reason)
    budget = budget or RunBudget()
    with arena_of(budget.bytes):
        try:
            _check_room(before, after, budget.bytes)
            runs = Runs(before, after, seed, approximate=approximate, budget=budget)
            course = Course(runs, a, seed, max(seeds, 1), assumed, override_defaults, end, promise)
            return course.verdict(inputs)
        except NoMemoryError as error:
            reason = str(error)
        except MismatchError as mismatch:
            return Verification("failed", detail=str(mismatch))
        except NotComparableError as error:
            return Verification("not_comparable", detail=str(error))
    with arena_of(budget.bytes):
        pieces = Pieces(before, after, seed, approximate, budget.piece_by_piece())
        return _by_pieces(pieces, a, assumed, reason)


COPIES = 3
"""Of weights that are no files: in the model, serialized, and in ONNX Runtime."""


def _check_room(before: RunnableModel, after: RunnableModel, memory_bytes: float) -> None:
    """Raises NoMemoryError where the weights alone, apart from those in files, take too much."""
    needed = COPIES * (before.bytes + after.bytes)
    if needed > memory_bytes:
        raise NoMemoryError(
            f"memory does not allow to load both models, which takes {needed:.2g} of {memory_bytes:.2g} bytes"
        )


def _by_pieces(pieces: Pieces, a: Interface, assume: Ranges, reason: str) -> Verification:
    """The verdict on models that cannot be run whole, for the reason given."""
    if random := random_operators(pieces.before.proto):
        return Verification("not_comparable", detail=f"{reason}; random operators: {', '.join(random[:3])}")
    try:
        plan = PlanSearch(a.required, pieces.run, pieces.seed, assume, budget=pieces.budget).plan()
        for sizes in plan.sizes:
            integers, distribution = plan.fallback
            feeds = random_inputs(
                *(a.required,),
                seed=pieces.seed,
                sizes=sizes,
                distribution=distribution,
                integers=integers,
                assume=assume,
                rank=plan.rank,
            )
            pieces.compare(feeds, sizes, f"seed {pieces.seed}")
    except MismatchError as mismatch:
        return Verification("failed", pieces.absolute, pieces.relative, detail=str(mismatch))
    except (NotComparableError, BudgetError, ExecutionError, UnsupportedInputError) as error:
        return Verification("not_comparable", detail=f"{reason}; piece by piece: {error}")
    status: Status = "approximate" if pieces.deviations else "passed"
    worst = [f"tensor {path!r}: {text}" for path, text in pieces.deviations.items()][:3]
    detail = "; ".join([f"{len(pieces.cuts) - 1} pieces agree, one by one, as {reason}", *worst])
    return Verification(status, pieces.absolute, pieces.relative, [pieces.seed], detail)
