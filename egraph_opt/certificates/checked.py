"""What the checker found: on what the equality rests, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.certificates.checking_bound import CheckedBound
from egraph_opt.foreign_text import printable


@dataclass(frozen=True)
class CheckedCertificate:
    """What a certificate shows.

    Attributes:
        nodes: of the result.
        steps: of the certificate.
        laws: how often each law is used.
        definitions: how often the rules that say what shorthands and tables of laws are.
        proved: those of the laws that are proved for all sizes.
        folded: constants that were computed anew.
        expanded: pseudo-operators that were written as what they stand for.
        trusted: what nothing shows, one line each.
        bound: of cost; None where the certificate says nothing of it.
        assumed: of which inputs alone the two are equal, one line each.
        within: by how much laws that are approximate change values at most, by law.
    """

    nodes: int
    steps: int
    laws: Mapping[str, int]
    definitions: int
    proved: tuple[str, ...]
    folded: int
    expanded: int
    trusted: tuple[str, ...]
    bound: CheckedBound | None = None
    assumed: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """In words."""
        per_node = self.steps / max(self.nodes, 1)
        equal = "approximately equal" if self.within else "equal"
        if self.trusted:
            by = f"nothing shows {len(self.trusted)} of {self.steps} steps"
            found = [f"not shown: that the result is {equal} to the model, as {by}"]
        else:
            found = [f"the result is {equal} to the model, by {self.steps} steps ({per_node:.1f} a node)"]
        found += [f"as it was read: {printable(line)}" for line in self.assumed]
        if self.laws:
            found.append(f"it rests on {len(self.laws)} laws, of which {len(self.proved)} are proved:")
            found += [f"  {printable(name)}: {self._said_of_law(name)}" for name in sorted(self.laws)]
        if self.definitions:
            found.append(f"definitions of shorthands and tables of laws: {self.definitions} steps")
        if self.folded:
            found.append(f"constants computed anew: {self.folded}")
        if self.expanded:
            found.append(f"pseudo-operators written as what they stand for: {self.expanded}")
        if self.trusted:
            found.append(f"trusted, as nothing shows it: {len(self.trusted)}")
            found += [f"  {printable(line)}" for line in self.trusted]
        return found if self.bound is None else [*found, *self.bound.lines()]

    def _said_of_law(self, name: str) -> str:
        count, how = self.laws[name], "proved" if name in self.proved else "tested"
        within = f", values within {self.within[name]:g}" if name in self.within else ""
        return f"{count} {'time' if count == 1 else 'times'}, {how}{within}"


def said_of_reading(reading: Mapping[str, Any]) -> tuple[str, ...]:
    """Of which inputs a model was read, where that is not of all."""
    found = []
    for name, (low, high, *step) in sorted(reading["assume"].items()):
        multiple = f", a multiple of {step[0]}" if step and step[0] != 1 else ""
        found.append(f"{name} is assumed to be {low:g} to {high:g}{multiple}")
    for name, sizes in sorted((reading["input_shapes"] or {}).items()):
        dims = [f"{k}={v}" for k, v in sizes.items()] if isinstance(sizes, Mapping) else map(str, sizes)
        found.append(f"{name or 'dims'} of sizes {', '.join(dims)}")
    return tuple(found)
