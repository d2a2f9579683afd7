"""Constants that become one: what two scales or two shifts have to be for that.

No laws here.
"""

import math

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted
from egraph_opt.rewrites.conditions.channels import overflows_nowhere, static_shape

NEUTRAL = {"Mul": 1, "Add": 0}
"""The operand that changes nothing."""

LEFT_ALONE = {"Mul": (1, 0), "Add": (0,)}
"""Neutral and absorbing operands."""


def no_larger(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """The broadcast of two shapes has no more elements than one of them."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        return False
    both = math.prod(n if m == 1 else m for m, n in pairs)
    return both <= math.prod(a) or both <= math.prod(b)


FEW_ELEMENTS = 4096
"""A constant of as many may be made of smaller ones: reading it takes less than starting an operator."""


def product_is_small(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """The product of two matrices has no more elements than they have together, or few."""
    return a[0] * b[1] <= max(FEW_ELEMENTS, math.prod(a) + math.prod(b))


@hosted()
def may_combine(op: str, a: Fact, b: Fact) -> bool:
    """a and b are constants of floats, not left alone, of which a op b is one that is no bigger.

    Those are for the laws of identities: x = x * 1 would be a chain of any length, and so would 0 = x * 0,
    with a -0.0 among its constants that nobody sees to be neutral in a sum.
    """
    first, second = static_shape(a), static_shape(b)
    if op not in NEUTRAL or first is None or second is None or a.dtype not in FLOATS:
        return False
    if not (a.const and b.const) or any(c.splat in LEFT_ALONE[op] for c in (a, b)):
        return False
    return no_larger(first, second) and overflows_nowhere(op, a, b)
