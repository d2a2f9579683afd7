"""Operators of which onnxruntime's kernels do not settle every bit, and what follows from them.

Laws that move data past them keep every bit of what is computed, as a function.  But some kernels have a fast
path for most of an array, and another for its end, which rounds otherwise; products with constants are summed
in another order than others; and MaxPool has one kernel with and one without indices, which take NaN
differently.
"""

from __future__ import annotations

import onnx

from egraph_opt.model.encoding import bodies_of, graphs_of

NOT_SETTLED = frozenset(
    {
        *("Acos", "Asin", "Atan", "Celu", "Cos", "Elu", "Log", "Pow", "Selu", "Sin", "Softplus", "Tan"),
        *("Exp", "Sigmoid", "Tanh"),  # of float64
        *("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "LSTM", "GRU", "RNN"),
        "MaxPool",
    }
)


def not_settled(model: onnx.ModelProto) -> set[str]:
    """Tensors of the main graph that such an operator, or one that is not ONNX's, went into."""
    functions = {function.name for function in model.functions}
    found: set[str] = set()
    for node in model.graph.node:
        inner = [n for body in bodies_of(node) for graph in graphs_of(body) for n in graph.node]
        read = {name for n in (node, *inner) for name in n.input}
        is_open = any(
            n.op_type in NOT_SETTLED | functions or n.domain not in ("", "ai.onnx") for n in (node, *inner)
        )
        if is_open or not found.isdisjoint(read):
            found.update(node.output)
    return found
