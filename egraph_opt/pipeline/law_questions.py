"""Why a law did nothing on a model, or what it did: asked of the e-graph, saturated again as it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from egraph_opt.cost.expansion import stood_for
from egraph_opt.cost.repricing import Key
from egraph_opt.egraph.engines import engine_for
from egraph_opt.egraph.questions import Answers, Row, RuleStep, ask, steps_of
from egraph_opt.egraph.relevance import heads_of_graph
from egraph_opt.egraph.saturation import run_rounds
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import UnknownLawError, UnknownTensorError
from egraph_opt.forking import cached_property
from egraph_opt.laws.exactness import allows
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws, by_default
from egraph_opt.laws.statements import Absent
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Constant, Expression
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.seen_values import SeenValues
from egraph_opt.pipeline.target import SaturatedFor
from egraph_opt.pipeline.tensor_alternatives import TensorAlternative, names_of_classes, tensor_alternatives
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.value_info import law_at
from egraph_opt.report.explanation import ExplainedDifference, Explanation
from egraph_opt.report.law_answer import FailedStep, LawAnswer, LawPlace

MOST_PRICED = 5
"""Places at which it is worked out what a law's way would cost: each takes a search."""


JOINED = "inferred: it made two tensors equal"
"""Said of a law that wrote nothing of the result, and is in the chain that a difference rests on."""


class Explained(Protocol):
    """What was chosen, rebuilt: a `Result`, which knows this file."""

    def explain(self) -> Explanation:
        """Where it differs from the model."""


