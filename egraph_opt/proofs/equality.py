"""Whether two elements are one number: sums are matched with sums, the rest is the solver's.

A fold (a sum, a greatest, ..) is a number of its own in a formula.  Two folds are equal where their boxes
are, and their bodies at every index: that is shown first, from the inside out, and then they are one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import z3

from egraph_opt.proofs import trail as trails
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.real_functions import EXP, LOG, RECIPROCAL, SQRT
from egraph_opt.proofs.sums import Fold, constants

SOLVER_MS = 2_000
SOON_MS = 100
MOST_SPLITS = 12
MOST_PLAIN_SPLITS = 4
"""Of formulas without folds, which the solver takes apart itself where they have no products of choices."""

MOST_DEPTH = 4


IN_ANY_ORDER = frozenset(("ReduceMax", "ReduceMin"))
"""Folds that do not round."""


def prove_equal(scene: Instance, a: z3.ArithRef, b: z3.ArithRef) -> bool:
    """Whether two formulas are one number wherever the path leads."""
    return _Equality(scene).equal(a, b, [], MOST_DEPTH)


def follows_soon(scene: Instance, a: z3.ArithRef, b: z3.ArithRef) -> bool:
    """Whether two formulas without folds are one number, as the solver sees at once."""
    a, b = z3.simplify(a), z3.simplify(b)
    asked = _Equality(scene)
    return bool(z3.eq(a, b)) or asked.alike(a, b, []) or asked.follows(a == b, [], SOON_MS)


class _Equality:
    def __init__(self, scene: Instance) -> None:
        self.scene = scene

    def equal(self, a: z3.ArithRef, b: z3.ArithRef, given: list[z3.BoolRef], depth: int) -> bool:
        a, b = z3.simplify(a), z3.simplify(b)
        if z3.eq(a, b):
            return True
        if self.alike(a, b, given):
            return True
        left, right = self._folds(a), self._folds(b)
        found = list(given)
        if depth > 0:
            pairs = ((f, g) for f in left for g in right if f is not g)
            found += [f.number == g.number for f, g in pairs if self._match(f, g, given, depth - 1)]
        if self.follows(a == b, found):
            return True
        if self.scene.reals and depth > 0 and divisors(a) and divisors(b):
            pairs = (pair for side in (left, right) for pair in combinations(side, 2))
            found += [f.number == g.number for f, g in pairs if self._match(f, g, given, depth - 1)]
            if self._follows_of_numbers(a, b, found):
                return True
        return bool(left or right or len(given) < MOST_PLAIN_SPLITS) and self._split(a, b, given, depth)

    def _follows_of_numbers(self, a: z3.ArithRef, b: z3.ArithRef, given: list[z3.BoolRef]) -> bool:
        """Whether they are one number where they are numbers: what both divide by is not 0 then."""
        others = divisors(b)
        both = [
            divisor != 0
            for divisor in divisors(a)
            if any(
                z3.eq(divisor, other) or self.follows(divisor == other, given, SOON_MS) for other in others
            )
        ]
        return bool(both) and self.follows(a == b, [*given, *both])

    def follows(
        self, goal: z3.BoolRef, given: list[z3.BoolRef], milliseconds: int = SOLVER_MS, *, lemmas: bool = True
    ) -> bool:
        trail, solver = self.scene.path.trail, self.scene.path.solver
        solver.push()
        try:
            trail.limit(milliseconds)
            solver.add(*given, *(self.scene.lemmas if lemmas else ()), z3.Not(goal))
            return bool(trail.check() == z3.unsat)
        finally:
            solver.pop()
            trail.limit(trails.SOLVER_MS)

    def alike(self, a: z3.ArithRef, b: z3.ArithRef, given: list[z3.BoolRef]) -> bool:
        """Whether two formulas are one function of what is equal, as the solver sees without lemmas."""
        pairs, pending = [], [(a, b)]
        while pending:
            x, y = pending.pop()
            if z3.eq(x, y):
                continue
            if x.num_args() and x.decl().eq(y.decl()) and x.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                pending += zip(x.children(), y.children(), strict=True)
            else:
                pairs.append(x == y)
        if len(pairs) == 1 and z3.eq(pairs[0], a == b):
            return False  # which is what is asked next
        goal = z3.And(pairs)
        return self.follows(goal, given, SOON_MS, lemmas=False) or (
            bool(self.scene.cuts) and self.follows(goal, given, SOON_MS)
        )

    def _folds(self, formula: z3.ArithRef) -> list[Fold]:
        """The folds in a formula, outside of each other."""
        if not self.scene.folds:
            return []
        return [self.scene.folds[name] for name in sorted(constants(formula) & self.scene.folds.keys())]

    def _match(self, f: Fold, g: Fold, given: list[z3.BoolRef], depth: int) -> bool:
        if f.kind != g.kind or len(f.variables) != len(g.variables):
            return False
        inside = [*given, *(z3.And(v >= 0, v < b) for v, b in zip(f.variables, f.bounds, strict=True))]
        orders = permutations(range(len(g.variables)))
        for order in orders if self.scene.reals or f.kind in IN_ANY_ORDER else [next(orders)]:
            bounds = [g.bounds[k] for k in order]
            if not all(self.follows(x == y, given) for x, y in zip(f.bounds, bounds, strict=True)):
                continue
            for way in self._ways(f, g):
                renamed = [(g.variables[k], v) for k, v in zip(order, way, strict=True)]
                if self._is_one(f, g, renamed, inside, depth):
                    return True
        return False

    def _ways(self, f: Fold, g: Fold) -> Iterator[Sequence[z3.ArithRef]]:
        """The indices as they are, and of sums of reals with one of them backwards, if one of the bodies has
        one so."""
        yield f.variables
        if self.scene.reals and f.kind == "sum" and (_goes_backwards(f) or _goes_backwards(g)):
            for k, (variable, bound) in enumerate(zip(f.variables, f.bounds, strict=True)):
                yield [*f.variables[:k], bound - 1 - variable, *f.variables[k + 1 :]]

    def _is_one(
        self,
        f: Fold,
        g: Fold,
        renamed: list[tuple[z3.ArithRef, z3.ArithRef]],
        given: list[z3.BoolRef],
        depth: int,
    ) -> bool:
        """Whether two folds are one where the variables of the second are these of the first.

        Args:
            given: that these are within their bounds, too.
        """
        body = self._renamed(g.body, renamed)
        if not self._same_places(f, g, renamed, given):
            return False
        known = given if f.where is None else [*given, f.where]
        return self.equal(f.body, body, known, depth)

    def _same_places(
        self, f: Fold, g: Fold, renamed: list[tuple[z3.ArithRef, z3.ArithRef]], given: list[z3.BoolRef]
    ) -> bool:
        """Whether both look at the same of the indices."""
        true = z3.BoolVal(True)
        own = true if f.where is None else f.where
        other = true if g.where is None else z3.substitute(g.where, *renamed)
        return self.follows(own == other, given)

    def _renamed(self, body: z3.ArithRef, renamed: list[tuple[z3.ArithRef, z3.ArithRef]]) -> z3.ArithRef:
        """A body with other variables, in the folds within it too."""
        inner = []
        for fold in self._folds(body):
            made = self.scene.path.fresh_real("fold")
            self.scene.folds[str(made)] = Fold(
                fold.kind,
                made,
                fold.variables,
                tuple(z3.substitute(b, *renamed) for b in fold.bounds),
                self._renamed(fold.body, renamed),
                None if fold.where is None else z3.substitute(fold.where, *renamed),
            )
            inner.append((fold.number, made))
        return z3.substitute(body, *renamed, *inner) if renamed or inner else body

    def _split(self, a: z3.ArithRef, b: z3.ArithRef, given: list[z3.BoolRef], depth: int) -> bool:
        """Look at both sides of a condition that a formula hangs on, where folds are equal on one only."""
        condition = _condition(a) if _condition(a) is not None else _condition(b)
        if condition is None or len(given) > MOST_SPLITS:
            return False
        for case, truth in ((condition, True), (z3.Not(condition), False)):
            decided = [(condition, z3.BoolVal(truth))]
            left, right = (z3.substitute(formula, *decided) for formula in (a, b))
            if self.follows(z3.BoolVal(False), [*given, case]):
                continue
            if not self.equal(left, right, [*given, case], depth):
                return False
        return True


def _goes_backwards(fold: Fold) -> bool:
    """Whether something in a body is less the greater an index is."""
    own = {str(variable) for variable in fold.variables}
    pending, seen = [fold.body], set[int]()
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        negated = z3.is_mul(part) and z3.is_int_value(part.arg(0)) and part.arg(0).as_long() < 0
        if negated and own & constants(part):
            return True
        pending.extend(part.children())
    return False


STRICT = frozenset((RECIPROCAL, SQRT, EXP, LOG))
"""Functions that answer no number where they are given none."""


def divisors(formula: z3.ArithRef) -> list[z3.ArithRef]:
    """What a formula divides by wherever it is asked: where one is 0, the formula is no number."""
    found: dict[int, z3.ArithRef] = {}
    pending, seen = [formula], set[int]()
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        name = part.decl().name() if part.num_args() == 1 else ""
        if name == RECIPROCAL:
            found[part.arg(0).get_id()] = part.arg(0)
        if z3.is_add(part) or z3.is_mul(part) or name in STRICT:
            pending.extend(part.children())
    return list(found.values())


def _condition(formula: z3.ArithRef) -> z3.BoolRef | None:
    """The condition of the outermost choice in a formula."""
    pending, seen = [formula], set[int]()
    while pending:
        part = pending.pop(0)
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if z3.is_app_of(part, z3.Z3_OP_ITE):
            return part.arg(0)
        pending.extend(part.children())
    return None
