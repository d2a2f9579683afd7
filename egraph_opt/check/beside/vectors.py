"""Products of vectors, which have no axes, beside numbers that have one."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from egraph_opt.check.beside.variants import dims_of, of_shape, with_leaves
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example

LENGTH = 4
SUMMING = frozenset({"matmul", "einsum", "reduce"})
"""Operators that leave no axes of vectors."""


def with_vectors(example: Example) -> Iterator[Example]:
    """Each tensor a vector of one length, and each number one of one element."""
    if not operators_in(roots_of(example)) & SUMMING:
        return

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        return of_shape(value, known, (LENGTH,) if any(d != 1 for d in dims_of(value)) else (1,))

    yield with_leaves(example, leaf)
