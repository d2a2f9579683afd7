"""Rows that the same indices take from two constant tables, combined, are rows of one table.

Gather(V, i) op Gather(W, i) -> Gather(V op W, i)

See `slicing.tables` on which tables go on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, ne, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, String, Tensor
from egraph_opt.operators import binary, gather
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.slicing.tables import law, table_of, tables


@hosted()
def are_combined(op: str, v: Fact, w: Fact) -> bool:
    """Tables of one shape, of which no row that is never taken is a divisor that may be 0."""
    divides = op in ("Div", "Mod", "Pow") and w.dtype in INTEGERS
    return v.dtype == w.dtype and static_shape(v) is not None and v.shape == w.shape and not divides


def _pairs(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    i, v, w = g.input(("N", 3), INT64), g.random(6, 4), g.random(6, 4)
    yield from g.all_fire(
        gather(v, i, 0) + gather(w, i, 0),
        gather(v, i, 1) * gather(w, i, 1),
        binary("Max", gather(v, i, 0), gather(w, i, 0)),
    )
    whole = g.constant(np.arange(6))
    yield from g.near_misses(
        (gather(v, i, 0) + gather(w, g.input(("N", 3), INT64), 0), "other indices"),
        (gather(v, i, 0) + gather(g.random(5, 4), i, 0), "tables of two lengths"),
        (gather(v, i, 0) + gather(g.input((6, 4)), i, 0), "one varies"),
        (gather(g.random(3, 3), i, 0) + gather(g.random(3, 3), i, 1), "along two axes"),
        (binary("Div", gather(g.constant(np.ones(6, np.int64)), i, 0), gather(whole, i, 0)), "it may be 0"),
    )


@law(kind="merge", uses=(tables,), examples=_pairs)
def pair_of_tables(op: String, v: Tensor, w: Tensor, i: Tensor, a: Axis):
    """Gather(V, i) op Gather(W, i) = Gather(V op W, i) for constant tables of one shape"""
    one, other = gather(v, i, a), gather(w, i, a)
    known = guard(eq(v, table_of(one, i, a)), eq(w, table_of(other, i, a)), ne(one, other))
    whole = gather(binary(op, v, w), i, a)
    yield rewrite(binary(op, one, other), whole, are_combined(op, v, w), known, because="forgets V and W")
