"""Passes: laws that run together, to their fixed point, before anything is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from egraph_opt.laws.selection import select

Acceptance = Literal["gated", "blind"]
"""What a pass makes is kept where the cost falls, or always."""


@dataclass(frozen=True)
class Pass:
    """Laws that a greedy optimizer would call one pass.

    Attributes:
        laws: keys of laws (`ruleset.name`) and names of rulesets.
    """

    name: str
    laws: tuple[str, ...]

    def holds(self, law: str) -> bool:
        """Whether a law is one of the pass."""
        return law in self.laws or law.rpartition(".")[0] in self.laws

    @staticmethod
    def of_rulesets(names: Iterable[str] | None) -> tuple[Pass, ...]:
        """A pass for each ruleset of which `select` takes laws; by default of all that are exact.

        Raises:
            UnknownRulesetError: there is no such ruleset or law.
        """
        return tuple(Pass(name, (name,)) for name in sorted({law.ruleset for law in select(names)}))
