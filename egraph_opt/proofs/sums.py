"""Sums over boxes of indices, written in one way: of products, with what hangs on no index in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    total: z3.ArithRef = z3.RealVal(0)
    for term in _summands(body):
        total = total + _of_product(scene, walks, term)
    return z3.simplify(total)


def _summands(body: z3.ArithRef) -> list[z3.ArithRef]:
    """What adds up to a body, also where it is 0 but for some places: If(c, a + b, 0) is two."""
    found: list[z3.ArithRef] = []
    pending = [body]
    while pending:
        term = z3.simplify(pending.pop(), som=True)
        if z3.is_add(term):
            pending += reversed(term.children())
            continue
        parts = all_factors(term)
        apart = next(
            ((k, each) for k, part in enumerate(parts) if len(each := _choices_apart(part)) > 1), None
        )
        if apart is None:
            found.append(term)
            continue
        k, each = apart
        pending += [z3.Product([*parts[:k], part, *parts[k + 1 :]]) for part in reversed(each)]
    return found


def _choices_apart(part: z3.ArithRef) -> list[z3.ArithRef]:
    """A sum in some places, and 0 in all others, as its summands there."""
    condition, inside = some_places(part)
    if condition is None or not z3.is_add(inside):
        return [part]
    return [z3.If(condition, summand, z3.RealVal(0)) for summand in inside.children()]


def some_places(part: z3.ArithRef) -> tuple[z3.BoolRef | None, z3.ArithRef]:
    """Where a formula is not 0 as it is written, and what it is there; None where it is not written so."""
    if not z3.is_app_of(part, z3.Z3_OP_ITE):
        return None, part
    condition, a, b = part.children()
    if _is_nothing(a):
        condition, a, b = z3.Not(condition), b, a
    return (condition, z3.simplify(a, som=True)) if _is_nothing(b) else (None, part)


def all_factors(term: z3.ArithRef) -> list[z3.ArithRef]:
    """The factors of a product, also of products within it."""
    found: list[z3.ArithRef] = []
    pending = [term]
    while pending:
        part = pending.pop()
        if z3.is_mul(part):
            pending += reversed(part.children())
        else:
            found.append(part)
    return found


def _is_nothing(a: z3.ArithRef) -> bool:
    a = z3.simplify(a)
    return z3.is_rational_value(a) and bool(a.as_fraction() == 0)


def _of_product(scene: Folding, walks: Sequence[Walk], term: z3.ArithRef) -> z3.ArithRef:
    outside: z3.ArithRef = z3.RealVal(1)
    inside: list[z3.ArithRef] = []
    used: set[str] = set()
    walked = {str(variable) for variable, _ in walks}
    for factor in _factors(scene, term, walked):
        hangs_on = mentioned(scene, factor) & walked
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


def _factors(scene: Folding, term: z3.ArithRef, walked: set[str]) -> Iterator[z3.ArithRef]:
    """The factors of a product; of one that is 0 in some places, what hangs on no index is one by itself."""
    for factor in all_factors(term):
        condition, inside = some_places(factor)
        if condition is None:
            yield factor
            continue
        parts = all_factors(inside)
        kept = [part for part in parts if mentioned(scene, part) & walked]
        if len(kept) == len(parts):  # as it is written, which others may be as well
            yield factor
            continue
        yield from (part for part in parts if not mentioned(scene, part) & walked)
        yield z3.If(condition, z3.Product(kept) if kept else z3.RealVal(1), z3.RealVal(0))


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
