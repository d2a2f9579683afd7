"""One case: a model and how it is optimised; and everything that is wrong with what comes out."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx

from egraph_opt.pipeline.result import Result

from .classes import Finding
from .drawing import Drawing
from .judging import FAILURES, Original
from .metamorphic import metamorphic
from .models import drawing_of, model_of
from .settings import Setting, draw_setting

SLOW = 20.0
"""Seconds beyond its limit after which an optimisation of such a small graph is a finding."""

METAMORPHIC = 0.08
"""The share of cases whose cost is compared with that of the same model written otherwise."""

ERRORS = frozenset("crash outputs run kernel interface checker fallback late cost died hang".split())
"""Kinds of findings that are failures."""

WEAKNESSES = frozenset("metamorphic growth imprecise".split())
"""Kinds of findings of results that are right, and yet not what one wants."""

FACTOR, ROOM = 100, 2000
"""E-nodes that an e-graph may have for each node of the model, and besides, before its growth is a finding."""


@dataclass(frozen=True)
class Case:
    """A model and how it is optimised.

    Attributes:
        seed: of inputs.
        metamorphic: compare its cost with that of the same model written otherwise, as well.
    """

    model: onnx.ModelProto
    setting: Setting
    seed: int
    metamorphic: bool = False


@dataclass
class Examined:
    """What became of a case.

    Attributes:
        findings: what is wrong.
        counts: of cases by what became of them; of laws that matched or were used; of operators drawn.
    """

    findings: list[Finding] = field(default_factory=list)
    cases: Counter[str] = field(default_factory=Counter)
    laws: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    case: tuple[bytes, Setting, int, bool] | None = None

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.kind in ERRORS]

    @property
    def notable(self) -> list[Finding]:
        """Failures and weaknesses."""
        return [finding for finding in self.findings if finding.kind in ERRORS | WEAKNESSES]

    def add(self, other: Examined) -> None:
        """Count what another one counts."""
        for mine, theirs in (
            (self.cases, other.cases),
            (self.laws, other.laws),
            (self.used, other.used),
            (self.operators, other.operators),
        ):
            mine.update(theirs)


def case_of(seed: Sequence[int]) -> Case | None:
    """The case of a seed; None where what was drawn is no valid model."""
    drawing: Drawing = drawing_of(seed)
    model = model_of(drawing)
    if model is None:
        return None
    rng = np.random.default_rng([*seed, 1])
    setting = draw_setting(rng)
    return Case(model, setting, int(rng.integers(2**31)), bool(rng.random() < METAMORPHIC))


def examine(case: Case, *, as_it_runs: bool = True) -> Examined:
    """Optimise a case and look at what comes out.

    Args:
        as_it_runs: with the runtime's own optimisations, too, which end the process now and then.
    """
    examined = Examined(case=(case.model.SerializeToString(), case.setting, case.seed, case.metamorphic))
    examined.operators.update(node.op_type for node in case.model.graph.node)
    original = Original(case.model, case.seed)
    if not original.trials:
        examined.cases["not run"] += 1
        return examined
    started = time.monotonic()
    try:
        result = case.setting.run(case.model)
    except Exception as error:  # nothing may be raised on a valid model
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        examined.findings.append(Finding("crash", message))
        return examined
    took = time.monotonic() - started
    if took > case.setting.limits.get("seconds", 60) + SLOW:
        examined.findings.append(Finding("late", f"took {took:.1f} s"))
    for row in result.report.rewrites:
        examined.laws[f"{row.ruleset}.{row.name}"] += bool(row.matches)
        examined.used[f"{row.ruleset}.{row.name}"] += bool(row.used)
    examined.findings.extend(judged(case, original, result, examined.cases, as_it_runs=as_it_runs))
    if case.metamorphic and not examined.findings:
        examined.findings.extend(metamorphic(case.model, case.setting))
        examined.cases["metamorphic"] += 1
    return examined


def judged(
    case: Case, original: Original, result: Result, counts: Counter[str], *, as_it_runs: bool = True
) -> Iterator[Finding]:
    """What is wrong with a result."""
    report = result.report
    counts[report.status] += 1
    yield from (Finding("crash", text) for text in report.warnings if text.startswith("a law was left out"))
    grown, usual = report.saturation.nodes, FACTOR * len(case.model.graph.node) + ROOM
    if grown > usual:
        yield Finding("growth", f"{len(case.model.graph.node)} nodes became {grown} e-nodes")
    by = ", ".join(f"{row.ruleset}.{row.name}" for row in report.rewrites if row.used)
    if report.status == "fallback":
        yield Finding("fallback", f"{report.reason}: {report.verification.detail}")
        return
    if case.setting.legalizes and "legalize" in by:
        counts["legalized"] += 1
        return
    yield from changed_interface(case.model, result.model)
    cost = report.cost
    if cost.after > cost.before * (1 + 1e-9) + 1e-9 and case.setting.objective == "cost":
        yield Finding("cost", f"{cost.before} became {cost.after} by {by}")
    if report.status == "unchanged":
        return
    try:
        onnx.checker.check_model(result.model, full_check=True)
    except Exception as error:  # of several kinds
        yield Finding("checker", f"{str(error)[:300]} by {by}")
    values = not case.setting.approximate
    found = original.judge(result.model, values=values, as_it_runs=as_it_runs)
    counts[found.verdict] += 1
    if found.verdict in (*FAILURES, "imprecise"):
        yield Finding(found.verdict, f"{found.message} by {by}")


def changed_interface(model: onnx.ModelProto, optimized: onnx.ModelProto) -> Iterator[Finding]:
    """What an optimised model asks for or gives otherwise than the original."""
    for kind in ("input", "output"):
        before, after = (list(getattr(m.graph, kind)) for m in (model, optimized))
        if before != after:
            names = [[v.name for v in values] for values in (before, after)]
            yield Finding("interface", f"{kind}s {names[0]} became {names[1]}, or their types changed")
    defaults = [{t.name for t in m.graph.initializer} for m in (model, optimized)]
    inputs = {v.name for v in model.graph.input}
    if inputs & defaults[0] != inputs & defaults[1]:
        yield Finding("interface", "other inputs have a default")
    versions = [{o.domain: o.version for o in m.opset_import} for m in (model, optimized)]
    if versions[0].get("", 1) != versions[1].get("", 1):
        yield Finding("interface", f"opsets {versions[0]} became {versions[1]}")
