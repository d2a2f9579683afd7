"""What became of a law on a model: where it matched and what that was worth, or why it did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from egraph_opt.report.explanation import wrapped
from egraph_opt.report.text import number_text

MOST_PLACES = 5


@dataclass(frozen=True)
class FailedStep:
    """Where a rule of a law got no further.

    Attributes:
        place: the tensor on top of what it matches.
        rule: which of the law's rules, `#<k>` with `<` behind it from right to left.
        passed, steps: of all that the rule asks, how much held.
        reason: what did not, with the values that were seen.
        purpose: "growth" or "kernel" where the law would be as true without that condition, else "".
    """

    place: str
    rule: str
    passed: int
    steps: int
    reason: str
    purpose: str = ""


@dataclass(frozen=True)
class LawPlace:
    """A tensor for which the law has written something.

    Attributes:
        tensor: its name, or that of the one nearest to it that has one.
        status: "used", "declined" (something else is cheaper), "unwritable" or "passed over".
        difference: how much more the cheapest graph costs that has it so.
        note: what else is known.
    """

    tensor: str
    status: str
    difference: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class LawAnswer:
    """What became of a law.

    Attributes:
        key, formula: of the law.
        verdict: "used", "declined", "unwritable", "merged" (it made two tensors equal, or wrote what was
            there), "no match", or "no part" where it did not take part.
        reason: of the verdict, in a sentence.
        matches: over all rounds.
        places: where it has written something.
        failed: where it did not match, those that got furthest first; all that there are.
        about: the tensor or node that was asked for, or "".
    """

    key: str
    formula: str
    verdict: str
    reason: str
    unit: str
    matches: int = 0
    places: tuple[LawPlace, ...] = ()
    failed: tuple[FailedStep, ...] = ()
    about: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The text, at most 80 columns wide where names are no longer."""
        at = f" at {self.about}" if self.about else ""
        found = wrapped(f"{self.key}: {self.formula}")
        found += wrapped(f"{self.verdict}{at}: {self.reason}")
        for place in self.places[:MOST_PLACES]:
            found += wrapped(self._place(place), "  ", "      ")
        found += self._more(len(self.places))
        if self.failed and self.verdict == "no match":
            found += self._failures()
        return found

    def _place(self, place: LawPlace) -> str:
        text = f"{place.tensor}: {place.status}"
        if place.status == "declined":
            text += f", +{number_text(place.difference)} {self.unit} with it"
        return f"{text}{', ' if place.note else ''}{place.note}"

    def _failures(self) -> Iterator[str]:
        for step in self.failed[:MOST_PLACES]:
            purpose = {"growth": " (bounds growth)", "kernel": " (the target's kernels)"}.get(
                step.purpose, ""
            )
            yield from wrapped(
                f"{step.place}, rule {step.rule}, {step.passed} of {step.steps} hold; then"
                f" {step.reason}{purpose}",
                "  ",
                "      ",
            )
        yield from self._more(len(self.failed))

    @staticmethod
    def _more(count: int) -> list[str]:
        return [f"  and at {count - MOST_PLACES} more places"] if count > MOST_PLACES else []
