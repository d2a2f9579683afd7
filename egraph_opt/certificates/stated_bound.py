"""The part of a certificate that is about cost: what it states, and how it is written as JSON.

    {"version": 1, "cost_model": "ascend", "unit": "us", "bodies": 0,
     "classes": [[[cost, [child class, ..]], ..], ..], "roots": [class, ..],
     "chosen": [node, ..], "written": [[tensor of the result, ..], ..] or null,
     "fineness": fractions of a unit, "bound": [numerator, denominator],
     "parts": [{"classes": [..], "goal": n, "sets": [[class, [class, ..]], ..], "cases": [..]}, ..]}

Nodes are numbered through all classes.  Goals, prices and rewards are counted in fractions of the largest
unit that divides all costs.  Cases: `["prices", [[class, child class, price], ..], [[set, reward], ..]]`; the
same as "cheaper", with the number of the case that is left; `["class" or "node", number, case with it, case
without it]`; `["impossible"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from egraph_opt.certificates.cases import Case, Cheaper, Impossible, PartEvidence, Split
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.lower_bound import CLASS, NODE, Payments
from egraph_opt.certificates.selection import SelectionProblem, numbers

VERSION = 1
"""Of this part; one of another version is refused."""

PRICES, CHEAPER, IMPOSSIBLE = "prices", "cheaper", "impossible"


@dataclass(frozen=True)
class StatedBound:
    """What a certificate says of cost.

    Attributes:
        cost_model, unit: what prices are of, and in; for people.
        bodies: how many bodies of If, Loop and Scan are priced as they were chosen.
        problem: what the e-graph leaves to choose.
        chosen: the nodes of the chosen graph.
        written: per chosen node the tensors of the result that its nodes make; None where that is not shown.
        fineness: fractions of a unit of cost that prices are counted in.
        bound: what is said that no solution is below.
    """

    cost_model: str
    unit: str
    bodies: int
    problem: SelectionProblem
    chosen: tuple[int, ...]
    written: tuple[tuple[str, ...], ...] | None
    fineness: int
    bound: Fraction
    parts: tuple[PartEvidence, ...]

    def to_json(self) -> dict[str, Any]:
        """As a certificate has it."""
        problem = self.problem
        return {
            "version": VERSION,
            "cost_model": self.cost_model,
            "unit": self.unit,
            "bodies": self.bodies,
            "classes": [
                [[problem.cost[node] / problem.scale, list(problem.children[node])] for node in nodes]
                for nodes in problem.options
            ],
            "roots": list(problem.roots),
            "chosen": list(self.chosen),
            "written": None if self.written is None else [list(names) for names in self.written],
            "fineness": self.fineness,
            "bound": [self.bound.numerator, self.bound.denominator],
            "parts": [
                {
                    "classes": list(part.classes),
                    "goal": part.goal,
                    "sets": [[giver, list(members)] for giver, members in part.sets],
                    "cases": [_case_as_json(case) for case in part.cases],
                }
                for part in self.parts
            ],
        }

    @classmethod
    def from_json(cls, found: Any) -> StatedBound:
        """Read what `to_json` wrote.

        Raises:
            CertificateError: it is none, or one of another version; the message names the first thing.
        """
        if not isinstance(found, Mapping) or found.get("version") != VERSION:
            raise CertificateError("not a certificate: its bound is of another version")
        try:
            problem = SelectionProblem.of(found["classes"], found["roots"])
            parts = tuple(_part(problem, part) for part in found["parts"])
            top, bottom = (_whole(number) for number in found["bound"])
            chosen = tuple(numbers(found["chosen"], range(len(problem.owner))))
            if not bottom:
                raise CertificateError("not a certificate: its bound is divided by 0")
            return cls(
                cost_model=str(found["cost_model"]),
                unit=str(found["unit"]),
                bodies=_whole(found["bodies"]),
                problem=problem,
                chosen=chosen,
                written=_written(found["written"], len(chosen)),
                fineness=max(1, _whole(found["fineness"])),
                bound=Fraction(top, bottom),
                parts=parts,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CertificateError(
                f"not a certificate: its bound: {type(error).__name__}: {error}"
            ) from error


def _case_as_json(case: Case) -> list[Any]:
    if isinstance(case, Split):
        return [case.what, case.number, case.having, case.lacking]
    if isinstance(case, Impossible):
        return [IMPOSSIBLE]
    payments = case.payments if isinstance(case, Cheaper) else case
    amounts = [list(map(list, payments.pays)), list(map(list, payments.rewards))]
    return [CHEAPER, *amounts, case.left] if isinstance(case, Cheaper) else [PRICES, *amounts]


def _part(problem: SelectionProblem, found: Mapping[str, Any]) -> PartEvidence:
    inside = range(len(problem.options))
    sets = tuple((_whole(giver), tuple(numbers(members, inside))) for giver, members in found["sets"])
    return PartEvidence(
        classes=tuple(numbers(found["classes"], inside)),
        goal=_whole(found["goal"]),
        sets=sets,
        cases=tuple(_case(problem, case, len(found["cases"]), len(sets)) for case in found["cases"]),
    )


def _case(problem: SelectionProblem, found: Sequence[Any], cases: int, sets: int) -> Case:
    kind, *rest = found
    if kind == IMPOSSIBLE:
        () = rest
        return Impossible()
    if kind in (CLASS, NODE):
        number, having, lacking = rest
        several = problem.options if kind == CLASS else problem.owner
        numbers([number], range(len(several)))
        return Split(kind, number, *numbers([having, lacking], range(cases)))
    if kind not in (PRICES, CHEAPER):
        raise CertificateError(f"not a certificate: its bound has a case {kind!r}")
    pays, rewards, *left = rest
    payments = Payments(
        tuple((_whole(here), _whole(child), _whole(price)) for here, child, price in pays),
        tuple((numbers([number], range(sets))[0], _whole(reward)) for number, reward in rewards),
    )
    if kind == PRICES:
        () = left
        return payments
    return Cheaper(payments, *numbers(left, range(cases)))


def _written(found: Any, count: int) -> tuple[tuple[str, ...], ...] | None:
    if found is None:
        return None
    names = tuple(tuple(row) for row in found)
    if len(names) != count or not all(isinstance(name, str) for row in names for name in row):
        raise CertificateError("not a certificate: its bound does not say which tensors chosen nodes make")
    return names


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise CertificateError(f"not a certificate: its bound has {number!r} for a number")
    return number
