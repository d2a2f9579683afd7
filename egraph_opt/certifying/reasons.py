"""What a proof needs: the steps behind equations, facts and terms, each once.

Steps are needed in the order in which they were taken, so that whatever one rests on comes before it.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.certificates.closure import CONGRUENT
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.knowledge import Appended, Known, SameContent
from egraph_opt.certifying.steps import BETWEEN, WatchedKnowledge

BETWEEN_ONLY = "{} is only there between two saturations, and nothing shows it"


class Needed:
    """The steps that are needed, and the ways to find them.

    Attributes:
        steps: by number.
    """

    def __init__(self, knowledge: WatchedKnowledge) -> None:
        self._knowledge = knowledge
        self.steps: set[int] = set()
        self._pending: list[tuple[Any, ...]] = []
        self._seen: set[Any] = set()

    def equal(self, a: int, b: int) -> None:
        """Need two terms to be equal, and whatever that takes."""
        self._ask("equal", min(a, b), max(a, b))
        while self._pending:
            kind, *what = self._pending.pop()
            getattr(self, f"_{kind}")(*what)

    def _ask(self, *what: Any) -> None:
        key = tuple(id(part) if isinstance(part, Known) else part for part in what)
        if key not in self._seen:
            self._seen.add(key)
            self._pending.append(what)

    def _equal(self, a: int, b: int) -> None:
        for x, y, reason in self._knowledge.why(a, b) if a != b else ():
            if reason is CONGRUENT:
                for left, right in zip(self._knowledge.operands[x], self._knowledge.operands[y], strict=True):
                    self._pair(left, right)
            elif isinstance(reason, SameContent):
                for term, known in (reason.one, reason.other):
                    self._ask("known", term, known)
            elif isinstance(reason, Appended):
                self._pair(reason.first, reason.read)
                self._ask("term", reason.read)
            else:
                self._ask("step", reason)

    def _pair(self, a: int, b: int) -> None:
        if a != b:
            self._ask("equal", min(a, b), max(a, b))

    def _known(self, term: int, known: Known) -> None:
        self._ask("term", known.term)
        self._pair(term, known.term)
        for pair in known.lists:
            self._pair(*pair)
            self._ask("term", pair[1])
        for other, fact in known.of:
            self._ask("known", other, fact)

    def _term(self, term: int) -> None:
        """Need a term to be there."""
        if self._knowledge.made_in[term] == BETWEEN:
            other = made_by_steps(self._knowledge, term)
            if other is None:
                raise CertificateError(BETWEEN_ONLY.format(self._knowledge.text(term)))
            for pair in zip(self._knowledge.operands[term], self._knowledge.operands[other], strict=True):
                self._pair(*pair)
            self._ask("term", other)
            return
        if self._knowledge.made_in[term] >= 0:
            self._ask("step", self._knowledge.made_in[term])
        for operand in self._knowledge.operands[term]:
            self._ask("term", operand)

    def _step(self, number: int) -> None:
        self.steps.add(number)
        step = self._knowledge.steps[number]
        for name in step.operands:
            self._ask("term", step.values[name])
        for a, b in step.premises.equal:
            self._pair(a, b)
        for term in step.premises.terms:
            self._ask("term", term)
        for term, known in step.premises.known:
            self._ask("known", term, known)
        for row in step.premises.rows:
            self._ask("step", row)


def made_by_steps(knowledge: WatchedKnowledge, term: int) -> int | None:
    """The same function of equal operands as one between two saturations, which whoever checks has."""
    signature = knowledge.signature(term)
    for other in knowledge.members[knowledge.root(term)]:
        if knowledge.made_in[other] != BETWEEN and knowledge.signature(other) == signature:
            return other
    return None
