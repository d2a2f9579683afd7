"""Numbers as host functions compute with them, so that a proof can follow (see `egraph_opt.proofs`).

`float(x)` and `math.isfinite(x)` ask for the bits of a number; these ask for its value alone.
"""

from __future__ import annotations


def as_float(value: float) -> float:
    """The same number as a float."""
    return value * 1.0


def is_finite(value: float) -> bool:
    """Neither infinite nor NaN: only of those is the difference with themselves no 0."""
    return value - value == 0
