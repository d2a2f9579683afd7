"""A contracted piece: what is left of it to decide, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.checking import used_part
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.presolve.contraction import Contraction
from egraph_opt.extraction.presolve.presolve import Presolved, presolve
from egraph_opt.extraction.presolve.working_piece import Parts
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Mask, first_built


@dataclass(frozen=True, eq=False)
class Contracted:
    """What contraction leaves of a piece, presolved again, which cuts it.

    Attributes:
        piece: what was contracted.
        left: the smaller problem; its class ids are the piece's, and those of classes taken out have no node.
            The solution that contraction started from is the incumbent of its pieces.
        parts: of each of its nodes, the nodes of the piece.
        default: nodes of the piece that any solution may take, since each is the only one of its class or
            gives one of several equal classes from another.
    """

    piece: Piece
    left: Presolved
    parts: list[Parts]
    default: list[int]

    @property
    def pieces(self) -> list[Piece]:
        """What is left to decide."""
        return self.left.pieces

    def postsolve(self, choices: Sequence[Choice]) -> Choice:
        """The choice of the piece that choices of what is left make.

        Of the nodes that they and the default stand for, each class takes the first whose children are there.
        """
        given = set(self.default)
        for node in self.left.postsolve(choices).tolist():
            if node >= 0:
                given.update(self.parts[node])
        piece = self.piece
        return piece.used(first_built(sorted(given), piece.children, piece.owner, piece.users))


def _buildable(piece: Piece, usable: Mask) -> Mask:
    """The usable nodes whose children can be built of such."""
    built = first_built(np.flatnonzero(usable).tolist(), piece.children, piece.owner, piece.users)
    missing = np.array([node < 0 for node in built], np.bool_)
    node, child = piece.pairs
    found = usable.copy()
    found[node[missing[child]]] = False
    return found


def contract(
    piece: Piece, start: Choice, late: Callable[[], bool] = lambda: False, usable: Mask | None = None
) -> Contracted:
    """Contract a piece and cut what is left.

    Args:
        start: a solution of the piece, which stays one (or becomes a better one).
        late: asked now and then whether to stop with what there is.
        usable: the nodes to choose from, those of ``start`` among them; None for all.
    """
    everything = np.ones(len(piece.nodes), np.bool_)
    work = Contraction(piece, start, everything if usable is None else _buildable(piece, usable))
    work.run(late)
    nodes = [node for options in work.options for node in options]
    number = {node: at for at, node in enumerate(nodes)}
    for options in work.options:
        if len(options) == 1:
            work.decide(options[0])
    below = [sorted(work.children[node]) for node in nodes]
    problem = ExtractionProblem(
        node_class=np.array([work.owner[node] for node in nodes], np.int32),
        child_ptr=np.cumsum([0, *map(len, below)]).astype(np.int32),
        child=np.array([child for row in below for child in row], np.int32),
        cost=np.array([work.cost[node] for node in nodes]),
        roots=np.array(sorted(work.roots), np.int32),
        tie=np.array([work.tie[node] for node in nodes]),
        n_classes=len(piece.classes),
    )
    known = np.array([number.get(node, -1) for node in work.incumbent()], np.int32)
    left = presolve(problem, used_part(problem, known))
    return Contracted(piece, left, [work.parts[node] for node in nodes], sorted(work.default))
