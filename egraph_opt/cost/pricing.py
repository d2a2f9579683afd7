"""A cost for every e-node of a snapshot, and the extraction problem that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from egraph_opt.cost.distinct_views import Target
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.views import Prices, PricingView, pricing_view
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.extraction.problem import ExtractionProblem


def price(
    lowered: Lowered,
    snapshot: Snapshot,
    model: CostModel,
    points: Mapping[str, int],
    bodies: Sequence[Sequence[float]],
    *,
    fold_bytes: int,
) -> Prices:
    """Price every e-node once: `pricing_view`, and the prices of its views.

    Raises:
        PriceError: the model raises, or a price is negative or no number.
    """
    view = pricing_view(lowered, snapshot, Target.of(model), points, fold_bytes)
    return view.prices(model, bodies)


def problem_of(lowered: Lowered, snapshot: Snapshot, prices: Prices) -> ExtractionProblem:
    """The extraction problem: one node per class that the outputs need, at least cost.

    What costs nothing whatever is chosen, inputs and constants, is no part of it (see `with_given`): shared
    by the whole graph it would only tie its parts together.  Bytes of constants count for each of the users.
    """
    roots = snapshot.term_classes[lowered.outputs]
    given = given_of(snapshot, prices)
    owner = np.repeat(np.arange(snapshot.n_nodes), np.diff(snapshot.child_ptr))
    # What is computed when the model is rebuilt needs nothing when it runs.
    folded = np.zeros(snapshot.n_nodes, dtype=bool)
    folded[prices.computed[prices.computed >= 0]] = True
    free = given[snapshot.child] >= 0
    bytes_ = np.where(free & ~folded[owner], prices.tie[given[snapshot.child]], 0.0)
    kept = ~free & ~folded[owner]
    counts = np.bincount(owner[kept], minlength=snapshot.n_nodes)
    return ExtractionProblem(
        node_class=snapshot.node_class,
        child_ptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
        child=snapshot.child[kept],
        cost=prices.cost,
        roots=np.unique(roots).astype(np.int32),
        tie=prices.tie + np.bincount(owner, weights=bytes_, minlength=snapshot.n_nodes),
        n_classes=snapshot.n_classes,
    )


def given_of(snapshot: Snapshot, prices: Prices) -> npt.NDArray[np.int32]:
    """Per class an e-node that provides it for nothing (a leaf, or what is computed on rebuilding), or -1."""
    given = prices.computed.copy()
    for k, name in enumerate(snapshot.operator):
        if name in ("leaf", "literal", "none") and given[snapshot.node_class[k]] < 0:
            given[snapshot.node_class[k]] = k
    return np.where((given >= 0) & (prices.cost[given] == 0), given, -1).astype(np.int32)


def with_given(
    snapshot: Snapshot,
    prices: Prices,
    choice: npt.NDArray[np.int32],
    given: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.int32]:
    """A solution of `problem_of` with the leaves and constants that its e-nodes use (see `given_of`)."""
    given = given_of(snapshot, prices) if given is None else given
    answer = choice.copy()
    for node in choice[choice >= 0].tolist():
        if prices.computed[snapshot.node_class[node]] != node:
            for c in snapshot.children(node):
                if answer[c] < 0:
                    answer[c] = given[c]
    return answer


def original_choice(snapshot: Snapshot, computed: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The original graph as a choice: per class its earliest original e-node, which cannot be cyclic.

    Args:
        computed: as in `Prices`; constants are computed as they are in every choice.
    """
    choice = np.full(snapshot.n_classes, -1, dtype=np.int32)
    for node in snapshot.term_node[::-1]:
        choice[snapshot.node_class[node]] = node
    return np.where(computed >= 0, computed, choice).astype(np.int32)


def standing_in(view: PricingView, original: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_] | None:
    """The e-nodes of a choice that is the original graph, and what the target's compiler makes of them.

    None where that is nothing.
    """
    if not view.made.any():
        return None
    allowed = view.made.copy()
    allowed[original[original >= 0]] = True
    return allowed
