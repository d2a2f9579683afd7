"""Equality as a comparison, where a join would be over all pairs of nodes that share a value.

A network has few permutations, windows and axes: atoms that share nothing but one of these are joined over
all pairs.  Two variables that are compared are not.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.operators.host import hosted


@hosted(default=False)
def equals(a: Any, b: Any) -> bool:
    """They are the same value."""
    return bool(a == b)
