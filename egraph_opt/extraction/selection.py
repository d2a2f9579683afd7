"""A solution from the nodes of a known graph, for use as an incumbent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.checking import used_part
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints


def selection(problem: ExtractionProblem, nodes: npt.ArrayLike) -> Ints:
    """A solution (per class a node or -1) of the given nodes only, such as those of the original graph.

    Saturation may have merged values of that graph, a transposed transpose with its operand, say: then a
    class has several of its nodes, and one of them is taken so that no cycle arises.  It costs no more than
    all the given nodes together.  Nodes of infinite cost are taken where there is no other way.

    Raises:
        ExtractionError: the nodes do not provide the roots.
    """
    given = np.zeros(problem.n_nodes, np.bool_)
    given[np.asarray(nodes, np.int64)] = True
    finite = np.isfinite(problem.cost)
    last_resort = 1.0 + float(problem.cost[finite].sum())
    cost = np.where(finite, problem.cost, last_resort)
    known = replace(problem, cost=np.where(given, cost, np.inf))
    try:
        presolved = presolve(known, None)
    except ExtractionError as error:
        raise ExtractionError(f"the given nodes are no graph of their own: {error}") from error
    choices = [piece.used(greedy(piece)) for piece in presolved.pieces]
    return used_part(problem, presolved.postsolve(choices))
