"""Sums over boxes of indices, written in one way: of products, with what hangs on no index in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import z3

from egraph_opt.semantics.values import is_number, number

Walk = tuple[z3.ArithRef, z3.ArithRef]
"""A variable, and the bound that it stays below."""


@dataclass(frozen=True)
class Fold:
    """A sum, product, greatest or least of a body over a box of indices, written as a number of its own.

    Attributes:
        where: which indices count.
    """

    kind: str
    number: z3.ArithRef
    variables: tuple[z3.ArithRef, ...]
    bounds: tuple[z3.ArithRef, ...]
    body: z3.ArithRef
    where: z3.BoolRef | None


def index_below(bound: z3.ArithRef, fresh: Callable[[z3.ArithRef], z3.ArithRef]) -> z3.ArithRef:
    """An index below a bound, of fresh variables; below a product one for each factor."""
    if is_number(bound, 1):
        return number(0)
    if not z3.is_mul(bound):
        return fresh(bound)
    whole = number(0)
    for factor in bound.children():
        whole = whole * factor + index_below(factor, fresh)
    return z3.simplify(whole, som=True)


class Folding(Protocol):
    """Where folds are written.

    Attributes:
        folds: by the name of their number.
    """

    folds: dict[str, Fold]

    def folded(self, kind: str, kept: Sequence[Walk], body: z3.ArithRef) -> z3.ArithRef:
        """The number that stands for a fold over variables, each with its bound."""


def linear_sum(scene: Folding, walks: Sequence[Walk], body: z3.ArithRef) -> z3.ArithRef:
    """The sum of a body: of a sum the sum of sums, of a product its constant factors times a sum."""
    if not walks:
        return body
    body = z3.simplify(body, som=True)
    total: z3.ArithRef = z3.RealVal(0)
    for term in body.children() if z3.is_add(body) else [body]:
        total = total + _of_product(scene, walks, term)
    return z3.simplify(total)


def _of_product(scene: Folding, walks: Sequence[Walk], term: z3.ArithRef) -> z3.ArithRef:
    outside: z3.ArithRef = z3.RealVal(1)
    inside: list[z3.ArithRef] = []
    used: set[str] = set()
    for factor in term.children() if z3.is_mul(term) else [term]:
        hangs_on = mentioned(scene, factor) & {str(variable) for variable, _ in walks}
        if hangs_on:
            inside.append(factor)
            used |= hangs_on
        else:
            outside = outside * factor
    for variable, bound in walks:
        if str(variable) not in used:
            outside = outside * z3.ToReal(bound)
    kept = [walk for walk in walks if str(walk[0]) in used]
    if not kept:
        return z3.simplify(outside)
    for k, factor in enumerate(inside):
        inner = scene.folds.get(str(factor)) if z3.is_const(factor) else None
        once = sum(z3.eq(factor, other) for other in inside) == 1
        if once and inner is not None and inner.kind == "sum" and inner.where is None:
            # A product with a sum is the sum of products, over both boxes.
            kept += list(zip(inner.variables, inner.bounds, strict=True))
            inside[k] = inner.body
            break
    return outside * scene.folded("sum", kept, z3.simplify(z3.Product(inside), som=True))


def constants(formula: z3.ExprRef) -> set[str]:
    """The names of variables in a formula."""
    found, seen = set[str](), set[int]()
    pending = [formula]
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if part.num_args():
            pending.extend(part.children())
        elif part.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.add(part.decl().name())
    return found


MOST_CHOICES = 16
"""Conditions of a formula that the solver is asked of."""


def choices(formula: z3.ExprRef) -> list[z3.BoolRef]:
    """The conditions of the choices in a formula."""
    found: dict[int, z3.BoolRef] = {}
    pending, seen = [formula], set[int]()
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if z3.is_app_of(part, z3.Z3_OP_ITE):
            found[part.arg(0).get_id()] = part.arg(0)
        pending.extend(part.children())
    return list(found.values())


def decided(
    follows: Callable[[z3.BoolRef], bool], formula: z3.ArithRef, given: Sequence[z3.BoolRef] = ()
) -> z3.ArithRef:
    """A formula without the choices that what is given decides."""
    formula = z3.simplify(formula)
    known = []
    for condition in choices(formula)[:MOST_CHOICES]:
        for truth in (True, False):
            if follows(z3.Implies(z3.And(list(given)), condition if truth else z3.Not(condition))):
                known.append((condition, z3.BoolVal(truth)))
                break
    return z3.simplify(z3.substitute(formula, *known)) if known else formula


def within(walks: Sequence[Walk]) -> list[z3.BoolRef]:
    """That variables are in their bounds."""
    return [z3.And(k >= 0, k < bound) for k, bound in walks]


def mentioned(scene: Folding, formula: z3.ArithRef) -> set[str]:
    """The names of variables in a formula, and in the folds within it."""
    found: set[str] = set()
    pending: list[z3.ExprRef] = [formula]
    while pending:
        new = constants(pending.pop()) - found
        found |= new
        for name in new & scene.folds.keys():
            fold = scene.folds[name]
            pending += [fold.body, *fold.bounds, *(() if fold.where is None else (fold.where,))]
    return found
