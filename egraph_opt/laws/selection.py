"""Which laws there are, and which of them run."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from functools import lru_cache

from egraph_opt.errors import ExactnessError, UnknownRulesetError
from egraph_opt.laws.exactness import REAL, Exactness, allows
from egraph_opt.laws.law import Law, registered

DEFAULT = "default"
"""Stands for all rulesets that are used unless others are named."""

LEGALIZE = "legalize"
"""The ruleset of passes that are no laws: see `legalization`."""

ASSUME = "assume"
"""The ruleset of laws that take for granted what the types of values only make likely."""

OPT_IN = ("approximate", ASSUME, LEGALIZE)
"""Rulesets that run only when they are named: values change, or the result leaves the standard."""


@lru_cache(maxsize=1)
def _load_entry_points() -> tuple[str, ...]:
    """The modules that were loaded."""
    points = sorted(importlib.metadata.entry_points(group="egraph_opt.rewrites"), key=lambda p: p.name)
    for point in points:
        point.load()
    return tuple(point.module for point in points)


def plug_ins() -> tuple[str, ...]:
    """The modules of others that are installed as rulesets."""
    return tuple(name for name in _load_entry_points() if name.partition(".")[0] != "egraph_opt")


def all_laws() -> tuple[Law, ...]:
    """Every registered law, ordered by ruleset and name; loads the installed rulesets first."""
    _load_entry_points()
    return tuple(registered[key] for key in sorted(registered))


def rulesets() -> tuple[str, ...]:
    """The names of all rulesets."""
    return tuple(sorted({entry.ruleset for entry in all_laws()}))


def opt_in(ruleset: str) -> bool:
    """Whether a ruleset runs only when it is named: it changes values, or belongs to one target."""
    return ruleset.split(".")[0] in OPT_IN or "." in ruleset


def by_default(law: Law) -> bool:
    """Whether a law runs where nobody names it or its ruleset, from whatever file: no value changes."""
    return law.exact and not opt_in(law.ruleset)


def select(
    names: Iterable[str] | None, extra: Iterable[str] = (), exactness: Exactness = REAL
) -> tuple[Law, ...]:
    """The laws of the rulesets named, and of `extra` ones.

    The name `default` is that of all that are exact, which are taken where none are named:
    ``["default", "approximate"]`` adds a ruleset to them, ``["default", "-concat", "-slice.compose"]`` leaves
    out a ruleset and a law (and so does ``["-concat", "-slice.compose"]``).  `legalize` names no laws.
    Laws that change values take part where `names` has them or their ruleset, and not for `extra`;
    ``"+approximate"`` names them, and requires them as well (see `required`).
    Of all these take part those whose class `exactness` lets in.

    Raises:
        UnknownRulesetError: a name that no ruleset and no law has.
        ExactnessError: what is named has laws, and none that the exactness lets in.
    """
    given, left_out = _read(names)
    chosen = given | set(extra)
    laws, known = all_laws(), rulesets()
    keys = {entry.key for entry in laws}
    for name in sorted(chosen | left_out):
        if name not in (*known, DEFAULT, LEGALIZE) and name not in keys:
            raise UnknownRulesetError(name, (*known, DEFAULT, LEGALIZE, *(keys if "." in name else ())))
    named = given - {DEFAULT, LEGALIZE}
    for name in sorted(named):
        of_name = [entry for entry in laws if name in (entry.ruleset, entry.key)]
        if not any(allows(exactness, entry.numerics) for entry in of_name):
            raise ExactnessError(f"exactness={exactness!r} leaves out all of {name!r}, which was named")
    return tuple(
        entry
        for entry in laws
        if allows(exactness, entry.numerics)
        and _is_chosen(entry, chosen, named)
        and left_out.isdisjoint((entry.ruleset, entry.key))
    )


def required(names: Iterable[str] | None, chosen: Iterable[Law]) -> tuple[Law, ...]:
    """Of the laws that are chosen those that are named with a plus: they are applied wherever they match.

    Raises:
        ExactnessError: a name of laws that keep values, which are chosen by cost alone.
    """
    wanted = {name[1:] for name in names or () if name.startswith("+")}
    found = tuple(law for law in chosen if not wanted.isdisjoint((law.ruleset, law.key)))
    for name in sorted(wanted):
        if any(law.exact for law in found if name in (law.ruleset, law.key)):
            raise ExactnessError(
                f"+{name}: has laws that keep values, and such are chosen by what they cost;"
                " only those that change values can be required"
            )
    return found


def waiting(names: Iterable[str] | None) -> tuple[Law, ...]:
    """The laws that would be among the default ones if they did not change values, and are not named."""
    chosen, left_out = _read(names)
    return tuple(
        law
        for law in (all_laws() if DEFAULT in chosen else ())
        if not (law.exact or opt_in(law.ruleset)) and (chosen | left_out).isdisjoint((law.ruleset, law.key))
    )


def _read(names: Iterable[str] | None) -> tuple[set[str], set[str]]:
    """The names that are chosen, and those that are left out."""
    given = (DEFAULT,) if names is None else tuple(names)
    left_out = {name[1:] for name in given if name.startswith("-")}
    chosen = {name.removeprefix("+") for name in given if not name.startswith("-")}
    return chosen or ({DEFAULT} if left_out else set()), left_out


def _is_chosen(entry: Law, chosen: set[str], named: set[str]) -> bool:
    """Whether a law is among those chosen; one that changes values only where the user names it."""
    names = (entry.ruleset, entry.key)
    if not entry.exact:
        return not named.isdisjoint(names)
    return not chosen.isdisjoint(names) or (DEFAULT in chosen and by_default(entry))
