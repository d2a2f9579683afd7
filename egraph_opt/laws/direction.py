"""In which directions a law is matched, and why in one only."""

from __future__ import annotations

from dataclasses import dataclass

from egraph_opt.errors import LawError, nearest
from egraph_opt.laws.law import Law, statements, where
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


def check_named_laws(entry: Law) -> None:
    """See that the laws are there that it requires, and that are named as finding the other direction.

    Raises:
        LawError: one is not; the message names file and line.
    """
    keys = {law.key for law in all_laws()}
    names = keys | {law.name for law in all_laws()}
    for required in set(entry.required) - keys:
        hint = _suggestion(required, keys)
        raise LawError(f"{where(entry.function)}: {entry.name}: requires {required}, which is no law{hint}")
    for statement in statements(entry):
        if statement.inverse and statement.inverse not in names:
            hint = _suggestion(statement.inverse, names)
            raise LawError(
                f"{entry.function.__code__.co_filename}:{statement.line}: {entry.name}: there is no law"
                f" {statement.inverse}, which is named as its inverse{hint}"
            )


def _suggestion(name: str, names: set[str]) -> str:
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


def _reversible(statement: Equality | Rule) -> bool:
    return bool(statement.inverse) or (isinstance(statement, Equality) and statement.both)
