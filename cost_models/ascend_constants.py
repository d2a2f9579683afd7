"""What Ascend's compiler computes itself: shapes, and what is made of them, in a model of fixed sizes.

A model is priced at sizes (see `dynamic_factor` for what it costs to leave them free); there the graph engine
computes on the host whatever follows from dims and constants alone (hicann/ge host_kernels).
"""

from __future__ import annotations

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_soc import Soc
from egraph_opt.facts.fact import Fact

PASS = "constant_shapes"
"""What `compiler_passes` calls it."""

RANDOM = frozenset(("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"))
"""Operators whose results follow from nothing."""


def is_folded(soc: Soc, node: NodeView) -> bool:
    """Whether all that a node reads is known when the model is compiled."""
    if PASS not in soc.passes or node.domain not in ("", "ai.onnx") or node.op_type in RANDOM:
        return False
    if node.op_type in counting.QUERIES:
        return _is_known(node.output())
    read = [fact for fact in node.inputs if fact is not None]
    return bool(read) and node.op_type not in counting.CONTROL and all(map(_is_known, read))


def _is_known(fact: Fact | None) -> bool:
    return fact is not None and (fact.const or (fact.value is not None and None not in fact.value))
