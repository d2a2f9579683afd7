"""In which directions a law is matched, and why in one only."""

from __future__ import annotations

from dataclasses import dataclass

from egraph_opt.errors import LawError, nearest
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.selection import all_laws
from egraph_opt.laws.statements import Equality, Rule


@dataclass(frozen=True)
class Direction:
    """How a law is matched.

    Attributes:
        sign: "=" where every statement is found from both sides, by itself or by an inverse; "->" else.
        reason: what keeps it from the other direction, or the laws that state that.
    """

    sign: str
    reason: str


def direction_of(entry: Law) -> Direction:
    """The direction of a law, as its statements say."""
    found = statements(entry)
    reasons = dict.fromkeys(s.because for s in found if s.because)
    inverses = dict.fromkeys(s.inverse for s in found if s.inverse and s.inverse != entry.name)
    both = all(_reversible(s) for s in found)
    told = [*reasons, *(f"back by {name}" for name in inverses)]
    return Direction("=" if both else "->", "; ".join(told))


def check_inverses(entry: Law) -> None:
    """See that the laws that are named as finding the other direction are there.

    Raises:
        LawError: one is not; the message names file and line.
    """
    names = {name for law in all_laws() for name in (law.key, law.name)}
    for statement in statements(entry):
        if statement.inverse and statement.inverse not in names:
            near = nearest(statement.inverse, names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise LawError(
                f"{entry.function.__code__.co_filename}:{statement.line}: {entry.name}: there is no law"
                f" {statement.inverse}, which is named as its inverse{hint}"
            )


def _reversible(statement: Equality | Rule) -> bool:
    return bool(statement.inverse) or (isinstance(statement, Equality) and statement.both)
