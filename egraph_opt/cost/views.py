"""A snapshot's e-nodes as cost models see them: the distinct views, and what is computed on rebuilding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from egraph_opt.cost.asking import price_of, price_of_bodies
from egraph_opt.cost.constant_nodes import FREE, constant_nodes
from egraph_opt.cost.distinct_views import FREE_OF_CHARGE, UNWRITABLE, DistinctViews, Target
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.graph.constants import byte_size

ASKED = 64
"""After how many e-nodes it is asked whether it is late."""

NODE_BYTES = 2**20
"""Among graphs of equal cost, how many bytes of constants may save one node that runs."""

CHANGE_BYTES = 2**16
"""Among graphs of equal cost, how many bytes of constants one node that is not of the original has to save.

Runtimes know the spellings that exporters write: what is changed for nothing may cost a fusion.
"""


@dataclass(frozen=True)
class Prices:
    """Costs of a snapshot's e-nodes.

    Attributes:
        cost: per e-node; infinite where it cannot be written, 0 where it depends on constants alone.
        tie: per e-node the bytes it adds to the file as a constant; where it runs `NODE_BYTES`, and
            `CHANGE_BYTES` if it is not of the original.
        computed: per class the e-node by which a constant is computed when the model is rebuilt; -1 for what
            is computed when it runs.
        view: what was priced, where that is kept.
        complete: there was time for all of it.
    """

    cost: npt.NDArray[np.float64]
    tie: npt.NDArray[np.float64]
    computed: npt.NDArray[np.int32]
    view: PricingView | None = None
    complete: bool = True


def mean_prices(found: Sequence[Prices], weights: Sequence[float]) -> Prices:
    """The mean of prices at several sizes of symbolic dims; the rest is that of the first ones.

    Args:
        weights: above 0, which add up to 1.
    """
    together = zip(found, weights, strict=True)
    cost = np.sum([prices.cost * weight for prices, weight in together], axis=0)
    return replace(found[0], cost=cost, complete=all(prices.complete for prices in found))


@dataclass(frozen=True, eq=False)
class PricingView:
    """A snapshot as cost models see it: all of pricing that no price depends on.

    Attributes:
        views: the distinct views of e-nodes, their symbols bound; a cost model is asked once for each.
        bodies: which views have bodies, and the kept node whose they are.
        view: per e-node its view, `FREE_OF_CHARGE` or `UNWRITABLE`.
        once: per e-node whether it depends on constants alone, so that it costs nothing where it can be
            written.
        made: per e-node whether the target's compiler makes it of the original graph by itself.
        familiar: which views have such an e-node, or one of the original.
        tie: as in `Prices`.
        computed: as in `Prices`.
        left_out: what depends on constants and takes too much to be computed here, with the reason.
        complete: there was time for all of it; otherwise what laws made may count as what cannot be written.
    """

    views: tuple[NodeView, ...]
    bodies: Mapping[int, int]
    view: npt.NDArray[np.int32]
    once: npt.NDArray[np.bool_]
    made: npt.NDArray[np.bool_]
    familiar: npt.NDArray[np.bool_]
    tie: npt.NDArray[np.float64]
    computed: npt.NDArray[np.int32]
    left_out: tuple[str, ...] = ()
    complete: bool = True

    def prices(
        self,
        model: CostModel,
        bodies: Sequence[Sequence[float]],
        progress: Callable[[float], None] = lambda done: None,
        late: Callable[[], bool] = lambda: False,
    ) -> Prices:
        """The costs under a model whose pseudo-operators are those of this view.

        Args:
            bodies: per kept node the costs of its bodies.
            progress: called with the share of a model's own preparations that is done.
            late: asked whether to leave it at the original, and what the target's compiler makes of it.

        Raises:
            PriceError: the model raises, or a price is negative or no number.
        """
        model.prepare(self.views, progress)
        together = self.of_bodies(model, bodies)
        table = np.zeros(len(self.views) + 2)
        table[UNWRITABLE] = math.inf
        complete = self.complete
        for number, view in enumerate(self.views):
            if not self.familiar[number] and (not complete or late()):
                complete, table[number] = False, math.inf
                continue
            key = self.bodies.get(number, -1)
            seen = view if key < 0 else replace(view, body_cost=together[key])
            table[number] = price_of(model, seen)
            if not self.familiar[number]:
                table[number] *= 1 + model.margin
        cost = table[self.view]
        cost[self.once & np.isfinite(cost)] = 0.0
        return Prices(cost, self.tie, self.computed, self, complete)

    def free(self) -> Prices:
        """Prices at which all that can be written costs nothing."""
        return Prices(np.where(self.view == UNWRITABLE, np.inf, 0.0), self.tie, self.computed)

    def of_bodies(self, model: CostModel, bodies: Sequence[Sequence[float]]) -> dict[int, float]:
        """Per kept node that is priced, what its bodies cost together."""
        return {
            key: price_of_bodies(model, self.views[number], bodies[key]) if bodies[key] else 0.0
            for number, key in self.bodies.items()
        }


def pricing_view(
    lowered: Lowered,
    snapshot: Snapshot,
    target: Target,
    points: Mapping[str, int],
    fold_bytes: int,
    *,
    late: Callable[[], bool] = lambda: False,
) -> PricingView:
    """Find the distinct views of all e-nodes; when it is late, of those that the original needs.

    Args:
        target: what the cost model says of it.
        points: what symbolic dims stand for.
        fold_bytes: how much bigger than its operands a folded constant may be.
    """
    compiler = DistinctViews(lowered, snapshot, target, points)
    left_out: list[str] = []
    computed = constant_nodes(lowered, snapshot, fold_bytes, left_out.append)
    view = np.full(snapshot.n_nodes, FREE_OF_CHARGE, np.int32)
    terms, complete = frozenset(snapshot.term_node.tolist()), True
    once, tie = np.zeros(snapshot.n_nodes, np.bool_), np.zeros(snapshot.n_nodes)
    for k in range(snapshot.n_nodes):
        owner = int(snapshot.node_class[k])
        if computed[owner] == k:
            tie[k] = byte_size(snapshot.facts[owner]) or 0
        elif snapshot.operator[k] not in FREE:
            complete = complete and not (k % ASKED == 0 and late())
            if not complete and k not in terms:
                view[k] = UNWRITABLE
                continue
            operands = tuple(snapshot.facts[c] for c in snapshot.children(k))
            view[k] = compiler.number(k, operands)
            tie[k] = NODE_BYTES + (CHANGE_BYTES if k not in compiler.own else 0)
            once[k] = compiler.is_constant(k, operands)
    own, familiar = np.zeros(snapshot.n_nodes, np.bool_), np.zeros(len(compiler.views), np.bool_)
    own[list(compiler.own)] = True
    familiar[view[own & (view >= 0)]] = True
    own[list(compiler.original)] = False
    return PricingView(
        *(tuple(compiler.views), compiler.bodies, view, once, own, familiar, tie, computed, tuple(left_out)),
        complete=complete,
    )
