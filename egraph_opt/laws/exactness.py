"""How exact a law is, and which laws an `exactness` lets take part.

    bitwise        the same bits for every input, but for the sign and payload of a NaN
    finite         the same up to the rounding of single operators where all is finite and no number is
                   subnormal; NaN, infinities and the sign of zero may come out otherwise
    reassociates   equal in real arithmetic: sums and products are grouped otherwise, and rounded elsewhere
    approximate    values change

Every class holds what the ones below it do.
"""

from __future__ import annotations

from typing import Literal, get_args

from egraph_opt.errors import ExactnessError, nearest

Numerics = Literal["bitwise", "finite", "reassociates", "approximate"]
"""The class of a law, the strictest first."""

Exactness = Literal["bitwise", "finite", "real"]
"""What a result has to keep."""

EXACTNESSES: tuple[Exactness, ...] = get_args(Exactness)
"""The strictest first."""

REAL: Exactness = "real"
"""The default: what is equal in real arithmetic, and what the user named besides."""

CLASSES: tuple[Numerics, ...] = get_args(Numerics)

TOLD: dict[Numerics, str] = {
    "bitwise": "bit by bit",
    "finite": "where finite",
    "reassociates": "in real arithmetic",
    "approximate": "no",
}
"""The classes in tables."""

_ALLOWED: dict[Exactness, tuple[Numerics, ...]] = {
    "bitwise": CLASSES[:1],
    "finite": CLASSES[:2],
    "real": CLASSES,  # rulesets that change values run only where they are named
}


def exactness_named(name: str) -> Exactness:
    """One of the exactnesses by its name.

    Raises:
        ExactnessError: there is none of that name.
    """
    if name not in _ALLOWED:
        near = nearest(str(name), _ALLOWED)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ExactnessError(f"exactness is {name!r}, and not one of {', '.join(_ALLOWED)}{hint}")
    return name


def allows(exactness: Exactness, numerics: Numerics) -> bool:
    """Whether laws of a class take part."""
    return numerics in _ALLOWED[exactness]
