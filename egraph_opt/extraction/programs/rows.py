"""The rows of the 0/1 program of a piece.

Columns: ``x[k]``, node k is chosen; ``y[c]``, class c is used.  Rows:

- the nodes of a class sum to its use: ``sum(x[k] for k in c) == y[c]``, and ``y == 1`` for the roots;
- what is used is there: for each class c and child d, ``sum(x[k] for k in c that use d) <= y[d]``;
- *cycle cuts*: for a set S of classes, ``y[c] <= sum(x[k] for k in ext(S))`` for each c in S,
  where ext(S) are the nodes of classes of S that use no class of S.  (In an acyclic solution, some used class
  of S comes before the others; so these are the loop formulas of logic programs.)  They are generated
  as solutions violate them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.structure import Floats, Mask

Cycle = tuple[int, ...]
"""The classes of a cycle, or of several that share classes, sorted."""

CycleCut = tuple[int, Cycle]
"""A class and a set of classes that holds it: one cycle cut."""


@dataclass(frozen=True)
class Rows:
    """Sparse rows ``lower <= a @ column <= upper``."""

    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    value: Floats
    lower: Floats
    upper: Floats


def structural_rows(piece: Piece, usable: Mask) -> Rows:
    """The rows for one node per class and for children, over the usable nodes only."""
    n, m = len(piece.nodes), len(piece.classes)
    nodes = np.flatnonzero(usable)
    node, child = piece.pairs
    keep = usable[node]
    node, child = node[keep], child[keep]
    keys, row = np.unique(piece.owners[node].astype(np.int64) * m + child, return_inverse=True)
    classes = np.arange(m)
    return Rows(
        row=np.concatenate([piece.owners[nodes], classes, m + row, m + np.arange(len(keys))]),
        column=np.concatenate([nodes, n + classes, node, n + keys % max(m, 1)]),
        value=np.concatenate([np.ones(len(nodes)), -np.ones(m), np.ones(len(node)), -np.ones(len(keys))]),
        lower=np.concatenate([np.zeros(m), np.full(len(keys), -np.inf)]),
        upper=np.zeros(m + len(keys)),
    )


def cycle_cuts(sets: Iterable[Cycle]) -> list[CycleCut]:
    """The cycle cuts of sets of classes, one for each class."""
    return [(here, cycle) for cycle in sets for here in cycle]


def external_nodes(piece: Piece, cycle: Cycle) -> list[int]:
    """The nodes of a set's classes that use none of them."""
    inside = set(cycle)
    return [k for c in cycle for k in piece.options[c] if inside.isdisjoint(piece.children[k])]


def cycle_cut_rows(piece: Piece, cuts: Iterable[CycleCut]) -> Rows:
    """Cycle cuts as rows of the program."""
    row: list[int] = []
    column: list[int] = []
    value: list[float] = []
    count = 0
    known: dict[Cycle, tuple[set[int], list[int]]] = {}
    for here, cycle in cuts:
        if cycle not in known:
            known[cycle] = set(cycle), external_nodes(piece, cycle)
        inside, outer = known[cycle]
        # With y[c] = sum of its nodes, those in ext(S) cancel.
        own = [k for k in piece.options[here] if not inside.isdisjoint(piece.children[k])]
        others = [k for k in outer if piece.owner[k] != here]
        row += [count] * (len(own) + len(others))
        column += own + others
        value += [1.0] * len(own) + [-1.0] * len(others)
        count += 1
    return Rows(
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value),
        np.full(count, -np.inf),
        np.zeros(count),
    )
