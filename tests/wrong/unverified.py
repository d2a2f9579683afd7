"""What `optimize` makes of the witness of a wrong law where no outputs are compared.

Of laws whose auxiliaries merge what differs, which no statement says that is matched as it is written.
"""

from __future__ import annotations

import hashlib
from typing import Any

from egraph_opt import CostModel, NodeView, optimize
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.laws.law import registered

from . import WrongLaw
from .witnesses import concrete, differ, feed, model_of, tables

TRIED = 8
"""Lists of prices that are tried."""


class Prices(CostModel):
    """A price for each operator, by its name and a number."""

    name = "prices"
    unit = "of them"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def cost(self, node: NodeView) -> float:
        if node.op_type == "Constant":
            return 0.0
        drawn = hashlib.md5(f"{self.seed}{node.op_type}".encode()).digest()[0]
        return 0.5 + drawn / 16 + node.body_cost


def outputs_that_differ(entry: WrongLaw) -> str:
    """How a result with this law alone, chosen by some prices, differs from its witness; "" if none does."""
    roots, terms = concrete(entry.witness, entry.opset)
    model = model_of(roots, terms)
    before = _session(model)
    feeds = [
        {
            str(v.name): feed(tuple(entry.sizes.get(str(d), d) for d in f.shape or ()), f.dtype, table, k)  # type: ignore[misc, arg-type]
            for k, (v, f) in enumerate(zip(terms.g.values, terms.g.facts, strict=True))
            if v.const_value is None
        }
        for table in tables(entry.law, entry.values)
    ]
    registered[entry.law.key] = entry.law
    try:
        for seed in range(TRIED):
            result = optimize(model, Prices(seed), rewrites=[entry.law.key], verify=False)
            if result.report.status != "optimized":
                continue
            after = _session(result.model)
            for given in feeds:
                pairs = zip(_run(before, given), _run(after, given), strict=True)
                told = next(filter(None, (differ(one, other, entry.law) for one, other in pairs)), "")
                if told:
                    return told
    finally:
        del registered[entry.law.key]
    return ""


def _session(model: Any) -> Any:
    return plain_session(model.SerializeToString(), plain_options(threads=1))


def _run(session: Any, feeds: dict[str, Any]) -> Any:
    return session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
