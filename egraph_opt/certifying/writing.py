"""The steps that are needed, written down: terms by the names of tensors, or as functions of other terms."""

from __future__ import annotations

from typing import Any

from egraph_opt.certificates.certificate import APPLIED, BUNDLE, MODEL, RESULT, ProofStep
from egraph_opt.certificates.closure import operands_first
from egraph_opt.certificates.digests import digest_of_source
from egraph_opt.certificates.instances import StatedRules
from egraph_opt.certificates.reading import ReadModel
from egraph_opt.certifying.steps import TakenStep, WatchedKnowledge
from egraph_opt.operators.stored_values import encode


class Writer:
    """Writes steps, and collects the terms that they speak of."""

    def __init__(self, knowledge: WatchedKnowledge, model: ReadModel, result: ReadModel) -> None:
        self._knowledge = knowledge
        self._named: dict[int, list[Any]] = {}
        for kind, read in ((MODEL, model), (RESULT, result)):
            for name, term in read.terms.items():
                self._named.setdefault(term, [kind, name])
            for name, term in read.bundles.items():
                self._named.setdefault(term, [f"{kind}{BUNDLE}", name])
        self.terms: list[list[Any]] = []
        self._numbers: dict[int, int] = {}

    def step(self, step: TakenStep) -> ProofStep:
        """A step as a certificate has it."""
        terms = {name: self._number(step.values[name]) for name in sorted(step.operands)}
        values = {name: encode(value) for name, value in step.values.items() if name not in step.operands}
        return ProofStep(step.kind, step.name, terms, values)

    def _number(self, term: int) -> int:
        for current in operands_first(term, self._numbers, self._inner, most=len(self._knowledge)):
            described = self._named.get(current) or self._described(current)
            self._numbers[current] = len(self.terms)
            self.terms.append(described)
        return self._numbers[term]

    def _inner(self, term: int) -> tuple[int, ...]:
        """The operands of a term that has no name."""
        return () if term in self._named else self._knowledge.operands[term]

    def _described(self, term: int) -> list[Any]:
        function = self._knowledge.functions[term]
        given = zip(self._knowledge.arguments[term], self._knowledge.places(function), strict=True)
        arguments = [self._numbers[item] if operand else encode(item) for item, operand in given]
        return [APPLIED, function, arguments]


def law_digests(steps: list[TakenStep], rules: StatedRules) -> dict[str, str]:
    """The digests of what steps are instances of, by name."""
    names = sorted({step.name.split("#")[0] for step in steps if step.kind == "law"})
    return {name: digest_of_source(rules.source(name)) for name in names}