@dataclass(frozen=True)
class LawQuestion:
    """A saturated model, and what was chosen of it.

    Attributes:
        model: that was saturated.
        saturated_for: what took part.
        unit: of prices.
        key: what it was priced at.
        result: rebuilds what was chosen, to see where it differs from the model, and by which laws.
    """

    model: ir.Model
    region: Region
    extracted: Extracted
    saturated_for: SaturatedFor
    limits: Limits
    unit: str
    key: Key
    result: Callable[[], Explained]

    @cached_property
    def _differences(self) -> Sequence[ExplainedDifference]:
        """Where what was chosen differs from the model."""
        return self.result().explain().differences

    def answer(self, name: str, at: str | None = None) -> LawAnswer:
        """What became of a law.

        Args:
            name: `ruleset.name`.
            at: a tensor or a node of the model or of what was chosen; only there.

        Raises:
            UnknownLawError: there is no such law.
            UnknownTensorError: there is no such name.
        """
        law = law_named(name)
        if law.key not in self.saturated_for.laws:
            return self._answer(law, "no part", why_no_part(law, self.saturated_for), at)
        at = self._in_model(at)
        parts = [part for part in self.region.walk() if at is None or at in self._names(part)]
        matches = sum(part.saturation.matches.get(law.key, 0) for part in self.region.walk())
        places = [place for part in parts for place in self._places(part, law, at)]
        if matches and not any(place.status == "used" for place in places):
            places = [*self._joined(law, at), *places]
        if places:
            return self._of_places(law, places, matches, at)
        failed: list[FailedStep] = []
        matched: list[str] = []
        for part in parts:
            for tensor, step in self._asked(part, law, at):
                matched += [tensor] if step is None else []
                failed += [] if step is None else [step]
        order = {"": 0, "kernel": 1, "growth": 2}
        failed.sort(key=lambda s: (-s.passed / s.steps, order[s.purpose], s.place, s.rule))
        if matched or (matches and at is None):
            where = f" at {', '.join(dict.fromkeys(matched))}" if matched else ""
            reason = (
                f"it matched{where}, and wrote nothing new: what it writes was there, or it joined tensors"
            )
            if not matches:
                reason = f"it matches{where} in what laws that run last have made, and was not asked again"
            return self._answer(law, "merged", reason, at, matches)
        reason = "no place has all that it asks for"
        if not failed:
            reason = "the model has none of the operators that it is about"
        return self._answer(law, "no match", reason, at, matches, failed=tuple(failed))

    def _answer(
        self, law: Law, verdict: str, reason: str, at: str | None, matches: int = 0, **more: Any
    ) -> LawAnswer:
        formula = " ".join(law.formula.split())
        return LawAnswer(law.key, formula, verdict, reason, self.unit, matches, about=at or "", **more)

    def _in_model(self, name: str | None) -> str | None:
        """The name of a tensor or a node of the model; for one of what was chosen, of what it computes."""
        known = {name: None for part in self.region.walk() for name in self._names(part)}
        if name is None or name in known:
            return name
        computed = (gives for entry in self._differences if name in entry.names() for gives in entry.gives)
        found = next((gives for gives in computed if gives in known), None)
        if found is None:
            raise UnknownTensorError(
                name, [*known, *(n for entry in self._differences for n in entry.names())]
            )
        return found

    def _joined(self, law: Law, at: str | None) -> Iterator[LawPlace]:
        """Where what was chosen differs from the model because a law made two tensors equal."""
        for entry in self._differences:
            rests = any(one.key == law.key and not one.recorded for one in entry.laws)
            if rests and (at is None or at in entry.names()):
                yield LawPlace(", ".join(entry.gives) or "a tensor", "used", note=JOINED)

    @staticmethod
    def _names(part: Region) -> dict[str, int]:
        return names_of_classes(part.lowered, part.snapshot.term_classes)

    # --- where it has written -----------------------------------------------------------------------------

    def _of_places(self, law: Law, places: Sequence[LawPlace], matches: int, at: str | None) -> LawAnswer:
        """The answer where a law has written something: the best that became of it."""
        order = ("used", "declined", "unwritable", "passed over")
        found = sorted(places, key=lambda p: (order.index(p.status), p.difference, p.tensor))
        best = found[0]
        reason = {
            "used": "the result rests on it" if best.note == JOINED else "the result has what it wrote",
            "declined": "it matched, and the price declined",
            "unwritable": "it matched, and what it wrote cannot be written",
            "passed over": "it matched, and what it wrote is part of no cheaper graph",
        }[best.status]
        verdict = "declined" if best.status == "passed over" else best.status
        return self._answer(law, verdict, f"{reason} ({matches:,} matches)", at, matches, places=tuple(found))

    def _places(self, part: Region, law: Law, at: str | None) -> Iterator[LawPlace]:
        """What became of the e-nodes that a law has written, one by tensor."""
        extracted = next(e for e in self.extracted.walk() if e.choice.snapshot is part.snapshot)
        snapshot, choice = part.snapshot, extracted.choice
        owners = self._names(part)
        names = {owner: name for name, owner in sorted(owners.items(), reverse=True)}
        chosen = set(stood_for(snapshot, choice.node[choice.node >= 0].tolist(), part.lowered.opset)) | set(
            _folded(choice).tolist()
        )
        only = None if at is None else owners[at]
        made = [k for k in range(snapshot.n_nodes) if law_at(snapshot, k) == law.key]
        written = {k: names.get(int(snapshot.plain[int(snapshot.node_class[k])]), "") for k in made}
        ways: dict[str, list[TensorAlternative]] = {}
        seen: set[tuple[str, str]] = set()
        for k in sorted(made, key=lambda k: (k not in chosen, not written[k], written[k], k)):
            name = written[k]
            if only is not None and int(snapshot.node_class[k]) != only:
                continue
            if name and name not in ways and k not in chosen and len(ways) < MOST_PRICED:
                ways[name] = tensor_alternatives(*(self.region, self.extracted, self.key), self.model, name)
            place = self._place(part, extracted, k, k in chosen, ways.get(name, []))
            if place.status != "passed over" and (name or place.status) and (name, place.status) not in seen:
                seen.add((name, place.status))
                yield LawPlace(name or "a new tensor", place.status, place.difference, place.note)
        there = [k for k in made if only is None or int(snapshot.node_class[k]) == only]
        if there and not seen:
            yield LawPlace(at or "new tensors", "passed over")

    def _place(
        self, part: Region, extracted: Extracted, node: int, used: bool, ways: Sequence[TensorAlternative]
    ) -> LawPlace:
        """What became of one e-node."""
        snapshot, opset = part.snapshot, part.lowered.opset
        if used:
            return LawPlace("", "used")
        if not math.isfinite(extracted.prices.cost[node]):
            operator, attributes = snapshot.operator[node], snapshot.attributes[node]
            said = str(attributes[0]) if operator_named(operator).op_types else operator.rstrip("_")
            if onnx.defs.has(said) and onnx.defs.get_schema(said).since_version > opset:
                return LawPlace("", "unwritable", note=f"opset {opset} has no {said}")
            return LawPlace("", "unwritable", note=f"the target has no kernel for {said}")
        of_law = [way for way in ways if way.law == law_at(snapshot, node) and not way.chosen]
        if not of_law:
            return LawPlace("", "passed over")
        note = "" if of_law[0].proved else "not proved"
        return LawPlace("", "declined", of_law[0].difference, f"{of_law[0]}{'; ' if note else ''}{note}")

    # --- where it has not matched ---------------------------------------------------------------------------

    def _asked(self, part: Region, law: Law, at: str | None) -> Iterator[tuple[str, FailedStep | None]]:
        """By place how far the rules of a law get; None where one matches."""
        lowered = part.lowered
        laws = tuple(entry for entry in all_laws() if entry.key in self.saturated_for.laws)
        limits = self.saturated_for.limits
        engine = engine_for(laws, True, frozenset(heads_of_graph(lowered, limits)))
        with watched():
            engine.load(lowered, limits)
            run_rounds(
                *(engine, lambda rule: True),
                nodes=self.limits.nodes,
                rounds=self.limits.rounds,
                seconds=self.limits.seconds,
            )
            seen = SeenValues(engine, lowered)
            only = None if at is None else seen.named[at]
            for answers in ask(engine, steps_of(law)):
                yield from _furthest(answers, seen, only)


