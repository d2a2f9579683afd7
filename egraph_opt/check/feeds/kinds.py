"""Kinds of inputs, with the odd numbers that they hold, and which of them a law is fed with.

That follows from what it claims (`laws.exactness`): a `bitwise` law holds for whatever elements there are; a
`finite` one promises something of each element where all is finite; a `reassociates` law something of sums
as a whole, and that what is finite stays finite up to `RANGE`, also where all of a row is one number, of
which differences leave their rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from egraph_opt.laws.exactness import Numerics

Kind = Literal[
    "normal",
    "wide",
    "tiny",
    "special",
    "moderate",
    "every size",
    "large",
    "level",
    "alike",
    "ends",
    "low",
    "small values",
    "multiples",
    "cancelling",
    "ties",
    "points",
    "zeros",
    "underflow",
]
LARGEST = float(np.finfo(np.float32).max)
SPECIAL = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 2.5),
    *(1e30, -1e30, 1e-40, -1e-40, 65504.0, LARGEST, -LARGEST, 2.0**24 + 1, 2.0**31),
    *(0.50000006, 1.4999999, 1 - 2.0**-40, 1 + 2.0**-11 + 2.0**-40),
)
MODERATE = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 10.0, -50.0, 1e-3, 20.5, 60.0)
RANGE = 1e9
"""Of numbers up to this, and of float16 up to `HALF_RANGE`, every exact law keeps finite what is finite."""

HALF_RANGE = 32.0

HALF_APART = 2.0**14
"""Of float16 two numbers up to this have a difference, which has one with their mean."""

LARGE = (0.0, 1.0, -1.0, 89.0, 100.0, -200.0, 700.0, -700.0, 6e4, 1e-4, -1e-9, RANGE, -RANGE, 1e-30)
BEYOND_ON_THE_WAY = (88.8, 89.2, -88.8, -103.5, 1.5e19, -1.5e19, 11.3, -11.3, 709.9)
"""Numbers of which Exp, or the square, is not finite though half of it would be, in one of the types."""

EVERY_SIZE = (
    *BEYOND_ON_THE_WAY,
    *(0.0, -0.0, 1.0, -1.0, 100.0, -100.0, 1e15, -1e15, 1e30, -1e30, 3.4e38, -3.4e38, 3e-6, 1e-30, 2e-38),
    *(1e-40, -1e-40),
    *(3e4, -3e4),
    *(0.50000006, 1.4999999, 1 - 2.0**-40, 1 + 2.0**-11 + 2.0**-40),
)
TABLES: Mapping[str, tuple[float, ...]] = {
    "special": SPECIAL,
    "moderate": MODERATE,
    "large": LARGE,
    "every size": EVERY_SIZE,
}
BEYOND_FLOAT32: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("special", "every size"), (1e39, -1e300, 1e-46, -1e-300)),
    "large": (1e39, 1e-46),
}
"""What float64 has besides in each table, and float32 takes for infinite or 0."""

SHARE = {"special": 0.75, "moderate": 0.5, "large": 0.5, "every size": 0.75}
"""The share of elements that are from the table."""

INTEGERS = (
    *(0, 1, -1, 2, -2, 3, -3, 5, 7, 100, -100, 127, 128, 255, 256, -129, 2**16 + 1),
    *(2**24 + 1, 2**31 - 1, -(2**31), 2**31, 2**32 + 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
    *(2**60 + 2**36 + 1, -(2**55) - 2**31 - 1),
)
"""The last ones are halfway between two float32s, and one beyond, which float64 does not tell."""

DIVISORS = (1, 2, 3, 7, -2, -3, 100)
"""Division by zero ends the process, and so does that of the least integer by -1."""

BY_CLASS: Mapping[Numerics, tuple[Kind, ...]] = {
    "bitwise": ("normal", "alike", "wide", "ends", "special", "multiples", "ties", "points", "zeros"),
    "finite": ("normal", "alike", "wide", "ends", "every size", "multiples", "ties", "points", "zeros"),
    "reassociates": (
        *("normal", "alike", "wide", "tiny", "moderate", "level", "large", "ends", "small values"),
        *("multiples", "cancelling", "ties", "points", "zeros", "underflow"),
    ),
    "approximate": ("normal", "low", "moderate", "zeros"),
}
"""What a law is fed with; "alike" are inputs of one type and shape that differ by the least there is, "ends"
integers that are all the greatest of their type, or the least, in all inputs, of which sums are large, or
in every other one, of which differences are, or in order among large ones; floats in order, apart or next
to each other; "low" are numbers all far below 0, of which much is small, and "small values" those of which
all that functions with values around one make is small; "multiples" those of constants that something is
divided by, and what is next to them; "cancelling" all near the opposite of a constant that something is
added to, so that a large weight behind the sum does no harm; "ties", where something is compared, constants
and the numbers next to them; "points" those around the points of functions (`points`), and "zeros" all next
to one at which something is 0, so that nothing is left but what differs; of "underflow" a step on the way
is subnormal (`underflow`)."""

ORDINARY: tuple[Kind, ...] = ("normal",)
"""What a law is fed with that takes for granted that nothing is odd."""
