"""The check itself: interface, checker, and outputs in ONNX Runtime on random inputs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from egraph_opt.verification.branches import branch_cases
from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.checking import checker_error
from egraph_opt.verification.determinism import random_operators
from egraph_opt.verification.execution import (
    ExecutionError,
    ModelLike,
    OutOfMemoryError,
    RunnableModel,
    Value,
    arena_of,
    load,
)
from egraph_opt.verification.inputs import Distribution, Integers, UnsupportedInputError, random_inputs
from egraph_opt.verification.interface import Interface, differences, interface
from egraph_opt.verification.overriding import overrides
from egraph_opt.verification.pieces import Pieces
from egraph_opt.verification.planning import Plan, PlanSearch
from egraph_opt.verification.ranks import with_ranks
from egraph_opt.verification.result import Status, Verification
from egraph_opt.verification.runs import MismatchError, NoMemoryError, NotComparableError, Runs
from egraph_opt.verification.sizes import Ranges, Sizes, enlarged, sizes_text


def verify(
    original: ModelLike,
    optimized: ModelLike,
    *,
    seed: int = 0,
    seeds: int = 3,
    assume: Ranges | None = None,
    inputs: Sequence[Mapping[str, Value]] = (),
    override_defaults: bool = True,
    folder: str | os.PathLike[str] | None = None,
    approximate: bool = False,
    end: float = math.inf,
    budget: RunBudget | None = None,
) -> Verification:
    """Compares an optimized model with the original.

    Interface first, then ONNX's checker (as far as the original passes it), then the outputs in ONNX Runtime
    with its graph optimisations off, on random inputs of several seeds and two sizes for every symbolic dim;
    on the first of them with these optimisations, too, as users run models.

    Args:
        original: a ModelProto, a serialized model, or a path (needed above 2 GB).
        optimized: likewise.
        seed: the first seed; the others follow it.
        seeds: number of runs on random inputs; there are more if the sizes or branches need more.
        assume: least and largest value by name of input, or size by name of symbolic dim.
        inputs: further inputs to compare on, by name, such as samples of real data.
        override_defaults: also run with other values for inputs that have a default.
        folder: where the external data of models given in memory is.
        approximate: values may differ; how far they do is reported.
        end: when to be done, as `time.monotonic` has it, where that takes no more than fewer seeds: every
            size and every branch is compared once all the same.
        budget: of memory and time; sizes that take more are left out, models that do at any size are compared
            piece by piece, and a run that takes more than its shapes say ends it all.

    Returns:
        The verdict; a mismatch is a status, not an exception.

    Raises:
        ModelReadError: one of the models cannot be read.
    """
    before = load(original, folder=folder)
    after = load(optimized, folder=folder)
    a, b = interface(before.proto), interface(after.proto)
    changed = differences(a, b)
    if changed:
        return Verification("failed", detail="; ".join(changed))
    invalid = checker_error(before, after)
    if invalid:
        return Verification("failed", detail=f"onnx.checker refuses the optimized model: {invalid}")
    a, reason = with_ranks(a, before.proto)
    if reason:
        return Verification("not_comparable", detail=reason)
    budget = budget or RunBudget()
    with arena_of(budget.bytes):
        try:
            _check_room(before, after, budget.bytes)
            runs = Runs(before, after, seed, approximate=approximate, budget=budget)
            course = _Course(runs, a, seed, max(seeds, 1), assume or {}, override_defaults, end)
            return course.verdict(inputs)
        except NoMemoryError as error:
            reason = str(error)
        except MismatchError as mismatch:
            return Verification("failed", detail=str(mismatch))
        except NotComparableError as error:
            return Verification("not_comparable", detail=str(error))
    with arena_of(budget.bytes):
        pieces = Pieces(before, after, seed, approximate, budget.piece_by_piece())
        return _by_pieces(pieces, a, assume or {}, reason)


COPIES = 3
"""Of weights that are no files: in the model, serialized, and in ONNX Runtime."""


def _check_room(before: RunnableModel, after: RunnableModel, memory_bytes: float) -> None:
    """Raises NoMemoryError where the weights alone, apart from those in files, take too much."""
    needed = COPIES * (before.proto.ByteSize() + after.proto.ByteSize())
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


@dataclass
class _Course:
    """Which inputs the models are compared on, one after the other."""

    runs: Runs
    interface: Interface
    seed: int
    count: int
    assume: Ranges
    override_defaults: bool
    end: float
    longest: float = 0.0
    seeds: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def verdict(self, inputs: Sequence[Mapping[str, Value]]) -> Verification:
        """Runs the course up to the first mismatch."""
        try:
            for k, feeds in enumerate(inputs):
                if not self.runs.compare(feeds, {}, f"given input {k}"):
                    self.notes.append(f"the original does not run on given input {k}")
            plan = self._plan()
            if plan is not None:
                self._random(plan)
                self._branches(plan)
                self._probe(plan)
                self._override(plan)
            self.runs.finish()
        except MismatchError as mismatch:
            return self._result("failed", [str(mismatch)])
        except NoMemoryError:
            raise
        except (NotComparableError, BudgetError) as reason:
            return self._result("not_comparable", [str(reason)])
        return self._result("approximate" if self.runs.deviations else "passed", self._summary(plan))

    def _plan(self) -> Plan | None:
        """What the original runs on; None if nothing was found, but given inputs were compared."""
        try:
            return self._search(self.assume).plan()
        except UnsupportedInputError as error:
            reason, cause = str(error), error
        except OutOfMemoryError as error:
            raise NoMemoryError(f"memory does not allow to run the original: {error}") from error
        except ExecutionError as error:
            reason, cause = f"the original does not run on any of the inputs tried: {error}", error  # type: ignore[assignment]
        if not self.runs.compared:
            raise NotComparableError(reason) from cause
        self.notes.append(reason)
        return None

    def _search(self, assume: Ranges) -> PlanSearch:
        return PlanSearch(
            self.interface.required, self.runs.run_original, self.seed, assume, budget=self.runs.budget
        )

    def _random(self, plan: Plan) -> None:
        """Every size at least once, floats normal and uniform in turns."""
        before = self.runs.compared
        for k in range(max(self.count, len(plan.sizes))):
            if k >= len(plan.sizes) and time.monotonic() + self.longest > self.end:
                self.notes.append("fewer random inputs than usual, as the limit of seconds was reached")
                break
            sizes = plan.sizes[k % len(plan.sizes)]
            uniform = (k + k // len(plan.sizes)) % 2
            self._compare(plan, sizes, "uniform" if uniform else "normal", self.seed + k)
        if self.runs.compared == before:
            raise NotComparableError("the original does not run twice on the same inputs")

    def _branches(self, plan: Plan) -> None:
        """Inputs that select a branch take every value that is asked for; optional ones are left out once."""
        for case in branch_cases(self.runs.before.proto, self.interface.required):
            if set(case) & set(self.assume):
                continue
            assumed = {**self.assume, **case}
            (name, (value, _)), *_ = case.items()
            if any(self._compare(plan, sizes, "normal", self.seed, case) for sizes in plan.sizes):
                continue
            try:
                other = self._search(assumed).plan()
            except ExecutionError:
                self.notes.append(f"the original does not run with {name}={value}")
                continue
            for sizes in other.sizes:
                self._compare(other, sizes, "normal", self.seed, case)

        for spec in self.interface.required:
            if spec.optional:
                integers, distribution = plan.fallback
                feeds = self._feeds(
                    *(plan, plan.sizes[0], distribution, integers),
                    seed=self.seed,
                    case={},
                    absent={spec.name},
                )
                self.runs.compare(feeds, plan.sizes[0], f"seed {self.seed}, without {spec.name!r}")

    def _probe(self, plan: Plan) -> None:
        """Outputs that are constant or tiny on noise get inputs that resemble data."""
        larger = enlarged(self.interface.required, plan.sizes[0])
        probes: Iterable[tuple[Distribution, Sizes]] = (
            ("smooth", plan.sizes[0]),
            ("large", plan.sizes[0]),
            ("smooth", larger),
        )
        for k, (distribution, sizes) in enumerate(probes):
            if self.runs.random or not self.runs.uninformative():
                return
            if k < 2 or sizes != plan.sizes[0]:
                self._compare(plan, sizes, distribution, self.seed + max(self.count, len(plan.sizes)) + k)

    def _override(self, plan: Plan) -> None:
        overridable = self.interface.overridable
        if not self.override_defaults or not overridable:
            return
        integers, distribution = plan.fallback
        base = self._feeds(plan, plan.sizes[0], distribution, integers, seed=self.seed, case={})
        accepted = 0
        for changed in overrides(self.runs.before, self.interface, self.seed):
            where = f"seed {self.seed}, {len(changed)} defaults overridden"
            accepted += self.runs.compare({**base, **changed}, plan.sizes[0], where, must_reproduce=True)
            # All of them at once comes first; if that runs there is no need for the parts.
            if accepted == 1 and set(changed) == overridable:
                return
        if not accepted:
            self.notes.append("the original runs with no other values of its defaults that were tried")

    def _compare(
        self, plan: Plan, sizes: Sizes, distribution: Distribution, seed: int, case: Ranges | None = None
    ) -> bool:
        """Compares on the first of some ranges of values that the original accepts."""
        if self.runs.budget.beyond(self.interface.required, sizes, plan.rank):
            return False
        case = case or {}
        ranges: Sequence[tuple[Mapping[str, Integers], Distribution]] = (
            (plan.integers, distribution),
            (plan.fallback[0], distribution),
            plan.fallback,
            (dict.fromkeys(plan.integers, (0, 0)), plan.fallback[1]),
        )
        where = "".join(f", {name}={low}" for name, (low, _) in case.items())
        for integers, floats in ranges:
            started = time.monotonic()
            feeds = self._feeds(plan, sizes, floats, integers, seed=seed, case=case)
            compared = self.runs.compare(feeds, sizes, f"seed {seed}, {floats} floats{where}")
            self.longest = max(self.longest, time.monotonic() - started)
            if compared:
                if seed not in self.seeds:
                    self.seeds.append(seed)
                return True
        return False

    def _feeds(
        self,
        plan: Plan,
        sizes: Sizes,
        distribution: Distribution,
        integers: Mapping[str, Integers],
        *,
        seed: int,
        case: Ranges,
        absent: Collection[str] = (),
    ) -> dict[str, Value]:
        return random_inputs(
            self.interface.required,
            seed=seed,
            sizes=sizes,
            distribution=distribution,
            integers=integers,
            assume={**self.assume, **case},
            rank=plan.rank,
            absent=absent,
        )

    def _summary(self, plan: Plan | None) -> list[str]:
        lines = [f"{self.runs.compared} runs agree"]
        if self.runs.deviations:
            worst = "; ".join(f"output {path!r}: {text}" for path, text in self.runs.deviations.items())
            lines = [f"types and shapes agree in {self.runs.compared} runs, values differ: {worst}"]
        if plan is not None and any(plan.sizes):
            lines.append("sizes " + " and ".join(sizes_text(sizes) for sizes in plan.sizes))
        little = self.runs.uninformative()
        for reason, text in (("constant", "constant"), ("tiny", "so small that only absolute errors show")):
            paths = [path for path, why in little.items() if why == reason]
            if paths:
                lines.append(f"outputs that are {text} on all inputs tried: {', '.join(paths)}")
        return [*lines, *self.notes, *self.runs.notes]

    def _result(self, status: Status, details: Sequence[str]) -> Verification:
        return Verification(
            status, self.runs.absolute, self.runs.relative, list(self.seeds), "; ".join(details)
        )