def _folded(choice: Choice) -> npt.NDArray[np.int32]:
    """The e-nodes by which constants of the result are computed."""
    return choice.computed[(choice.node >= 0) & (choice.computed >= 0)]


def law_named(name: str) -> Law:
    """A law by `ruleset.name`.

    Raises:
        UnknownLawError: there is none.
    """
    laws = {entry.key: entry for entry in all_laws()}
    if name not in laws:
        raise UnknownLawError(name, tuple(laws))
    return laws[name]


def why_no_part(law: Law, saturated_for: SaturatedFor) -> str:
    """Why a law is not among those that took part."""
    if not saturated_for.left_out.isdisjoint((law.ruleset, law.key)):
        return "it was left out by name"
    if not allows(saturated_for.exactness, law.numerics):
        asked = saturated_for.exactness
        return f"it is of the class {law.numerics!r}, which exactness {asked!r} does not let in"
    if not law.exact:
        return f"it changes values, and takes part only where it is named: --rewrites default,{law.key}"
    if not by_default(law):
        return (
            f"the ruleset {law.ruleset} takes part under cost models that ask for it, or where it is named:"
            f" --rewrites default,{law.ruleset}"
        )
    return "its ruleset was not among those that were named"


def _furthest(
    answers: Answers, seen: SeenValues, only: Any = None
) -> Iterator[tuple[str, FailedStep | None]]:
    """By place how far a rule gets.

    Args:
        only: the one class that is asked about.
    """
    rule = answers.rule
    root = _root(rule.steps[0])
    best: dict[Any, tuple[int, Row]] = {}
    for passed, rows in enumerate(answers.rows, start=1):
        for row in rows:
            place = row.get(root)
            if only is None or place == only:
                known = best.get(place)
                if known is None or known[0] < passed:
                    best[place] = passed, row
    suffix = rule.name.partition("#")[2]
    if only is not None and only not in best and rule.steps[0].kind == "computed":
        tensor, reason = seen.tensor(only), _not_computed(rule.steps[0], {root: only}, seen)
        yield tensor, FailedStep(tensor, f"#{suffix}", 0, len(rule.steps), reason)
    for place, (passed, row) in best.items():
        tensor = seen.tensor(place) if place is not None else "the model"
        if passed == len(rule.steps):
            yield tensor, None
            continue
        step = rule.steps[passed]
        reason = _reason(step, rule.steps[:passed], row, seen)
        yield tensor, FailedStep(tensor, f"#{suffix}", passed, len(rule.steps), reason, step.purpose)


