"""Whole numbers as polynomials of what the solver has for atoms: division where that is enough."""

from __future__ import annotations

from collections import Counter

import z3

from egraph_opt.semantics.values import Scene, number

Factors = tuple[int, Counter[int], dict[int, z3.ArithRef]]
"""A product: its number, how often each atom is in it, and the atoms, both by their number in the solver."""


def divided(scene: Scene, n: z3.ArithRef, d: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef]:
    """(n // d, n % d) for d above 0: what has d as a factor is taken out first.

    n = q * d + r is q and r where 0 <= r < d.
    """
    q, r = multiples(n, d)
    if scene.within(r, number(0), d):
        return q, r
    return z3.simplify(q + r / d), z3.simplify(r % d)


def multiples(n: z3.ArithRef, d: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef]:
    """q and r with n = q * d + r, where d is no factor of a summand of r."""
    factor = _factors(d)
    found: list[z3.ArithRef] = []
    rest: list[z3.ArithRef] = []
    for term in terms(n):
        by = None if factor is None else _without(term, factor)
        (rest if by is None else found).append(term if by is None else by)
    q = z3.simplify(z3.Sum(found), som=True) if found else number(0)
    r = z3.simplify(z3.Sum(rest), som=True) if rest else number(0)
    return q, r


def terms(n: z3.ArithRef) -> list[z3.ArithRef]:
    """The summands of a polynomial."""
    n = z3.simplify(n, som=True)
    return list(n.children()) if z3.is_add(n) else [n]


def _factors(term: z3.ArithRef) -> Factors | None:
    """A product taken apart; None where it is a sum."""
    term = z3.simplify(term, som=True)
    if z3.is_add(term):
        return None
    coefficient, powers, atoms = 1, Counter[int](), {}
    for part in term.children() if z3.is_mul(term) else [term]:
        if z3.is_int_value(part):
            coefficient *= part.as_long()
        else:
            atoms[part.get_id()] = part
            powers[part.get_id()] += 1
    return coefficient, powers, atoms


def _without(term: z3.ArithRef, factor: Factors) -> z3.ArithRef | None:
    """A product without a factor that is in it; None where it is not."""
    own = _factors(term)
    if own is None or factor[0] == 0 or own[0] % factor[0] or factor[1] - own[1]:
        return None
    result: z3.ArithRef = number(own[0] // factor[0])
    for atom, power in (own[1] - factor[1]).items():
        for _ in range(power):
            result = result * own[2][atom]
    return z3.simplify(result)
