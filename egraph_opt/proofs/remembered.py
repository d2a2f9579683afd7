"""What functions answer of numbers, found once for all paths: by what they are asked, and not by where.

Host functions compare the same few dims in case after case.  What a function answers of plain data is found
without what a path knows, with the condition of each way to it, which is so on every path.  It is found of
numbers with names of their own, by the order in which they come, and so once for all that differ in names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import z3

from egraph_opt.proofs.facts import LazyFact
from egraph_opt.proofs.numbers import SYMBOLS, TypeNumber

MOST_WAYS = 12
"""Through a function; of one that has more a path may leave fewer."""


@dataclass(frozen=True)
class Kept:
    """What was found.

    Attributes:
        answers: None where they cannot be found so.
        given: what the function was asked, whose formulas keep their numbers in the solver by that.
    """

    answers: Any
    given: Any


class Unkeyed(Exception):
    """What is known along a path only."""


def key_of(value: Any) -> Any:
    """What is equal of data that is written alike.

    Raises:
        Unkeyed: it is no such data.
    """
    kind = type(value)
    if kind is TypeNumber or isinstance(value, LazyFact):
        raise Unkeyed
    if kind in SYMBOLS:
        return kind, value.formula.get_id()
    if kind is float:
        return kind, repr(value)
    if isinstance(value, tuple):
        return kind, tuple(map(key_of, value))
    if is_dataclass(kind):
        return kind, tuple(key_of(getattr(value, field.name)) for field in fields(value))
    if kind in (bool, int, str, type(None), range, frozenset):
        return kind, value
    raise Unkeyed


def formulas_in(value: Any) -> list[z3.ExprRef]:
    """The formulas of what is not known in data."""
    if type(value) in SYMBOLS:
        return [value.formula]
    if isinstance(value, tuple):
        return [formula for part in value for formula in formulas_in(part)]
    if is_dataclass(type(value)):
        return [formula for field in fields(value) for formula in formulas_in(getattr(value, field.name))]
    return []


def known_of(formulas: Sequence[z3.ExprRef]) -> list[z3.BoolRef]:
    """What is so of the dims in formulas wherever they are: none is below 0."""
    return [n >= 0 for n in names_in(formulas) if is_dim(n)]


def names_in(formulas: Sequence[z3.ExprRef]) -> list[z3.ExprRef]:
    """The numbers with names in formulas, in the order in which they come."""
    found: dict[int, z3.ExprRef] = {}
    pending, seen = list(reversed(formulas)), set[int]()
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if part.num_args():
            pending.extend(reversed(part.children()))
        elif part.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[part.get_id()] = part
    return list(found.values())


def is_dim(number: z3.ExprRef) -> bool:
    """Whether a name is one that `Instance` gives to the dims of tensors."""
    name = number.decl().name()
    return name.startswith("d.") or (name.startswith("s") and name[1:].isdecimal())


Renaming = Sequence[tuple[z3.ExprRef, z3.ExprRef]]


OWN = "own."
"""What names for any numbers begin with."""


def has_own_names(value: Any) -> bool:
    """Whether data is asked of without the names that it has on a path."""
    return any(OWN in n.decl().name() for n in names_in(formulas_in(value)))


def own_names(value: Any) -> Renaming:
    """Names for the numbers in data that are the same for all that is written alike."""
    numbers = names_in(formulas_in(value))
    return [(n, z3.Const(f"{'d.' if is_dim(n) else ''}own.{k}", n.sort())) for k, n in enumerate(numbers)]


def renamed(value: Any, names: Renaming) -> Any:
    """Data, with other names for numbers."""
    if not names:
        return value
    if type(value) in SYMBOLS:
        return type(value)(z3.substitute(value.formula, *names), value.path)
    if isinstance(value, tuple):
        return tuple(renamed(part, names) for part in value)
    if is_dataclass(type(value)) and formulas_in(value):
        changed = {field.name: renamed(getattr(value, field.name), names) for field in fields(value)}
        return replace(value, **changed)
    return value


def found_once(path: Any, asked: Any, ask: Callable[[], Any], given: Any) -> Any:
    """What is kept of a question along the paths of one exploration; the first time it is asked."""
    if asked not in path.remembered:
        path.remembered[asked] = Kept(ask(), given)
    return path.remembered[asked].answers
