"""The evidence of a part: prices, and cases where prices leave a gap."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

import numpy as np

from egraph_opt.certificates.cases import Case, Cheaper, Impossible, PartEvidence, Split, with_payments
from egraph_opt.certificates.lower_bound import CLASS, NODE, Payments, SelectionPart, Supposed
from egraph_opt.certifying.payments import ENOUGH, RelaxedPart, SetNumbers, by_landmarks, piece_of
from egraph_opt.extraction.programs.branching import WHOLE
from egraph_opt.extraction.structure import Floats

MOST_CASES = 2000
"""Of a part; the file would have many prices of each."""

SMALLER = 0.8
"""The share of its nodes that a case must be left with for a program of its own."""

WAIT = Impossible()
"""In the place of a case that is looked at later."""


def proof_of(part: SelectionPart, goal: int, deadline: float) -> PartEvidence:
    """Evidence that the nodes of a part cost so much, or of as much of it as there is time for.

    Args:
        goal: what the chosen nodes of the part cost, in fractions of units.
        deadline: as `time.monotonic` has it.
    """
    return _PartProof(part, goal, deadline).evidence()


@dataclass(frozen=True, order=True)
class _Open:
    """A case that is to be looked at.

    Attributes:
        payments: that prove as much of it as is known.
        relaxed: a program that it is a case of; None where it needs one of its own.
    """

    bound: int
    order: int
    number: int
    supposed: Supposed = field(compare=False)
    payments: Payments = field(compare=False)
    relaxed: RelaxedPart | None = field(compare=False)


class _PartProof:
    def __init__(self, part: SelectionPart, goal: int, deadline: float) -> None:
        self._part, self._goal, self._deadline = part, goal, deadline
        self._enough = goal - int(goal * ENOUGH)
        self._sets = SetNumbers(part)
        self._cases: list[Case] = []
        self._open: list[_Open] = []

    def evidence(self) -> PartEvidence:
        whole = self._part.whole()
        self._push(self._new(), whole, Payments((), ()), None)
        self._by_landmarks()
        while self._open and len(self._cases) < MOST_CASES and not self._late():
            self._look_at(heappop(self._open))
        for case in self._open:
            self._cases[case.number] = Impossible() if case.supposed.is_impossible else case.payments
        return _trimmed(self._part, self._goal, self._cases)

    def _late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _by_landmarks(self) -> None:
        """Landmark cuts of the whole part, then of what cheaper solutions can have, while that shrinks."""
        shrinks = True
        while self._open and shrinks and not self._late():
            case = heappop(self._open)
            if case.supposed.is_impossible:
                self._cases[case.number] = Impossible()
                return
            piece = piece_of(self._part, case.supposed)
            payments = by_landmarks(
                self._part, case.supposed, piece, self._sets, enough=self._enough, late=self._late
            )
            case = self._better(case, payments)
            shrinks = self._is_done(case) or self._is_narrowed(case, SMALLER)
            if not shrinks and not self._is_narrowed(case, 1.0):
                heappush(self._open, case)

    def _better(self, case: _Open, payments: Payments) -> _Open:
        bound = self._part.bound(case.supposed, payments)
        return case if bound <= case.bound else replace(case, bound=bound, payments=payments)

    def _is_done(self, case: _Open) -> bool:
        """Close a case whose prices are enough."""
        if case.bound >= self._enough:
            self._cases[case.number] = case.payments
        return case.bound >= self._enough

    def _is_narrowed(self, case: _Open, share: float) -> bool:
        """Go on without nodes that are in no cheaper solution, where no more than a share is left then."""
        left = self._part.cheaper(case.supposed, case.payments, self._goal)
        before = _size(case.supposed)
        if not left.is_impossible and (_size(left) > share * before or _size(left) == before):
            return False
        following = self._new()
        self._cases[case.number] = Cheaper(case.payments, following)
        self._push(following, left, case.payments, None)
        return True

    def _look_at(self, case: _Open) -> None:
        supposed, relaxed = case.supposed, case.relaxed
        if supposed.is_impossible:
            self._cases[case.number] = Impossible()
            return
        self._cases[case.number] = case.payments  # where nothing better is found
        if relaxed is None:
            piece = piece_of(self._part, supposed)
            if not piece.nodes:
                return
            left = max(self._deadline - time.monotonic(), 0.0)
            relaxed = RelaxedPart(self._part, piece, self._sets, left)
        found = relaxed.solve(supposed, self._goal)
        if found is None:
            if case.relaxed is not None:  # in this case it may be too narrow
                heappush(self._open, replace(case, relaxed=None))
            return
        payments, values = found
        case = self._better(case, payments)
        if self._is_done(case) or self._is_narrowed(case, SMALLER):
            return
        self._cases[case.number] = case.payments
        what = _in_doubt(relaxed, values)
        if what is None:
            return
        numbers = self._new(), self._new()
        self._cases[case.number] = Split(*what, *numbers)
        own = None if what[0] == NODE else relaxed  # without a node, what it made needless may be needed
        for half, number, program in zip(supposed.halves(*what), numbers, (relaxed, own), strict=True):
            self._push(number, half, case.payments, program)

    def _push(self, number: int, supposed: Supposed, payments: Payments, relaxed: RelaxedPart | None) -> None:
        """Look at a case later; of equal bounds the last first."""
        bound = 0 if supposed.is_impossible else self._part.bound(supposed, payments)
        heappush(self._open, _Open(bound, -number, number, supposed, payments, relaxed))

    def _new(self) -> int:
        self._cases.append(WAIT)
        return len(self._cases) - 1


def _size(supposed: Supposed) -> int:
    return sum(map(len, supposed.options.values()))


def _in_doubt(relaxed: RelaxedPart, values: Floats) -> tuple[str, int] | None:
    """The class that is used by half, most nearly, or a node; None where all values are whole."""
    piece, doubt = relaxed.piece, np.minimum(values, 1.0 - values)
    nodes = len(piece.nodes)
    here = int(np.argmax(doubt[nodes:]))
    if doubt[nodes + here] > WHOLE:
        return CLASS, piece.classes[here]
    node = int(np.argmax(doubt[:nodes]))
    return (NODE, piece.nodes[node]) if doubt[node] > WHOLE else None


def _trimmed(part: SelectionPart, goal: int, cases: list[Case]) -> PartEvidence:
    """The evidence with the sets that cases use."""
    used: dict[int, int] = {}

    def renumbered(payments: Payments) -> Payments:
        rewards = tuple((used.setdefault(k, len(used)), reward) for k, reward in payments.rewards)
        return Payments(payments.pays, rewards)

    found = tuple(with_payments(case, renumbered) for case in cases)
    return PartEvidence(part.classes, goal, tuple(part.sets[k] for k in used), found)
