"""Integer polynomials over symbols, floor divisions and maxima, in one normal form.

This is the engine of :mod:`.symbolic`, which is the module to use.  A polynomial is a sorted tuple
of terms ``(monomial, coefficient)``; a monomial is a sorted tuple of ``(atom, power)``; an atom is a symbol,
``floor(p / q)`` or ``max(0, p, ...)`` of polynomials.  Everything is a nested tuple, so it hashes,
and equal expressions in the sense of the rules below are equal tuples.

Rules that make the form normal: integer multiples leave a floor division, common factors are cancelled,
nested floor divisions by integers merge, a maximum moves out of a floor division, and its arguments that
another one dominates are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

Atom = tuple[Any, ...]
"""``("name", str)``, ``("floor", p, q)`` (``floor(p / q)``) or ``("max", p, ...)`` (``max(0, p, ...)``)."""

Monomial = tuple[tuple[Atom, int], ...]
Poly = tuple[tuple[Monomial, int], ...]

ZERO: Poly = ()
_MEMO = 1 << 14
_MAX_DEGREE = 32
_MAX_TERMS = 40


class TooLargeError(ArithmeticError):
    """The expression has too many terms to be worth keeping."""


def from_int(number: int) -> Poly:
    return (((), number),) if number else ZERO


def from_name(name: str) -> Poly:
    return _of_atom(("name", name))


def as_int(p: Poly) -> int | None:
    """The number that ``p`` is, or None if it is none."""
    if not p:
        return 0
    return p[0][1] if len(p) == 1 and not p[0][0] else None


def constant(p: Poly) -> int:
    """The term without symbols."""
    return next((c for m, c in p if not m), 0)


def _of_atom(atom: Atom) -> Poly:
    return ((((atom, 1),), 1),)


def _sealed(terms: Mapping[Monomial, int]) -> Poly:
    if len(terms) > _MAX_TERMS or any(sum(power for _, power in m) > _MAX_DEGREE for m in terms):
        raise TooLargeError
    return tuple(sorted((m, c) for m, c in terms.items() if c))


@lru_cache(_MEMO)
def add(p: Poly, q: Poly) -> Poly:
    terms = dict(p)
    for m, c in q:
        terms[m] = terms.get(m, 0) + c
    return _sealed(terms)


def scale(p: Poly, factor: int) -> Poly:
    return tuple((m, c * factor) for m, c in p) if factor else ZERO


def subtract(p: Poly, q: Poly) -> Poly:
    return add(p, scale(q, -1))


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


@lru_cache(_MEMO)
def multiply(p: Poly, q: Poly) -> Poly:
    if len(p) * len(q) > _MAX_TERMS**2:
        raise TooLargeError
    terms: dict[Monomial, int] = {}
    for m, c in p:
        for n, d in q:
            product = _times(m, n)
            terms[product] = terms.get(product, 0) + c * d
    return _sealed(terms)


def _over(a: Monomial, b: Monomial) -> Monomial | None:
    """The monomial ``a / b``, or None if ``b`` does not divide ``a``."""
    powers = dict(a)
    for atom, power in b:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
        if not left:
            del powers[atom]
    return tuple(sorted(powers.items()))


def _leading(p: Poly) -> tuple[Monomial, int]:
    """The highest term in graded order, which products respect."""

    def rank(term: tuple[Monomial, int]) -> tuple[int, list[tuple[Atom, int]]]:
        return sum(power for _, power in term[0]), [(atom, power) for atom, power in term[0]]

    return max(p, key=rank)


@lru_cache(_MEMO)
def exact_quotient(p: Poly, q: Poly) -> Poly | None:
    """``p / q`` where it is a polynomial with integer coefficients, else None; ``q`` is taken to be not 0."""
    if not q:
        return None
    lead, factor = _leading(q)
    quotient, rest = ZERO, p
    for _ in range(2 * _MAX_TERMS):
        if not rest:
            return quotient
        monomial, c = _leading(rest)
        left = _over(monomial, lead)
        if left is None or c % factor:
            return None
        step: Poly = ((left, c // factor),)
        quotient = add(quotient, step)
        rest = subtract(rest, multiply(step, q))
    return None


@lru_cache(_MEMO)
def floor_quotient(p: Poly, q: Poly) -> Poly:
    """``floor(p / q)``; ZeroDivisionError if ``q`` is the number zero."""
    divisor = as_int(q)
    if divisor is None:
        exact = exact_quotient(p, q)
        return exact if exact is not None else _of_atom(("floor", p, q))
    if divisor == 0:
        raise ZeroDivisionError
    return _floor_by_int(p, divisor) if divisor > 0 else _floor_by_int(scale(p, -1), -divisor)


def _floor_by_int(p: Poly, divisor: int) -> Poly:
    maxima = _max_terms(p)
    if len(maxima) == 1 and divisor > 1 and not any(_has_max(t) for t in p if t is not maxima[0]):
        # Rounding down keeps the order: floor(max(a, b) / d) = max(floor(a / d), floor(b / d)).
        parts = [_floor_by_int(q, divisor) for q in _alternatives(p, maxima[0])]
        return extremum("max" if maxima[0][1] > 0 else "min", parts)
    whole: Poly = ZERO
    while True:
        whole = add(whole, _sealed({m: c // divisor for m, c in p}))
        p = tuple((m, c % divisor) for m, c in p if c % divisor)
        if as_int(p) is not None:
            return whole
        common = math.gcd(divisor, *(c for m, c in p if m))
        if common > 1:
            p = tuple((m, c // common) for m, c in p if c // common)
            divisor //= common
            continue
        nested = next((t for t in p if _is_floor_by_int(t)), None)
        if nested is None:
            return add(whole, _of_atom(("floor", p, from_int(divisor))))
        # floor((floor(x / c) + y) / d) = floor((x + c * y) / (c * d))
        _, x, c = nested[0][0][0]
        others = tuple(t for t in p if t is not nested)
        p, divisor = add(x, multiply(c, others)), divisor * (as_int(c) or 1)


def _has_max(term: tuple[Monomial, int]) -> bool:
    return any(atom[0] == "max" for atom, _ in term[0])


def _is_floor_by_int(term: tuple[Monomial, int]) -> bool:
    monomial, c = term
    if c != 1 or len(monomial) != 1 or monomial[0][1] != 1:
        return False
    atom = monomial[0][0]
    return atom[0] == "floor" and as_int(atom[2]) is not None


def extremum(kind: str, arguments: Iterable[Poly]) -> Poly:
    """The largest (kind "max") or smallest ("min") of the arguments.

    Its atoms are ``max(0, p, ...)``: ``max(a, b) = a + max(0, b - a)`` and ``min(a, b) = -max(-a, -b)``.
    Which argument is taken out depends on differences alone, so ``c + max(a, b)`` is ``max(a + c, b + c)``.
    """
    if kind == "max":
        return _maximum(tuple(arguments))
    return scale(_maximum(tuple(scale(p, -1) for p in arguments)), -1)


@lru_cache(_MEMO)
def _maximum(arguments: tuple[Poly, ...]) -> Poly:
    kept: list[Poly] = []
    for p in (part for argument in arguments for part in _opened(argument)):
        if not any(_at_least(k, p) for k in kept):
            kept = [k for k in kept if not _at_least(p, k)]
            kept.append(p)
    if len(kept) > _MAX_ARGUMENTS:
        raise TooLargeError
    pivots = [(tuple(sorted(subtract(p, pivot) for p in kept if p != pivot)), pivot) for pivot in kept]
    others, pivot = min(pivots)
    return add(pivot, _of_atom(("max", *others))) if others else pivot


_MAX_ARGUMENTS = 6


def _max_terms(p: Poly) -> list[tuple[Monomial, int]]:
    """The terms that are a multiple of one maximum."""
    return [t for t in p if len(t[0]) == 1 and t[0][0][1] == 1 and t[0][0][0][0] == "max"]


def _alternatives(p: Poly, term: tuple[Monomial, int]) -> list[Poly]:
    """What ``p`` is for each argument of the maximum in ``term``: ``p`` is the greatest or least of these."""
    rest = tuple(t for t in p if t is not term)
    return [rest, *(add(rest, scale(argument, term[1])) for argument in term[0][0][0][1:])]


def _opened(p: Poly) -> list[Poly]:
    """Polynomials whose maximum is ``p``."""
    maxima = [t for t in _max_terms(p) if t[1] > 0]
    return _alternatives(p, maxima[0]) if len(maxima) == 1 else [p]


def is_limited(p: Poly, q: Poly, least: int) -> bool:
    """``p`` is ``min(q, c, ...)`` where every other argument is at least ``least``."""
    arguments = [scale(a, -1) for a in _opened(scale(p, -1))]
    return q in arguments and all(a == q or interval(a)[0] >= least for a in arguments)


def _at_least(p: Poly, q: Poly) -> bool:
    return interval(subtract(p, q))[0] >= 0


Interval = tuple[float, float]


Bounds = tuple[tuple[str, int, int], ...]
"""Name, least and greatest number of symbols, sorted by name."""


@lru_cache(_MEMO)
def interval(p: Poly, bounds: Bounds = ()) -> Interval:
    """Bounds of ``p`` where every symbol is an integer >= 0; infinite ends where nothing is known."""
    maxima = _max_terms(p)
    if 0 < len(maxima) <= _MAX_SPLITS:
        ends = [interval(q, bounds) for q in _alternatives(p, maxima[0])]
        choose = max if maxima[0][1] > 0 else min
        return choose(low for low, _ in ends), choose(high for _, high in ends)
    low = high = 0.0
    for monomial, c in p:
        part: Interval = (c, c)
        for atom, power in monomial:
            for _ in range(power):
                part = _multiply_intervals(part, _atom_interval(atom, bounds))
        low, high = low + part[0], high + part[1]
    # Beyond 2**53 float sums are not exact; such bounds are not worth having.
    return (low if low > -(2.0**53) else -math.inf, high if high < 2.0**53 else math.inf)


_MAX_SPLITS = 4


def _multiply_intervals(a: Interval, b: Interval) -> Interval:
    ends = [0.0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)


def _atom_interval(atom: Atom, bounds: Bounds) -> Interval:
    if atom[0] == "name":
        known = next((b for b in bounds if b[0] == atom[1]), None)
        return (0.0, math.inf) if known is None else (float(max(known[1], 0)), float(known[2]))
    if atom[0] == "floor":
        low, high = interval(atom[1], bounds)
        divisor = as_int(atom[2])
        if divisor is not None:
            return _floor_end(low, divisor), _floor_end(high, divisor)
        # A divisor of zero is no value at all, so one that is >= 0 is >= 1.
        if interval(atom[2], bounds)[0] >= 0 and low >= 0:
            return 0.0, high
        return -math.inf, math.inf
    ends = [interval(p, bounds) for p in atom[1:]]
    return max(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))


def _floor_end(end: float, divisor: int) -> float:
    return end if math.isinf(end) else float(int(end) // divisor)


def evaluate(p: Poly, bindings: Mapping[str, int]) -> int:
    """The number that ``p`` is under the bindings; KeyError for a symbol that has none."""
    total = 0
    for monomial, c in p:
        for atom, power in monomial:
            c *= _evaluate_atom(atom, bindings) ** power
        total += c
    return total


def _evaluate_atom(atom: Atom, bindings: Mapping[str, int]) -> int:
    if atom[0] == "name":
        return bindings[atom[1]]
    numbers = [evaluate(p, bindings) for p in atom[1:]]
    if atom[0] == "floor":
        return numbers[0] // numbers[1]
    return max(0, *numbers)


def names(p: Poly) -> frozenset[str]:
    """The symbols in ``p``, as they were declared."""
    found: set[str] = set()
    for monomial, _ in p:
        for atom, _ in monomial:
            if atom[0] == "name":
                found.add(atom[1])
            else:
                for argument in atom[1:]:
                    found |= names(argument)
    return frozenset(found)
