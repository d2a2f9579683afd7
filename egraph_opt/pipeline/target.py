"""Whether an e-graph may be priced under a cost model: what that brings to saturation has taken part.

A cost model brings rulesets, through whose laws its pseudo-operators come, and limits that laws ask for.  An
e-graph without them lacks graphs that `optimize` would find, and nothing in the answer would say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.cost.model import CostModel
from egraph_opt.laws.exactness import REAL, Exactness, exactness_named
from egraph_opt.laws.selection import select

MOST_TOLD = 3
"""Of more limits that differ only the first are listed."""


@dataclass(frozen=True)
class SaturatedFor:
    """What took part in a saturation.

    Attributes:
        laws: keys of the laws that were asked for.
        left_out: rulesets and laws that were left out by name: nobody misses them.
        limits: what the target published, of kernels, say.
        exactness: laws that it leaves out nobody misses, either.
    """

    laws: frozenset[str] = field(default=frozenset(), repr=False)
    left_out: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    exactness: Exactness = REAL

    def as_header(self) -> dict[str, Any]:
        """What a file says of it."""
        return {
            "target_limits": dict(self.limits),
            "laws": sorted(self.laws),
            "left_out": sorted(self.left_out),
            "exactness": self.exactness,
        }

    @classmethod
    def of_header(cls, header: Mapping[str, Any]) -> SaturatedFor:
        """The inverse of `as_header`.

        Raises:
            ExactnessError: it names none.
        """
        laws, left_out = frozenset(header.get("laws", ())), frozenset(header.get("left_out", ()))
        return cls(laws, left_out, header["target_limits"], exactness_named(header.get("exactness", REAL)))

    def mismatch(self, model: CostModel) -> str:
        """What a cost model brings that took no part; "" where all of it did.

        Raises:
            UnknownRulesetError: it names a ruleset that there is not.
        """
        return " and ".join((*self._rulesets(model), *self._limits(model)))

    def _rulesets(self, model: CostModel) -> Iterator[str]:
        brought = select((), model.rulesets, self.exactness) if model.rulesets else ()
        missing = {
            law.ruleset
            for law in brought
            if law.key not in self.laws and self.left_out.isdisjoint((law.key, law.ruleset))
        }
        if missing:
            yield f"without {_listed('ruleset', sorted(missing))}"

    def _limits(self, model: CostModel) -> Iterator[str]:
        differing = [
            f"{name} = {self.limits.get(name, 'none')} (now {limit})"
            for name, limit in sorted(model.limits.items())
            if self.limits.get(name) != limit
        ]
        if differing:
            more = len(differing) - MOST_TOLD
            rest = [f"{more} more"] if more > 0 else []
            yield f"under {_listed('limit', [*differing[:MOST_TOLD], *rest])}"


def _listed(kind: str, names: Iterable[str]) -> str:
    parts = list(names)
    return f"the {kind}{'s' if len(parts) > 1 else ''} {', '.join(parts)}"
