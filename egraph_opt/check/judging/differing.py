"""What differs, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from egraph_opt.check.judging.agreement import Mismatch

LONGEST_ERROR = 300
"""Characters of an error that are shown."""


def described(a: Any, b: Any, wrong: Mismatch, place: str) -> str:
    """The first of the elements of two arrays that are not what they should, and how many there are."""
    at = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(wrong.bad)))
    was, now = np.atleast_1d(a)[at], np.atleast_1d(b)[at]
    element = f" at {list(at)}" if a.ndim else ""
    hint = f"; {wrong.hint}" if wrong.hint else ""
    count = int(wrong.bad.sum())
    return f"{count} of {a.size} elements differ{element}: {was} became {now}, {place}{hint}"


def on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:LONGEST_ERROR]
