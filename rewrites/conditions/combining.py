"""Constants that become one: what two scales or two shifts have to be for that.

No laws here.
"""

import math

import numpy as np

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted
from egraph_opt.rewrites.conditions.channels import LARGEST, SMALLEST, known_elements, static_shape

NEUTRAL = {"Mul": 1, "Add": 0}
"""The operand that changes nothing."""

LEFT_ALONE = {"Mul": (1, 0), "Add": (0,)}
"""Neutral and absorbing operands."""


def overflows_nowhere(op: str, a: Fact, b: Fact) -> bool:
    """a op b overflows nothing and vanishes nowhere, as far as the elements are known."""
    x, y = known_elements(a), known_elements(b)
    if not x or not y:
        return True
    largest = [max(map(abs, values)) for values in (x, y)]
    both = largest[0] * largest[1] if op == "Mul" else largest[0] + largest[1]
    if not (both <= LARGEST[a.dtype] and all(map(math.isfinite, (*x, *y)))):
        return False  # infinite ones too: x + inf + c would be a chain of any length
    if op != "Mul":
        return True
    least = [min((abs(v) for v in values if v), default=1.0) for values in (x, y)]
    return least[0] * least[1] >= SMALLEST[a.dtype]


def no_larger(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """The broadcast of two shapes has no more elements than one of them."""
    try:
        both = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return math.prod(both) <= max(math.prod(a), math.prod(b))


@hosted()
def may_combine(op: str, a: Fact, b: Fact) -> bool:
    """a and b are constants of floats, not left alone, of which a op b is one that is no bigger.

    Those are for the laws of identities: x = x * 1 would be a chain of any length, and so would 0 = x * 0,
    with a -0.0 among its constants that nobody sees to be neutral in a sum.
    """
    first, second = static_shape(a), static_shape(b)
    if op not in NEUTRAL or first is None or second is None or a.dtype not in FLOATS:
        return False
    if not (a.const and b.const) or not {a.splat, b.splat}.isdisjoint(LEFT_ALONE[op]):
        return False
    return no_larger(first, second) and overflows_nowhere(op, a, b)