def _root(step: RuleStep) -> str:
    return str(step.subject.head)


def _reason(step: RuleStep, before: Sequence[RuleStep], row: Mapping[str, Any], seen: SeenValues) -> str:
    """What does not hold, with the values that are seen."""
    values = dict(row)
    if step.kind == "computed":
        return _not_computed(step, values, seen)
    if step.kind == "entry":
        inside = ", ".join(_argument(name, entry, values, seen) for name, entry in step.arguments)
        return f"there is no {_short(step.wanted.head.name)}({inside})"
    if step.kind == "known":
        return f"nothing is known of what {step.wanted.head.name} asks for"
    one = seen.words(step.subject, values)
    if step.kind == "differs":
        return f"{one} and {seen.words(step.wanted, values)} are one"
    if step.kind == "equal":
        name = step.arguments[0][0]
        wanted = seen.words(step.wanted, values)
        return f"{name} = {one}, and not {wanted}" if name else f"{one} is not {wanted}"
    return _not_held(step, before, values, seen)


def _not_computed(step: RuleStep, values: dict[str, Any], seen: SeenValues) -> str:
    name = step.wanted.head.name
    if name == "limit":
        return f"the target publishes no limit {seen.words(step.arguments[0][1], values)!r}"
    if str(step.subject.head) not in values:  # a table's value, which nothing else has bound
        inside = ", ".join(_argument(n, entry, values, seen) for n, entry in step.arguments)
        return f"there is no {_short(name)}({inside})"
    subject = seen.words(step.subject, values)
    if name == "node":
        return f"{subject} is no tensor of the model"
    if name in ("nil", "cons"):
        return "there are more operands" if name == "nil" else "there are no more operands"
    if name not in operators():
        inside = ", ".join(_argument(n, entry, values, seen) for n, entry in step.arguments)
        return f"{subject} is no {_short(name)}({inside})"
    is_by = seen.operators_of(values[str(step.subject.head)])
    return f"{subject} is computed by {is_by}, and not by {term_text(step.wanted)}"


def _not_held(step: RuleStep, before: Sequence[RuleStep], values: dict[str, Any], seen: SeenValues) -> str:
    """The answer of a host function that has to be another one."""
    call = step.wanted.answer if isinstance(step.wanted, Absent) else step.wanted
    asked = next(s for s in reversed(before) if s.kind == "known" and s.subject == step.subject)
    inside = ", ".join(_argument(name, entry, values, seen) for name, entry in asked.arguments)
    answer = seen.value(step.subject, values)
    said = "nothing" if answer is None else str(answer)
    doc = " ".join((call.head.function.__doc__ or "").strip().split("\n\n")[0].split()).rstrip(".")
    meaning = f' ("{doc}")' if doc else ""
    return f"{call.head.name}({inside}) answers {said}{meaning}"


def _argument(name: str, entry: Expression, values: dict[str, Any], seen: SeenValues) -> str:
    text = seen.words(entry, values)
    return f"{name}: {text}" if name else text


def term_text(term: Expression) -> str:
    """The operator of a term, by ONNX's name where the law says it."""
    for argument in term.arguments:
        if argument.sort.kind == "string" and isinstance(argument.head, Constant):
            return str(argument.head.value)
    return str(term.head.name).rstrip("_")


def _short(name: str) -> str:
    """The name of a table without the module that declares it."""
    return name.removeprefix("rewrites_").replace("_", " ")
