"""A record followed again: matches are applied until nothing is news, and each that is becomes a step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from egraph_opt.certificates.instances import LawInstance, Refused, StatedRule, StatedRules
from egraph_opt.certifying.matching import Places, RowMatches
from egraph_opt.certifying.steps import READ, ReplayCourse, TakenStep
from egraph_opt.egraph.recording import Record
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.expressions import OPERANDS

MOST_PASSES = 200


class Replay:
    """One saturation, as it was recorded, on the terms that there are.

    Args:
        limits: what the target publishes.
    """

    def __init__(
        self, course: ReplayCourse, record: Record, rules: StatedRules, limits: Mapping[str, int]
    ) -> None:
        self._course, self._limits = course, limits
        self._knowledge = course.knowledge
        self.places = Places(course.knowledge, record)
        self._rows: list[tuple[StatedRule, dict[str, Any], tuple[str, ...]]] = []
        for name in sorted(record.matches):
            rule, columns = rules.rule(name), record.columns[name]
            operands = tuple(column for column, kind in columns if kind in OPERANDS)
            names = [column for column, _ in columns]
            for row in record.matches[name]:
                self._rows.append((rule, dict(zip(names, row, strict=True)), operands))
        self._asking: defaultdict[int, list[int]] = defaultdict(list)
        for number, (rule, values, operands) in enumerate(self._rows):
            owners = {values[k] for k in operands}
            owners |= RowMatches(self._knowledge, course.tables, self.places, values).owners(rule)
            for owner in owners:
                self._asking[owner].append(number)
        self._dirty: set[int] = set()

    def run(self, is_done: Callable[[], bool]) -> None:
        """Apply what matches, until all is done that is wanted or nothing is news."""
        self._knowledge.settle()
        self.places.go_on()
        self._knowledge.changed.clear()
        pending = list(range(len(self._rows)))
        for _ in range(MOST_PASSES):
            if not pending or is_done():
                return
            for number in pending:
                self._attempt(number)
            pending, self._dirty = sorted(self._dirty), set()

    def _attempt(self, number: int) -> None:
        rule, values, operands = self._rows[number]
        matches = RowMatches(self._knowledge, self._course.tables, self.places, values)
        for bound in list(matches.all(rule, operands)):
            self._apply(rule, {**values, **bound}, operands)

    def _apply(self, rule: StatedRule, values: dict[str, Any], operands: tuple[str, ...]) -> None:
        given = {
            name: value for name, value in values.items() if name in operands or not isinstance(value, Fact)
        }
        instance = LawInstance(self._knowledge, self._course.tables, dict(given), self._limits)
        try:
            instance.ask(rule)
        except Refused:
            return
        step = TakenStep("law", rule.name, given, frozenset(operands), instance.premises)
        number = self._knowledge.step = self._knowledge.take(step)
        size = len(self._knowledge)
        try:
            news = instance.conclude(rule, number)
        except Refused:
            news = False
        self._knowledge.settle()
        self._knowledge.step = READ
        if not news and len(self._knowledge) == size:
            self._knowledge.drop_last()
            return
        self._look(rule, values, operands)

    def _look(self, rule: StatedRule, values: dict[str, Any], operands: tuple[str, ...]) -> None:
        """Note which matches have something new to look at."""
        owners: set[int] = set()
        for term in self.places.go_on():
            owners |= {
                self.places.owner[k]
                for k in (term, *self._knowledge.operands[term])
                if k in self.places.owner
            }
        for root in self._knowledge.changed:
            for member in self._knowledge.members.get(self._knowledge.root(root), ()):
                if member in self.places.owner:
                    owners.add(self.places.owner[member])
                    break
        self._knowledge.changed.clear()
        owners |= {self.places.owner[values[k]] for k in operands if values[k] in self.places.owner}
        for owner in owners:
            self._dirty.update(self._asking.get(owner, ()))
