"""Operators whose kernels round an element by its place in an array, and what follows from them.

Laws that move data past them keep every bit of what is computed, as a function; onnxruntime's kernels have a
fast path for most of an array, and another for its end.
"""

from __future__ import annotations

import onnx

from egraph_opt.model.encoding import bodies_of, graphs_of

BY_PLACE = frozenset(
    {
        *("Acos", "Asin", "Atan", "Celu", "Cos", "Elu", "Log", "Pow", "Selu", "Sin", "Softplus", "Tan"),
        *("Exp", "Sigmoid", "Tanh"),  # of float64
    }
)


def rounded_by_place(model: onnx.ModelProto) -> set[str]:
    """Tensors of the main graph that such an operator, or one that is not ONNX's, went into."""
    functions = {function.name for function in model.functions}
    found: set[str] = set()
    for node in model.graph.node:
        inner = [n for body in bodies_of(node) for graph in graphs_of(body) for n in graph.node]
        read = {name for n in (node, *inner) for name in n.input}
        is_by_place = any(
            n.op_type in BY_PLACE | functions or n.domain not in ("", "ai.onnx") for n in (node, *inner)
        )
        if is_by_place or not found.isdisjoint(read):
            found.update(node.output)
    return found
