"""The steps that made terms equal while a record was followed, and what each of them rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from egraph_opt.certificates.instances import LawTables, Premises
from egraph_opt.certificates.knowledge import Knowledge

READ, BETWEEN = -1, -2
"""Where terms come from that no step has made: the model and the result, or a model between two saturations,
which whoever checks does not have: its terms are there only where steps have made others that are equal."""


@dataclass(frozen=True, eq=False)
class TakenStep:
    """A step, with what it rests on.

    Attributes:
        kind: as of a step that is written.
        name: the statement, or of a step that is trusted the reason.
        values: by variable terms and attributes; of other steps the terms in order.
        operands: the names of those that are terms.
    """

    kind: str
    name: str
    values: dict[str, Any]
    operands: frozenset[str]
    premises: Premises


class WatchedKnowledge(Knowledge):
    """What is known, with the step that made each term, and what has changed since it was looked at."""

    def __init__(self, opset: int) -> None:
        self.steps: list[TakenStep] = []
        self.made_in: list[int] = []
        self.step = READ
        self.changed: list[int] = []
        self.merged: list[int] = []
        super().__init__(opset)

    def is_new(self, term: int) -> None:
        self.made_in.append(self.step)
        super().is_new(term)

    def add(self, function: str, arguments: tuple[Any, ...]) -> int:
        if self.step == BETWEEN:
            found = self.find(function, arguments)
            if found is not None:
                return found
        return super().add(function, arguments)

    def has_changed(self, root: int) -> None:
        self.changed.append(root)

    def are_one(self, kept: int, gone: int, users: list[int]) -> None:
        self.merged.append(kept)
        super().are_one(kept, gone, users)

    def take(self, step: TakenStep) -> int:
        """Enter a step, by whose number what it does is known."""
        self.steps.append(step)
        return len(self.steps) - 1

    def drop_last(self) -> None:
        """Take back a step that did nothing."""
        self.steps.pop()


@dataclass
class ReplayCourse:
    """What is shared by all iterations of an optimisation."""

    knowledge: WatchedKnowledge
    tables: LawTables = field(default_factory=LawTables)
