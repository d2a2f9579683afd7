"""What kernels of onnxruntime leave open, and the tensors that it reaches.

Bits: laws that move data past an operator keep every bit of what is computed, as a function.  But some
kernels have a fast path for most of an array, and another for its end, which rounds otherwise; products with
constants are summed in another order than others; and MaxPool has one kernel with and one without indices,
which take NaN differently.

Small values: kernels of functions with values around one are accurate to some places behind the point, and
not to so many places of each value.  Sigmoid is 0 below -18, where 1 / (1 + Exp(-x)) is 1e-8.
"""

from __future__ import annotations

from collections.abc import Collection

import onnx

from egraph_opt.model.encoding import bodies_of, graphs_of

BITS_OPEN = frozenset(
    {
        *("Acos", "Asin", "Atan", "Celu", "Cos", "Elu", "Log", "Pow", "Selu", "Sin", "Softplus", "Tan"),
        *("Exp", "Sigmoid", "Tanh"),  # of float64
        *("MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "LSTM", "GRU", "RNN"),
        "MaxPool",
    }
)

AROUND_ONE = frozenset(
    {
        *(
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "Celu",
            "Cos",
            "Elu",
            "Erf",
            "Exp",
            "Gelu",
            "Log",
        ),
        *("LogSoftmax", "LpNormalization", "Mish", "Selu", "Sigmoid", "Sin", "Sinh", "Softmax", "Softplus"),
        *("Swish", "Tan", "Tanh", "Attention", "LSTM", "GRU", "RNN", "ReduceLogSum", "ReduceLogSumExp"),
        *("LayerNormalization", "InstanceNormalization", "GroupNormalization", "DFT", "STFT"),
    }
)


def bits_open(model: onnx.ModelProto) -> set[str]:
    """Tensors of which not every bit is settled."""
    return _behind(model, BITS_OPEN)


def around_one(model: onnx.ModelProto) -> set[str]:
    """Tensors of which small values are not exact."""
    return _behind(model, AROUND_ONE)


def _behind(model: onnx.ModelProto, operators: Collection[str]) -> set[str]:
    """Tensors of the main graph that such an operator, or one that is not ONNX's, went into."""
    functions = {function.name for function in model.functions}
    found: set[str] = set()
    for node in model.graph.node:
        inner = [n for body in bodies_of(node) for graph in graphs_of(body) for n in graph.node]
        read = {name for n in (node, *inner) for name in n.input}
        is_open = any(
            n.op_type in operators or n.op_type in functions or n.domain not in ("", "ai.onnx")
            for n in (node, *inner)
        )
        if is_open or not found.isdisjoint(read):
            found.update(node.output)
    return found
