"""Evidence of a lower bound: parts, whose bounds add up, and cases, of which the least bound counts.

Every solution has a class or has it not, and likewise a node: these are two cases.  A case in which something
that is needed cannot be built has no solution.  To show that no solution is below a goal, those need not be
looked at that have a node which, by some prices, is in none below it: this leaves a smaller case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.lower_bound import Payments, SelectionPart
from egraph_opt.certificates.selection import SelectionProblem


class Cheaper(NamedTuple):
    """A case without the nodes that prices show to be in no solution below the goal of the part."""

    payments: Payments
    left: int


class Split(NamedTuple):
    """Two cases: with a class or a node, and without it; the numbers of both, higher than its own."""

    what: str
    number: int
    having: int
    lacking: int


class Impossible(NamedTuple):
    """A case without a solution."""


Case = Payments | Cheaper | Split | Impossible


def with_payments(case: Case, change: Callable[[Payments], Payments]) -> Case:
    """A case with other prices, where it has any."""
    if isinstance(case, Payments):
        return change(case)
    return Cheaper(change(case.payments), case.left) if isinstance(case, Cheaper) else case


def payments_of(case: Case) -> Payments | None:
    """The prices of a case, where it has any."""
    return case.payments if isinstance(case, Cheaper) else case if isinstance(case, Payments) else None


@dataclass(frozen=True)
class PartEvidence:
    """Evidence of the bound of some classes.

    Attributes:
        classes: the classes, all within no other part.
        goal: the bound that is shown, in fractions of units, unless a case has a lower one.
        sets: (class that gives the reward, the set that it is in).
        cases: the first is the whole part.
    """

    classes: tuple[int, ...]
    goal: int
    sets: tuple[tuple[int, tuple[int, ...]], ...]
    cases: tuple[Case, ...]


def bound_of_part(problem: SelectionProblem, evidence: PartEvidence, fineness: int) -> int:
    """The bound that the cases of a part prove, in fractions of units.

    Raises:
        CertificateError: cases that are none.
    """
    part = SelectionPart(problem, evidence.classes, fineness)
    part.add_sets(evidence.sets)
    pending, seen, bounds = [(0, part.whole())], 0, [evidence.goal]
    while pending:
        number, supposed = pending.pop()
        case, seen = evidence.cases[number], seen + 1
        following = _following(case)
        if seen > len(evidence.cases) or min(following, default=number + 1) <= number:
            raise CertificateError("not a certificate: a case occurs twice, or before what it is a case of")
        if isinstance(case, Split):
            pending += zip(following, supposed.halves(case.what, case.number), strict=True)
        elif isinstance(case, Cheaper):
            pending.append((case.left, part.cheaper(supposed, case.payments, evidence.goal)))
        elif isinstance(case, Payments):
            bounds.append(part.bound(supposed, case))
        elif not supposed.is_impossible:
            raise CertificateError(f"case {number} is said to be impossible, and is not")
    return min(bounds)


def _following(case: Case) -> tuple[int, ...]:
    if isinstance(case, Split):
        return (case.having, case.lacking)
    return (case.left,) if isinstance(case, Cheaper) else ()


def bound_of_parts(problem: SelectionProblem, parts: Sequence[PartEvidence], fineness: int) -> Fraction:
    """The bound of a whole problem: what its parts cost, and classes in none of them that it must have.

    Raises:
        CertificateError: parts that share a class, or evidence that is none.
    """
    taken: set[int] = set()
    total = 0
    for part in parts:
        if len(set(part.classes)) < len(part.classes) or not taken.isdisjoint(part.classes):
            raise CertificateError("not a certificate: two parts of the bound share a class")
        taken.update(part.classes)
        total += bound_of_part(problem, part, fineness)
    alone = sorted(problem.required - taken)
    total += fineness * sum(min(problem.cost[node] for node in problem.options[here]) for here in alone)
    return Fraction(total, fineness * problem.scale)
