"""Kernels of a profile as nodes that a cost model prices.

The type says which ONNX operator a kernel computes; types are those of CANN's operators (hicann/ops-nn,
Ascend/mstt kernel_details.csv, hiascend aolapi).  A profile has shapes and no attributes: what follows from
the shapes is worked out (the permutation of a Transpose, the strides of a convolution, which operand of a
product is transposed), and a kernel whose price would depend on more is left out, unless the model that ran
is there (`model_nodes`).  Operands that are stored in blocks or tiles have dims that are rounded up, the
others have not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

from egraph_opt.cost.model import KERNEL_DOMAIN, NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.lab.calibration.profiles import ProfileRow
from egraph_opt.lab.calibration.tensors import WEIGHTS, Dims, KernelTensor, element_count


class UnusableError(Exception):
    """A kernel that no price can be found for; the message says why."""


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


TILE = 16
"""Rows and columns of a tile of FRACTAL_NZ."""

Tensors = tuple[KernelTensor, ...]


def product_node(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    """A MatMul of [..., m, k] and [..., k, n], however its operands are stored."""
    if len(inputs) < 2 or any(len(t.dims) < 2 for t in (*inputs[:2], outputs[0])):
        raise UnusableError("a product without two matrices")
    a, b, y = inputs[0], inputs[1], outputs[0]
    m, n = y.dims[-2:]
    depths = {_tiles(depth) for depth in _inner(b.dims, n)}
    k = next((depth for depth in _inner(a.dims, m) if _tiles(depth) in depths), None)
    if k is None:
        raise UnusableError("the operands of a product do not fit together")
    const = len(b.dims) == 2 and (not kind.startswith("Batch") or len(a.dims) > 2)
    left, right = Fact(a.dtype, (*a.dims[:-2], m, k)), Fact(b.dtype, (*b.dims[:-2], k, n), const=const)
    bias = tuple(tensor.fact(const=True) for tensor in inputs[2:3])
    return NodeView(op if bias else "MatMul", "", {}, (left, right, *bias), (y.fact(),))


def _inner(dims: Dims, outer: int) -> Iterator[int]:
    """What the dim of a matrix can be that is summed over, where the other is that of the result."""
    rows, columns = dims[-2:]
    if _tiles(rows) == _tiles(outer):
        yield columns
    if _tiles(columns) == _tiles(outer):
        yield rows


def _tiles(extent: int) -> int:
    return math.ceil(extent / TILE)


def convolution_node(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    """Its strides follow from the images, its window and its groups from the weights."""
    if inputs and len(inputs[0].dims) == 1:
        inputs = inputs[1:]  # the sizes of the result, which a transposed one may take
    if len(inputs) < 2 or len(inputs[0].dims) < 3 or len(inputs[0].dims) != len(outputs[0].dims):
        raise UnusableError("a convolution without image or weights")
    x, w, y = inputs[0], inputs[1], outputs[0]
    weights = _weights(kind, op == "ConvTranspose", x, w, y)
    wide, narrow = (y, x) if op == "ConvTranspose" else (x, y)
    strides = tuple(max(round(a / b), 1) for a, b in zip(wide.dims[2:], narrow.dims[2:], strict=True) if b)
    facts = (x.fact(), Fact(w.dtype, weights, const=True), *(t.fact(const=True) for t in inputs[2:3]))
    block = wide.stored[-1] if len(wide.stored) > len(wide.dims) else 1
    group = max(wide.dims[1] // (math.ceil(weights[1] / block) * block), 1)
    if kind.startswith("Depthwise"):
        group = x.dims[1]
    attributes = {"strides": strides, "kernel_shape": weights[2:], "group": group}
    return NodeView(op, "", attributes, facts, (y.fact(),))


def _weights(kind: str, transposed: bool, x: KernelTensor, w: KernelTensor, y: KernelTensor) -> Dims:
    """The shape of a convolution's weights as ONNX has it."""
    depthwise = kind.startswith("Depthwise")
    if w.format not in WEIGHTS:
        if len(w.dims) != len(x.dims):
            raise UnusableError("the weights of a convolution are in an unknown format")
        return (x.dims[1], 1, *w.dims[2:]) if depthwise else w.dims
    if len(w.stored) != 4 or len(x.dims) != 4 or not w.stored[3]:
        raise UnusableError("the weights of a convolution are in an unknown format")
    ins, outs = (y.dims[1], x.dims[1]) if transposed else (x.dims[1], y.dims[1])
    window, left = divmod(w.stored[0], math.ceil(ins / w.stored[3]) or 1)
    side = math.isqrt(window)
    kernel = (1, window) if x.dims[2] == 1 else (window, 1) if x.dims[3] == 1 else (side, side)
    if left or not window or math.prod(kernel) != window:
        raise UnusableError("the window of a convolution does not follow from its weights")
    return (outs, 1 if depthwise else ins, *kernel)


