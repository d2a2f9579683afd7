"""Views of empty tensors: a result runs on a batch of nothing where the original does.

A Reshape that infers a dim (-1) fails beside one that is 0, and onnxruntime convolves and pools no image
without rows or columns.  Where the original does so, these dims are not 0; what asks it of other dims is not
written.
"""

from __future__ import annotations

from collections.abc import Iterable

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import UNKNOWN, Dim, Fact, Shape
from egraph_opt.operators.node_reader import NodeReader
from egraph_opt.operators.views import has_flatten, refuses, zeros_of

OF_IMAGES = frozenset(("AveragePool", "Conv", "LpPool", "MaxPool"))
"""Operators whose kernels refuse images of which a spatial dim is 0, and take batches of none."""


def refused_by_original(lowered: Lowered) -> frozenset[str]:
    """What is not 0 where the original graph runs at all."""
    facts = {value: lowered.facts[term] or UNKNOWN for value, term in lowered.term_of.items()}
    found: set[str] = set()
    for node in lowered.graph:
        if node.domain not in ("", "ai.onnx"):
            continue
        if node.op_type == "Reshape" and len(node.inputs) > 1:
            found |= _refused(NodeReader(node, lowered.opset, facts))
        elif node.op_type in OF_IMAGES:
            found |= zeros_of((NodeReader(node, lowered.opset, facts).fact(0).shape or ())[2:])
    return frozenset(found)


def _refused(node: NodeReader) -> frozenset[str]:
    """What is not 0 where a Reshape of the original runs."""
    source, target = node.fact(0).shape, node.fact(1).value
    if source is None or target is None or node.attribute("allowzero"):
        return frozenset()
    if -1 in target:
        copies = zip(target, (*source, *target), strict=False)
        return zeros_of(own if dim == 0 else dim for dim, own in copies if dim != -1)
    empty = zeros_of(source) & zeros_of(target)
    return frozenset(name for name in empty if not _copied(name, source, target))


def _copied(name: str, source: Shape, target: Iterable[Dim]) -> bool:
    """Whether a 0 in the target, which copies x's dim at its place, copies a 0."""
    wanted = symbolic.symbols(name)
    pairs = zip(source, target, strict=False)
    return any(wanted & symbolic.symbols(own) & symbolic.symbols(dim) for own, dim in pairs)


def is_refused(lowered: Lowered, operand: Fact, dims: Shape) -> bool:
    """Whether the node of a view asks that a dim is not 0, of which the original does not."""
    if lowered.refused is None or operand.const or operand.shape is None or operand.is_static:
        return False
    flattens = has_flatten(lowered.opset, operand.dtype)
    return not refuses(operand.shape, dims, flattens=flattens) <= lowered.refused
