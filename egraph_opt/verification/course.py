"""What two models are compared on, run by run, up to the first difference."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from egraph_opt.laws.exactness import REAL, Exactness
from egraph_opt.verification.branches import branch_cases
from egraph_opt.verification.budget import LEAST_SECONDS, BudgetError
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, Value
from egraph_opt.verification.inputs import Distribution, Integers, LastDrawn, UnsupportedInputError
from egraph_opt.verification.interface import Interface
from egraph_opt.verification.overriding import overrides
from egraph_opt.verification.planning import Plan, PlanSearch
from egraph_opt.verification.result import Status, Verification
from egraph_opt.verification.runs import MismatchError, NoMemoryError, NotComparableError, Runs
from egraph_opt.verification.sizes import Ranges, Sizes, enlarged, sizes_text
from egraph_opt.verification.trials import Trials


@dataclass(frozen=True)
class Promise:
    """What is known of how an optimized model was made.

    Attributes:
        exactness: what the laws that took part promise.
        names: a tensor that kept its name kept its value.
        small_integers: right only where integers are no larger than they mostly are.
    """

    exactness: Exactness = REAL
    names: bool = False
    small_integers: bool = False


FEWER = "fewer random inputs than usual"

TRIAL = 3.0
"""How many times as long as a comparison a first trial may take: models are loaded, with all tensors."""

NO_PROMISE = Promise()
"""Models of which nothing is known."""


@dataclass
class Course:
    """Which inputs the models are compared on, one after the other."""

    runs: Runs
    interface: Interface
    seed: int
    count: int
    assume: Ranges
    override_defaults: bool
    end: float
    promise: Promise = NO_PROMISE
    longest: float = 0.0
    seeds: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draw = LastDrawn(self.interface.required)
        self._latest = max(self.end, time.monotonic() + LEAST_SECONDS)

    def _lacks_time(self, what: str, end: float, runs: float = 1.0) -> bool:
        """Whether there is none for so many runs more until the end, which is noted."""
        if time.monotonic() + runs * self.longest <= end:
            return False
        note = f"{what}, as the limit of seconds was reached"
        if note not in self.notes:
            self.notes.append(note)
        return True

    def verdict(self, inputs: Sequence[Mapping[str, Value]]) -> Verification:
        """Runs the course up to the first mismatch."""
        started = time.process_time()
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
                self._trials(plan, time.process_time() - started)
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
            self.interface.required,
            self.runs.run_original,
            self.seed,
            assume,
            budget=self.runs.budget,
            draw=self._draw,
        )

    def _random(self, plan: Plan) -> None:
        """Every size at least once, floats normal and uniform in turns."""
        before = self.runs.compared
        for k in range(max(self.count, len(plan.sizes))):
            if k >= len(plan.sizes) and self._lacks_time(FEWER, self.end):
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
            (name, (value, *_)), *_ = case.items()
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
            if self._lacks_time(FEWER, self._latest):
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
            if self._lacks_time("fewer values of defaults than usual", self._latest):
                return
            where = f"seed {self.seed}, {len(changed)} defaults overridden"
            accepted += self.runs.compare({**base, **changed}, plan.sizes[0], where, must_reproduce=True)
            # All of them at once comes first; if that runs there is no need for the parts.
            if accepted == 1 and set(changed) == overridable:
                return
        if not accepted:
            self.notes.append("the original runs with no other values of its defaults that were tried")

    def _trials(self, plan: Plan, spent: float) -> None:
        """Odd values, where values are compared at all."""
        if self.runs.random or self.runs.approximate:
            return
        if self._lacks_time("no odd values", self.end, TRIAL):
            return
        usual: tuple[Mapping[str, Integers], Distribution] = (plan.integers, "normal")
        names, distribution = usual if self._runs(plan, *usual) else plan.fallback

        def feeds(sizes: Sizes, seed: int) -> dict[str, Value]:
            return self._feeds(plan, sizes, distribution, names, seed=seed, case={})

        Trials(
            *(self.runs, self.interface.required, feeds, plan.sizes, names, self.promise.exactness),
            assume=self.assume,
            inside=self.promise.names,
            small_integers=self.promise.small_integers,
            seed=self.seed,
            spent=spent,
        ).run()

    def _runs(self, plan: Plan, integers: Mapping[str, Integers], distribution: Distribution) -> bool:
        feeds = self._feeds(plan, plan.sizes[0], distribution, integers, seed=self.seed, case={})
        try:
            self.runs.run_original(feeds, plan.sizes[0])
        except ExecutionError:
            return False
        return True

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
        where = "".join(f", {name}={only.low}" for name, only in case.items())
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
        return self._draw(
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
        for reason, text in (("constant", "constant"), ("tiny", "tiny")):
            paths = [path for path, why in little.items() if why == reason]
            if paths:
                lines.append(f"outputs that are {text} on all inputs tried: {', '.join(paths)}")
        return [*lines, *self.notes, *self.runs.notes]

    def _result(self, status: Status, details: Sequence[str]) -> Verification:
        return Verification(
            status, self.runs.absolute, self.runs.relative, list(self.seeds), "; ".join(details)
        )