MOST_AXES = 6
"""Permutations of more axes than these are not gone through."""


def view_of(row: ProfileRow) -> NodeView:
    """The node of a kernel, from its type and its shapes alone.

    Raises:
        UnusableError: the type is not known, the shapes are not, or do not say enough.
    """
    found = operator_of(row.type)
    if found is None:
        raise UnusableError(f"unknown type {row.type}")
    if row.inputs is None or row.outputs is None or not row.outputs:
        raise UnusableError("no shapes")
    if any(0 in tensor.stored for tensor in (*row.inputs, *row.outputs)):
        raise UnusableError("an operand without elements")
    family, op = found
    return _READERS[family](op, row.type, row.inputs, row.outputs)


def node(
    op: str, inputs: tuple[Fact | None, ...], outputs: tuple[Fact, ...], /, **attributes: object
) -> NodeView:
    """A node of ONNX's own operators."""
    return NodeView(op, "", attributes, inputs, outputs)


def _plain(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    return node(op, _facts(inputs), _facts(outputs))


def _with_scalar(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    if not inputs:
        raise UnusableError("no operand")
    scalar = Fact(inputs[0].dtype, (), const=True)
    return node(op, (*_facts(inputs[:1]), scalar), _facts(outputs))


def _normalization(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    parameters = tuple(tensor.fact(const=True) for tensor in inputs[1:])
    return node(op, (*_facts(inputs[:1]), *parameters), _facts(outputs))


def _move(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    facts = tuple(Fact(tensor.dtype, tensor.stored) for tensor in inputs)
    results = tuple(Fact(tensor.dtype, tensor.stored) for tensor in outputs)
    if op != "Gather":
        return node(op, facts, results)
    if len(inputs) < 2:
        raise UnusableError("a Gather without indices")
    data, indices, out = inputs[0].stored, inputs[1].stored, outputs[0].stored
    axes = [k for k in range(len(data)) if (*data[:k], *indices, *data[k + 1 :]) == out]
    if not axes:
        raise UnusableError("the axis of a Gather does not follow from its shapes")
    return node(op, facts[:2], results, axis=axes[0])


def _transpose(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    before, after = inputs[0].stored, outputs[0].stored
    perms = _permutations(before, after)
    if not perms:
        raise UnusableError("the permutation of a Transpose does not follow from its shapes")
    last = {perm[-1] == len(perm) - 1 for perm in perms}
    if len(last) > 1:
        raise UnusableError("several permutations of a Transpose have these shapes")
    return node(op, (inputs[0].raw,), (outputs[0].raw,), perm=perms[0])


def _permutations(before: Dims, after: Dims) -> list[tuple[int, ...]]:
    """Those that make one shape of the other, but for the one that moves nothing."""
    if len(before) > MOST_AXES or sorted(before) != sorted(after):
        return []
    axes = range(len(before))
    return [p for p in permutations(axes) if tuple(before[k] for k in p) == after and p != tuple(axes)]


def _pool(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    raise UnusableError("a pool, whose window no profile has: give the model")


def _conversion(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
    """Between formats: of the two ways to store it the smaller one is the plain one."""
    if not inputs:
        raise UnusableError("no operand")
    plain, padded = sorted((inputs[0], outputs[0]), key=lambda tensor: element_count(tensor.stored))
    return NodeView(op, KERNEL_DOMAIN, {}, (plain.raw,), (padded.raw,))


def _facts(tensors: Tensors) -> tuple[Fact, ...]:
    return tuple(tensor.fact() for tensor in tensors)


_READERS: Mapping[str, Callable[[str, str, Tensors, Tensors], NodeView]] = {
    "elementwise": _plain,
    "scalar": _with_scalar,
    "normalization": _normalization,
    "reduction": _plain,
    "move": _move,
    "product": product_node,
    "convolution": convolution_node,
    "pool": _pool,
    "transpose": _transpose,
    "conversion": _conversion,
}
