"""Dims that are symbols to the host, as text, and formulas to the solver."""

from __future__ import annotations

import z3

from egraph_opt.facts import polynomials, symbolic
from egraph_opt.facts.dim_parser import parse
from egraph_opt.facts.fact import Dim
from egraph_opt.proofs.paths import Open


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
