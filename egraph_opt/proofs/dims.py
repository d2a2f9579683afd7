"""Dims that are symbols to the host, as text, and formulas to the solver."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.facts import polynomials, symbolic
from egraph_opt.facts.dim_parser import parse
from egraph_opt.facts.fact import Dim
from egraph_opt.proofs.paths import Dead, Open
from egraph_opt.proofs.sums import constants


def formula_of_text(text: str) -> z3.ArithRef:
    """The number that a dim stands for, whatever its symbols are."""
    return _of_polynomial(parse(text))


def _of_polynomial(p: polynomials.Poly) -> z3.ArithRef:
    total: z3.ArithRef = z3.IntVal(0)
    for monomial, coefficient in p:
        term: z3.ArithRef = z3.IntVal(coefficient)
        for atom, power in monomial:
            for _ in range(power):
                term = term * _of_atom(atom)
        total = total + term
    return z3.simplify(total)


def _of_atom(atom: polynomials.Atom) -> z3.ArithRef:
    kind, *parts = atom
    if kind == "name":
        return z3.Int(parts[0])
    if kind == "floor":
        above, below = map(_of_polynomial, parts)
        if not z3.is_int_value(below) or below.as_long() <= 0:
            raise Open("a dim that is divided by another")
        return above / below
    largest: z3.ArithRef = z3.IntVal(0)
    for part in map(_of_polynomial, parts):
        largest = z3.If(part > largest, part, largest)
    return largest


def text_of(formula: z3.ArithRef, symbols: frozenset[str]) -> Dim:
    """The text of a dim that is a polynomial of symbols; None where it is not known to be one."""
    formula = z3.simplify(formula, som=True)
    if z3.is_int_value(formula):
        return formula.as_long()
    if z3.is_const(formula):
        return str(formula) if str(formula) in symbols else None
    if not (z3.is_add(formula) or z3.is_mul(formula)):
        return None
    total: Dim = 0 if z3.is_add(formula) else 1
    for part in formula.children():
        text = text_of(part, symbols)
        total = symbolic.add(total, text) if z3.is_add(formula) else symbolic.mul(total, text)
    return total


SMALL = (-1, 0, 1, 2)
"""Numbers that are tried where a host function reads texts with a number in them."""


class Symbols:
    """The dims along a path that are symbols to the host.

    Attributes:
        names: of the symbols.
        places: of those that tensors have the number of the tensor, and the axis from behind.
    """

    def __init__(self, scene: Any) -> None:
        self.scene = scene
        self.names: set[str] = set()
        self.places: dict[str, tuple[int, int]] = {}
        self._texts: dict[str, Any] = {}

    def text(self, formula: z3.ArithRef) -> Dim:
        """A dim as host functions get it."""
        names = sorted(constants(formula) & self.names)
        texts = [(z3.Int(name), self.scene.formula(self._written(name))) for name in names]
        found = text_of(z3.substitute(formula, *texts, *self._numbers(formula)), frozenset(self.names))
        if found is None:
            raise Open("a dim that is no polynomial of symbols")
        return found

    def _numbers(self, formula: z3.ArithRef) -> list[tuple[z3.ArithRef, z3.ArithRef]]:
        """The numbers in a dim of symbols, which are small ones: a text has no others."""
        found = []
        for name in sorted(constants(formula) - self.names):
            self.scene.notes.add(f"numbers next to dims that are symbols are {SMALL[0]} to {SMALL[-1]}")
            value = next((n for n in SMALL if self.scene.decide(z3.Int(name) == n)), None)
            if value is None:
                raise Dead
            found.append((z3.Int(name), z3.IntVal(value)))
        return found

    def _written(self, name: str) -> Any:
        """What stands in a model for a symbol: itself, 1, or one that another tensor has there."""
        if name not in self._texts:
            others = [t for other, t in self._texts.items() if t == other and self._may_share(name, other)]
            texts = [name, 1, *others]
            self._texts[name] = text = texts[self.scene.choose(len(texts))]
            if text != name:
                self.scene.path.assume(z3.Int(name) == self.scene.formula(text))
        return self._texts[name]

    def _may_share(self, a: str, b: str) -> bool:
        """Whether dims of two tensors stand in one place, or have to be equal."""
        if a not in self.places or b not in self.places or self.places[a][0] == self.places[b][0]:
            return False
        return self.places[a][1] == self.places[b][1] or bool(self.scene.same(z3.Int(a), z3.Int(b)))
