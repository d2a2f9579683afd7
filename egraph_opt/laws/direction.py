"""In which directions a law is matched, and why in one only."""

from __future__ import annotations

from dataclasses import dataclass

from egraph_opt.errors import LawError
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


def check_direction(entry: Law) -> None:
    """See that every statement in one direction says why, or names a law that is there.

    Raises:
        LawError: one does not; the message names file and line.
    """
    keys = {law.key for law in all_laws()} | {law.name for law in all_laws()}
    for statement in statements(entry):
        place = f"{entry.function.__code__.co_filename}:{statement.line}: {entry.key}"
        if not (_reversible(statement) or statement.because):
            raise LawError(
                f"{place}: matched from one side only: say why with `because=`, or name the `inverse=`"
            )
        if statement.inverse and statement.inverse not in keys:
            raise LawError(f"{place}: there is no law {statement.inverse}, which is named as its inverse")


def _reversible(statement: Equality | Rule) -> bool:
    return bool(statement.inverse) or (isinstance(statement, Equality) and statement.both)
