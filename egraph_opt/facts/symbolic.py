"""Symbolic dimensions: arithmetic on canonical text.

A dim is an int, None (unknown) or the text of an expression in symbols, such as ``(L + 1)//2``.  Equal texts
mean equal numbers, and expressions that are equal by the rules of :mod:`.polynomials` have equal
texts.  The text follows Python's grammar and precedence (``+ - * // **`` and ``max``); ``//`` rounds down,
and ``min(L, 5)`` is ``L - max(0, L - 5)``.  A declared name that is no plain identifier is one symbol in
backticks: ```2*L+1```.

Assumed is that every symbol is an integer >= 0 (a dim may be 0: empty tensors exist), and that a divisor is
not zero where the model runs at all.  An expression that grows too long becomes None.

>>> length = symbol("L")
>>> add(floordiv(sub(length, 3), 2), 1)  # what a window of 3 with a stride of 2 leaves
'(L + 1)//2 - 1'
>>> exact_div(mul(6, length), 3)
'2*L'
>>> exact_div(length, 2) is None
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from egraph_opt.facts import polynomials as poly
from egraph_opt.facts.dim_parser import parse
from egraph_opt.facts.fact import Dim
from egraph_opt.facts.polynomials import Bounds as Bounds
from egraph_opt.facts.polynomials import Poly

_MEMO = 1 << 15
_MAX_TEXT = 240
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def symbol(name: str) -> str:
    """The canonical text of one symbol with this name, whatever characters it has."""
    if _PLAIN.match(name) and name not in ("max", "min"):
        return name
    return "`" + name.replace("`", "``") + "`"


def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return _binary(poly.add, a, b)


def sub(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return _binary(poly.subtract, a, b)


def mul(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return _binary(poly.multiply, a, b)


def negative(a: Dim) -> Dim:
    """``-a``."""
    return sub(0, a)


def floordiv(a: Dim, b: Dim) -> Dim:
    """``a / b`` rounded down; None for a division by the number zero."""
    if b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return _binary(poly.floor_quotient, a, b)


def ceildiv(a: Dim, b: Dim) -> Dim:
    """``a / b`` rounded up, for ``b > 0``; None for a division by the number zero."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b) if b else None
    return floordiv(add(a, sub(b, 1)), b)


def exact_div(a: Dim, b: Dim) -> Dim:
    """``a / b``, or None unless ``b`` provably divides ``a``."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    return _binary(poly.exact_quotient, a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return _binary(_max, a, b)


def minimum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return _binary(_min, a, b)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of the dims: the number of elements of a shape.  Zero if one of them is."""
    factors = list(dims)
    if 0 in factors:
        return 0
    result: Dim = 1
    for factor in factors:
        result = mul(result, factor)
    return result


def known_equal(a: Dim, b: Dim) -> bool:
    """Provably the same number.  None equals nothing, itself included."""
    return a is not None and a == b


def bounds_of(a: Dim, bounds: Bounds = ()) -> tuple[int | None, int | None]:
    """The least and the greatest that a dim may be (None: not known) where symbols are within `bounds`.

    >>> bounds_of("2*L + 1", (("L", 1, 64),))
    (3, 129)
    """
    return (None, None) if a is None else _bounds(a, bounds)


def lower_bound(a: Dim) -> int | None:
    """A number that ``a`` is never below, or None if none is known."""
    return a if a is None or isinstance(a, int) else _bounds(a)[0]


def upper_bound(a: Dim) -> int | None:
    """A number that ``a`` is never above, or None if none is known."""
    return a if a is None or isinstance(a, int) else _bounds(a)[1]


def is_at_least(a: Dim, b: Dim) -> bool:
    """Provably ``a >= b``."""
    low = lower_bound(sub(a, b))
    return low is not None and low >= 0


@lru_cache(_MEMO)
def is_limited(a: Dim, b: Dim, least: int) -> bool:
    """``a`` is ``b``, or ``min(b, c, ...)`` where all of ``c, ...`` are provably at least ``least``."""
    return a is not None and b is not None and poly.is_limited(_parsed(a), _parsed(b), least)


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The number that ``dim`` is when symbols have these values.

    Raises:
        KeyError: a symbol has no value.
        ValueError: the dim is unknown.
        ZeroDivisionError: a divisor is zero under these values.
    """
    if isinstance(dim, int):
        return dim
    if dim is None:
        raise ValueError("an unknown dim has no value")
    return poly.evaluate(parse(dim), bindings)


def symbols(dim: Dim) -> frozenset[str]:
    """The names of the symbols in ``dim``, as they were declared."""
    return poly.names(parse(dim)) if isinstance(dim, str) else frozenset()


def canonical(text: str) -> Dim:
    """The dim that an expression in this module's grammar means; ValueError if it is not in the grammar."""
    try:
        return _settled(parse(text))
    except poly.TooLargeError:
        return None


def _max(p: Poly, q: Poly) -> Poly:
    return poly.extremum("max", (p, q))


def _min(p: Poly, q: Poly) -> Poly:
    return poly.extremum("min", (p, q))


@lru_cache(_MEMO)
def _binary(function: Callable[[Poly, Poly], Poly | None], a: Dim, b: Dim) -> Dim:
    if a is None or b is None:
        return None
    try:
        result = function(_parsed(a), _parsed(b))
        return None if result is None else _settled(result)
    except poly.TooLargeError:
        return None


def _settled(p: Poly) -> Dim:
    """The text of ``p`` that reads back as itself: nested maxima may come out simpler when read again."""
    text = _text(p)
    for _ in range(4):
        again = _text(_parsed(text)) if isinstance(text, str) else text
        if again == text:
            return text
        text = again
    return None


@lru_cache(_MEMO)
def _bounds(a: int | str, bounds: Bounds = ()) -> tuple[int | None, int | None]:
    low, high = poly.interval(_parsed(a), bounds)
    return None if math.isinf(low) else int(low), None if math.isinf(high) else int(high)


def _parsed(a: int | str) -> Poly:
    return poly.from_int(a) if isinstance(a, int) else parse(a)


@lru_cache(_MEMO)
def _text(p: Poly) -> Dim:
    number = poly.as_int(p)
    if number is not None:
        return number
    terms = [(-sum(power for _, power in m), _term(m, abs(c)), c < 0) for m, c in p]
    text = ""
    for _, term, minus in sorted(terms, key=lambda t: (t[0], t[2], t[1])):
        if text:
            text += (" - " if minus else " + ") + term
        else:
            text = f"-{_grouped(term)}" if minus else term
    return text if len(text) <= _MAX_TEXT else None


def _grouped(term: str) -> str:
    return f"({term})" if "//" in term else term


def _term(monomial: poly.Monomial, coefficient: int) -> str:
    factors = sorted((_atom(a), power) for a, power in monomial)
    if coefficient == 1 and len(factors) == 1 and factors[0][1] == 1:
        return factors[0][0]
    parts = [str(coefficient)] if coefficient != 1 or not factors else []
    for text, power in factors:
        base = _grouped(text) if text[-1] != ")" or "//" in text else text
        parts.append(base if power == 1 else f"{base}**{power}")
    return "*".join(parts)


def _atom(atom: poly.Atom) -> str:
    if atom[0] == "name":
        return symbol(atom[1])
    arguments = [str(_long_text(p)) for p in atom[1:]]
    if atom[0] == "floor":
        return "//".join(a if _PLAIN.match(a) or a.isdigit() else f"({a})" for a in arguments)
    return f"max(0, {', '.join(arguments)})"


def _long_text(p: Poly) -> Dim:
    text = _text(p)
    if text is None:
        raise poly.TooLargeError
    return text
