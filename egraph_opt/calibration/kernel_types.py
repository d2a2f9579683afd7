"""Which ONNX operator a kernel of an Ascend chip computes, by the type that profiles give it.

The types are those of CANN's operators (hicann/ops-nn, Ascend/mstt kernel_details.csv, hiascend aolapi);
a version or a D behind one (MatMulV2, SoftmaxV2, ConcatD) makes another kernel for the same operator.
"""

from __future__ import annotations

import re

ELEMENTWISE = {
    "Abs": "Abs", "Acos": "Acos", "Add": "Add", "AddN": "Sum", "Asin": "Asin", "Atan": "Atan",
    "BNInfer": "BatchNormalization", "BNInference": "BatchNormalization", "Cast": "Cast", "Ceil": "Ceil",
    "ClipByValue": "Clip", "Cos": "Cos", "Cosh": "Cosh", "Div": "Div", "Elu": "Elu", "Equal": "Equal",
    "Erf": "Erf", "Exp": "Exp", "Floor": "Floor", "Gelu": "Gelu", "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual", "HardSigmoid": "HardSigmoid", "HardSwish": "HardSwish",
    "LeakyRelu": "LeakyRelu", "Less": "Less", "LessEqual": "LessOrEqual", "Log": "Log", "LogicalAnd": "And",
    "LogicalNot": "Not", "LogicalOr": "Or", "Maximum": "Max", "Minimum": "Min", "Mish": "Mish", "Mul": "Mul",
    "Neg": "Neg", "PRelu": "PRelu", "Pow": "Pow", "RealDiv": "Div", "Reciprocal": "Reciprocal",
    "Relu": "Relu", "Relu6": "Clip", "Round": "Round", "Select": "Where",
    "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Softplus": "Softplus",
    "Sqrt": "Sqrt", "Sub": "Sub", "Swish": "Swish", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
"""Each element by itself."""

SCALARS = {"Adds": "Add", "Maxs": "Max", "Mins": "Min", "Muls": "Mul"}
"""The same with a number that is no operand."""

NORMALIZATIONS = {
    "GroupNorm": "GroupNormalization", "InstanceNorm": "InstanceNormalization",
    "LayerNorm": "LayerNormalization", "LogSoftmax": "LogSoftmax", "RmsNorm": "RMSNormalization",
    "Softmax": "Softmax",
}  # fmt: skip

REDUCTIONS = {
    "ArgMax": "ArgMax", "ArgMin": "ArgMin", "ReduceMax": "ReduceMax", "ReduceMean": "ReduceMean",
    "ReduceMin": "ReduceMin", "ReduceProd": "ReduceProd", "ReduceSum": "ReduceSum",
}  # fmt: skip

MOVES = {
    "BroadcastTo": "Expand", "Concat": "Concat", "DepthToSpace": "DepthToSpace", "Expand": "Expand",
    "Gather": "Gather", "GatherElements": "GatherElements", "GatherNd": "GatherND", "OneHot": "OneHot",
    "Pad": "Pad", "ScatterElements": "ScatterElements", "ScatterNd": "ScatterND", "Slice": "Slice",
    "SpaceToDepth": "SpaceToDepth", "Split": "Split", "SplitV": "Split", "StridedSlice": "Slice",
    "Tile": "Tile", "TopK": "TopK",
}  # fmt: skip

PRODUCTS = {"BatchMatMul": "MatMul", "GEMM": "Gemm", "Gemm": "Gemm", "MatMul": "MatMul"}

CONVOLUTIONS = {
    "Conv2D": "Conv", "Conv3D": "Conv", "Conv2DTranspose": "ConvTranspose", "Deconvolution": "ConvTranspose",
    "DepthwiseConv2D": "Conv",
}  # fmt: skip

POOLS = {
    "AvgPool": "AveragePool", "MaxPool": "MaxPool", "MaxPoolWithArgmax": "MaxPool", "Pooling": "AveragePool",
}  # fmt: skip

TRANSPOSES = {"Transpose": "Transpose"}

CONVERSIONS = {"TransData": "TransData"}

COMMUNICATION = re.compile(r"hcom|hccl|allreduce|allgather|reducescatter|broadcast$", re.IGNORECASE)
"""Between devices: no cost model prices it."""

FAMILIES = {
    "elementwise": ELEMENTWISE, "scalar": SCALARS, "normalization": NORMALIZATIONS, "reduction": REDUCTIONS,
    "move": MOVES, "product": PRODUCTS, "convolution": CONVOLUTIONS, "pool": POOLS,
    "transpose": TRANSPOSES, "conversion": CONVERSIONS,
}  # fmt: skip
"""How the operands of kernels are read, and the ONNX operator by type."""

_KNOWN = {kind: (family, op) for family, kinds in FAMILIES.items() for kind, op in kinds.items()}
_VERSION = re.compile(r"(V\d+)?D?$")


def operator_of(kind: str) -> tuple[str, str] | None:
    """The family of a type of kernel and its ONNX operator; None where it is not known.

    >>> operator_of("MatMulV2"), operator_of("ConcatV2D"), operator_of("Conv2D")
    (('product', 'MatMul'), ('move', 'Concat'), ('convolution', 'Conv'))
    """
    return _KNOWN.get(kind) or _KNOWN.get(_VERSION.sub("", kind))
