"""Laws that a user requires: they are applied wherever they match, before anything is chosen by its cost.

An approximation may cost more than what it stands for and be wanted all the same, where a target has no other
operator.  So the model is saturated by the required laws alone, and what they made is taken in every class.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from egraph_opt.cost.pricing import original_choice, with_given
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import key_of
from egraph_opt.laws.law import Law, registered
from egraph_opt.pipeline.region import Region
from egraph_opt.rebuild.choice import Choice
from egraph_opt.rebuild.graph import rebuild_model
from egraph_opt.report.figures import RewriteReport

PLAIN = "nodes"
"""A cost model without operators of its own: prices are not asked for."""


@dataclass(frozen=True)
class Replaced:
    """A model in which the required laws were applied; `uses` is empty where none of them matched."""

    model: ir.Model
    uses: tuple[RewriteReport, ...] = ()


def replaced(model: ir.Model, region: Region, fold_bytes: int) -> Replaced:
    """Take what the laws made wherever they matched.

    Args:
        region: the model, saturated by the required laws alone.
    """
    used: Counter[str] = Counter()
    choice = _choice(region, fold_bytes, used)
    if not used:
        return Replaced(model)
    matches = Counter[str]()
    for part in region.walk():
        matches.update(part.saturation.matches)
    rows = tuple(_row(registered[key], matches[key], count) for key, count in sorted(used.items()))
    return Replaced(rebuild_model(choice, model), rows)


def _row(law: Law, matches: int, used: int) -> RewriteReport:
    return RewriteReport(law.ruleset, law.name, matches, used, numerics=law.numerics)


def _choice(region: Region, fold_bytes: int, used: Counter[str]) -> Choice:
    """The original graph, but for what laws made in its classes; in its bodies as well."""
    snapshot = region.snapshot
    compiled = region.compiled(key_of(cost_model(PLAIN), {}, fold_bytes))
    bare = compiled.view.free()
    original = original_choice(snapshot, bare.computed)
    chosen = original.copy()
    taken = np.zeros(snapshot.n_classes, dtype=bool)
    for node in np.flatnonzero(np.isfinite(bare.cost) & (snapshot.made_by > 0)).tolist():
        owner = int(snapshot.node_class[node])
        if not taken[owner] and bare.computed[owner] < 0:
            chosen[owner], taken[owner] = node, True
            if original[owner] >= 0:
                used[snapshot.laws[int(snapshot.made_by[node]) - 1]] += 1
    whole = with_given(snapshot, bare, chosen, compiled.given)
    bodies = {
        key: [_choice(body, fold_bytes, used) for body in graphs] for key, graphs in region.bodies.items()
    }
    return Choice(region.lowered, snapshot, whole, bare.computed, bodies)
