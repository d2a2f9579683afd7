"""How exact a law is, and which laws an `exactness` lets take part.

    bitwise        the same bits for every input, but for the sign and payload of a NaN
    finite         the same up to the rounding of single operators where all is finite and no number is
                   subnormal; NaN, infinities and the sign of zero may come out otherwise
    reassociates   equal in real arithmetic: sums and products are grouped otherwise, and rounded elsewhere
    approximate    values change, within a bound that the law states: see `approximate`

Every class holds what the ones below it do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from egraph_opt.errors import ExactnessError, LawError, nearest

Numerics = Literal["bitwise", "finite", "reassociates", "approximate"]
"""The class of a law, the strictest first."""

Scale = Literal["value", "operands"]
"""What the bound of an approximate law is relative to."""


@dataclass(frozen=True)
class Approximate:
    """What a law promises that changes values; see `approximate`."""

    bound: float
    of: Scale = "value"


def approximate(bound: float, of: Scale = "value") -> Approximate:
    """The class of a law that changes values: by how much at most, as `numerics=approximate(1e-2)`.

    Every finite element of the original value differs from the one that the law computes by at most `bound`
    times a scale: the greatest finite magnitude in the original value, or, of `"operands"`, in that value and
    in the inputs that it is computed from.  The former says more; the latter is all that can be said where a
    small result comes of large numbers.  The scale of booleans is 1.

    It is promised of inputs of ordinary size, such as measured data that was normalised: not of NaN and
    infinities, nor of numbers that a narrower type lacks.

    Raises:
        LawError: the bound is no positive number, or relative to something else.
    """
    given = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    if not (given and math.isfinite(bound) and bound > 0):
        raise LawError(f"the bound of an approximate law is a positive number, and not {bound!r}")
    if of not in get_args(Scale):
        raise LawError(f"a bound is relative to one of {', '.join(get_args(Scale))}, and not to {of!r}")
    return Approximate(float(bound), of)


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
"""The classes in tables; of laws that are approximate see `told_class`."""

_ALLOWED: dict[Exactness, tuple[Numerics, ...]] = {
    "bitwise": CLASSES[:1],
    "finite": CLASSES[:2],
    "real": CLASSES,  # rulesets that change values run only where they are named
}


def told_class(numerics: Numerics, within: Approximate | None) -> str:
    """The class of a law in tables: how exact it is."""
    if within is None:
        return TOLD[numerics]
    return f"within {within.bound:g}" + (" of operands" if within.of == "operands" else "")


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
