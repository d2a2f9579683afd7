"""Dims that are symbols to the host, as text, and formulas to the solver."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.facts import polynomials, symbolic
from egraph_opt.facts.dim_parser import parse
from egraph_opt.facts.fact import Dim
from egraph_opt.proofs.paths import Dead
from egraph_opt.proofs.sums import constants, decided
from egraph_opt.proofs.trail import Open


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
    if z3.is_idiv(formula):
        return symbolic.floordiv(*(text_of(part, symbols) for part in formula.children()))
    if z3.is_app_of(formula, z3.Z3_OP_ITE):
        return _extreme_of(*formula.children(), symbols)  # type: ignore[call-arg]
    if not (z3.is_add(formula) or z3.is_mul(formula)):
        return None
    total: Dim = 0 if z3.is_add(formula) else 1
    for part in formula.children():
        text = text_of(part, symbols)
        total = symbolic.add(total, text) if z3.is_add(formula) else symbolic.mul(total, text)
    return total


def _extreme_of(condition: z3.BoolRef, a: z3.ArithRef, b: z3.ArithRef, symbols: frozenset[str]) -> Dim:
    """The text of a choice that is the greater or the less of two."""
    solver = z3.Solver()
    solver.set("rlimit", CHOICE_STEPS)
    chosen = z3.If(condition, a, b)
    for larger, combined in ((True, symbolic.maximum), (False, symbolic.minimum)):
        if solver.check(chosen != z3.If(a >= b if larger else a <= b, a, b)) == z3.unsat:
            return combined(text_of(a, symbols), text_of(b, symbols))
    return None


CHOICE_STEPS = 100_000
"""Of the solver, which says what a choice is."""

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
        formula = decided(self.scene.path.follows, formula)
        texts = [(z3.Int(name), self.scene.formula(self._written(name))) for name in names]
        found = text_of(z3.substitute(formula, *texts, *self._numbers(formula)), frozenset(self.names))
        if found is None:  # of a broadcast of two symbols, say, which inference does not know either
            self.scene.notes.add("dims that are no polynomials of symbols are not known to host functions")
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
        """What stands in a model for a symbol: itself, 1, or one that another tensor has there.

        On a way through a function all are tried, and what it answers to several is one case.
        """
        if name in self._texts:
            return self._texts[name]
        path = self.scene.path
        known = path.kept_on_way(("text", name))
        if known is not None:
            return known
        own = self._texts | path.all_kept("text")
        others = [t for other, t in own.items() if t == other and self._may_share(name, other)]
        texts = [name, 1, *others]
        case = lambda k: self._case(name, texts, k)  # noqa: E731
        if path.inner is None:
            text = texts[self.scene.choose(len(texts))]
            path.assume(case(texts.index(text)))
            self._texts[name] = text
        else:
            way = path.innermost
            way.kept["text", name] = text = texts[way.one_of(len(texts), case)]
        return text

    def _case(self, name: str, texts: list[Any], k: int) -> z3.BoolRef:
        """That one of some texts stands for a symbol, which is what the text is."""
        unlike = [z3.Not(_spelled(name, text)) for text in texts[1:]]
        if k == 0:
            return z3.And(unlike)
        return z3.And(_spelled(name, texts[k]), z3.Int(name) == self.scene.formula(texts[k]))

    def _may_share(self, a: str, b: str) -> bool:
        """Whether dims of two tensors stand in one place, or have to be equal."""
        if a not in self.places or b not in self.places or self.places[a][0] == self.places[b][0]:
            return False
        return self.places[a][1] == self.places[b][1] or bool(self.scene.same(z3.Int(a), z3.Int(b)))


def _spelled(name: str, text: Any) -> z3.BoolRef:
    """That a symbol is written as another, or as 1."""
    return z3.Bool(f"spelled {' '.join(sorted((name, str(text))))}")
