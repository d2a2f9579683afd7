"""Sums, means and extremes along axes: each is a number of its own, whose box and body are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3

from egraph_opt.proofs.extremes import extreme
from egraph_opt.proofs.parts import in_parts
from egraph_opt.proofs.paths import Path
from egraph_opt.proofs.real_functions import is_positive
from egraph_opt.proofs.sums import Fold, decided, index_below, linear_sum, within
from egraph_opt.semantics.values import Index, number

PLAIN = frozenset("ReduceMax ReduceMin ReduceProd".split())
EXTREMES = frozenset("ReduceMax ReduceMin".split())
SUMS = frozenset("sum ReduceMean ReduceSum".split())
"""Folds that answer the element of a box of one; but sums begin with a 0.0, which -0.0 becomes."""


class FoldNaming:
    """Where folds are written; what is named alike is that of `Instance`."""

    path: Path
    reals: Any
    compares: Any
    folds: dict[str, Fold]
    positive: set[str]
    lemmas: list[z3.BoolRef]
    same: Callable[[z3.ArithRef, z3.ArithRef], bool]

    def fold(
        self,
        kind: str,
        bounds: Index,
        body: Callable[[Index], z3.ArithRef],
        where: Callable[[Index], z3.BoolRef] | None = None,
    ) -> z3.ArithRef:
        """What is summed or compared along an axis of one element is that element."""
        if kind == "sum" and self.reals and where is None:
            parts = in_parts(self, bounds, body)
            if parts is not None:
                return parts
        kept: list[tuple[z3.ArithRef, z3.ArithRef]] = []
        variables = [self._walked(z3.simplify(bound), kept) for bound in bounds]
        inside = decided(self.known_that, body(variables), within(kept))
        if not kept and where is None and self._is_plain(kind.partition(" of ")[0]):
            return inside
        asked = None if where is None else where(variables)
        if kind == "sum" and self.reals:
            inside = inside if asked is None else z3.If(asked, inside, z3.RealVal(0))
            return linear_sum(self, kept, inside)
        if kind.partition(" of ")[0] in EXTREMES and (self.reals or self.compares):
            return extreme(self, kind, kept, inside, asked)
        return self.folded(kind, kept, inside, asked)

    def known_that(self, condition: z3.BoolRef) -> bool:
        return self.path.follows(condition, 200)

    def _is_plain(self, kind: str) -> bool:
        return kind in PLAIN or (self.compares and kind in SUMS)

    def folded(
        self,
        kind: str,
        kept: Sequence[tuple[z3.ArithRef, z3.ArithRef]],
        body: z3.ArithRef,
        where: z3.BoolRef | None = None,
    ) -> z3.ArithRef:
        """The number that stands for a fold over variables, each with its bound."""
        made = self.path.fresh_real("fold")
        sums = self.reals and kind == "sum" and where is None and is_positive(self, body)
        if sums and all(self.known_that(bound >= 1) for _, bound in kept):
            self.positive.add(str(made))
            self.lemmas.append(made > 0)
        names, sizes = zip(*kept, strict=True) if kept else ((), ())
        self.folds[str(made)] = Fold(kind, made, names, sizes, body, where)
        return made

    def _walked(self, bound: z3.ArithRef, kept: list[tuple[z3.ArithRef, z3.ArithRef]]) -> z3.ArithRef:
        """An index below a bound, of variables that are noted."""

        def fresh(factor: z3.ArithRef) -> z3.ArithRef:
            if self.same(factor, number(1)):
                return number(0)
            kept.append((self.path.fresh("k"), factor))
            return kept[-1][0]

        return number(0) if self.same(bound, number(1)) else index_below(bound, fresh)
