"""Tensors of indices: what is matched has them within an axis, of what is written that has to be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from egraph_opt.proofs.paths import Path, Unproved
from egraph_opt.semantics.values import Index, Value

Along = tuple[int | None, z3.ArithRef]
"""The place along the last axis of indices that is looked at, or None for all; and the dim of the axis."""


class Indexing:
    """Where it is known which indices are within an axis; what is named alike is that of `Instance`."""

    path: Path
    bounded: list[tuple[Value, int | None, z3.ArithRef]]
    lemmas: list[z3.BoolRef]
    same: Callable[[z3.ArithRef, z3.ArithRef], bool]

    def assume_within(self, indices: Value, along: Along) -> None:
        """The elements of a tensor are indices into an axis."""
        self.bounded.append((indices, *along))
        last, dim = along
        source, where = indices, z3.BoolVal(True)
        while last is None and source.known is None and source.repeated is not None:
            where = z3.And(where, *(d > 0 for d in source.shape))
            source = source.repeated
        if source.known is not None:
            source.known.within.append((last, dim, where))

    def show_within(self, indices: Value, along: Along, shape: Index, is_valid: Callable[[], Any]) -> None:
        """Show that the elements of a tensor are indices into an axis.

        Args:
            shape: of what is gathered by them.
            is_valid: answers that any of them is, in its box.

        Raises:
            Unproved: it does not follow.
        """
        last, dim = along
        for known, place, size in self.bounded:
            if known is indices and place == last and self.same(size, dim):
                return
        valid = z3.Implies(z3.And([d > 0 for d in shape]), is_valid())
        if not self.path.follows(z3.Implies(z3.And(self.lemmas), valid)):
            raise Unproved("that indices are within the axis, which the right side needs")
