"""Arithmetic and memory traffic of every ONNX operator, from the facts of one node.

Conventions of :func:`flops`:

- a multiply-add is 2, and one operation on one element is 1, be it an addition or a transcendental;
- an operator that ONNX defines as a function of simpler ones (Gelu, Softmax, LayerNormalization ...)
  counts what its expansion counts, so that spelling it out neither gains nor loses;
- moving, selecting and converting data is 0; control flow is 0 beside its bodies;
- an operator that is not known here counts 1 for every output element.

Conventions of :func:`traffic`: bytes read and written, each operand once, constants included; views move
nothing; operators that pick out of an operand (Slice, Gather ...) read as much as they write.

A dim or a type that is not known counts as 1 element of 4 bytes: nothing here ever raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact

LARGEST = 2**62
"""Counts stop here, so that sums of them stay finite."""

BITS = {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((4, 5, 10, 16), 16),
    **dict.fromkeys((1, 6, 12), 32),
    **dict.fromkeys((7, 11, 13, 14, 8), 64),
    15: 128,
    **dict.fromkeys((21, 22, 23), 4),
    **dict.fromkeys((25, 26), 2),
    **dict.fromkeys((27, 28), 6),
}
"""Bits of one element by ``onnx.TensorProto.DataType``; a string counts as a pointer."""

VIEWS = frozenset({"Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "BitCast", "Optional",
                   "OptionalGetElement"})  # fmt: skip

CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})

LEAVES = frozenset({"Constant"})

QUERIES = frozenset({"Shape", "Size", "OptionalHasElement", "SequenceLength"})
"""Operators that look at a type and at no element."""

SELECTIONS = frozenset({"Slice", "Gather", "GatherElements", "GatherND", "SequenceAt", "CenterCropPad"})
"""Operators that read of their first operand only what they write."""

MOVES = SELECTIONS | frozenset(
    ["Cast", "CastLike", "Col2Im", "Compress", "Concat", "ConcatFromSequence", "ConstantOfShape",
     "DepthToSpace", "Expand", "EyeLike", "MaxUnpool", "NonZero", "OneHot", "Pad", "ReverseSequence",
     "Scatter", "ScatterElements", "ScatterND", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
     "SequenceInsert", "SpaceToDepth", "Split", "SplitToSequence", "TensorScatter", "Tile", "Transpose",
     "Trilu", "Unique", "Where"]
)  # fmt: skip

POOLS = frozenset({"AveragePool", "MaxPool", "LpPool"})

GLOBAL_POOLS = frozenset({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})

REDUCTIONS = {
    "ReduceSum": 1, "ReduceMean": 1, "ReduceMax": 1, "ReduceMin": 1, "ReduceProd": 1, "ReduceLogSum": 1,
    "ReduceL1": 2, "ReduceL2": 2, "ReduceSumSquare": 2, "ReduceLogSumExp": 3, "ArgMax": 1, "ArgMin": 1,
    "GlobalAveragePool": 1, "GlobalMaxPool": 1, "GlobalLpPool": 2, "CumSum": 1, "CumProd": 1,
}  # fmt: skip
"""Operations for each element of the operand."""

COMPOSITES = {
    "BatchNormalization": 2, "Celu": 4, "DequantizeLinear": 2, "DynamicQuantizeLinear": 5, "Elu": 3,
    "GroupNormalization": 8, "HardSigmoid": 4, "HardSwish": 5, "InstanceNormalization": 8,
    "LayerNormalization": 8, "LeakyRelu": 2, "LogSoftmax": 5, "LpNormalization": 3,
    "MeanVarianceNormalization": 6, "Mish": 5, "PRelu": 2, "QuantizeLinear": 2, "RotaryEmbedding": 3,
    "Selu": 4, "Shrink": 2, "Softmax": 5, "Softplus": 3, "Softsign": 3, "SwiGLU": 3, "GridSample": 8,
    "RoiAlign": 8, "AffineGrid": 6,
}  # fmt: skip
"""Operations for each element of the first output, as their expansion into simpler operators counts."""

VARIADIC = frozenset({"Sum", "Max", "Min", "Mean"})


def product(values: Iterable[int]) -> int:
    """The product, saturated, so that no shape is too large to be priced."""
    return min(math.prod(values), LARGEST)


def dims(fact: Fact | None) -> tuple[int, ...]:
    """The dimensions as numbers; an unknown one is 1, an unknown rank is 0."""
    if fact is None or fact.shape is None:
        return ()
    return tuple([(d if d > 0 else 0) if isinstance(d, int) else 1 for d in fact.shape])


def elements(fact: Fact | None) -> int:
    """The number of elements; 0 for an absent operand."""
    return 0 if fact is None else product(dims(fact))


def size(fact: Fact | None) -> float:
    """The bytes of a value; 0 for an absent operand."""
    return 0.0 if fact is None else elements(fact) * BITS.get(fact.dtype, 32) / 8


def is_view(node: NodeView) -> bool:
    """Whether the node passes its first operand on as it is, maybe under another shape."""
    if node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type == "Dropout":
        training = node.input(2)
        return training is None or training.splat == 0 or training.value in ((0,), (False,))
    return node.op_type in VIEWS


def kernel(node: NodeView, weight: int = 1) -> tuple[int, ...]:
    """The spatial extent of the weight of a convolution (operand number `weight`) or of a pool."""
    return node.integers("kernel_shape") or (dims(node.input(weight))[2:] if weight else ())


def flops(node: NodeView) -> float:
    """The arithmetic of one node, its bodies aside; see the conventions at the head of this module."""
    op = node.op_type
    if node.domain not in ("", "ai.onnx"):
        own = _OWN.get(op) if node.domain == "com.microsoft" else None
        return float(min(own(node), LARGEST) if own is not None else elements(node.output()))
    if op in MOVES or op in CONTROL or op in LEAVES or op in QUERIES or is_view(node):
        return 0.0
    if op in REDUCTIONS:
        return float(REDUCTIONS[op] * elements(node.input(0)))
    if op in VARIADIC:
        operands = len(node.inputs) - (op != "Mean")
        return float(max(operands, 0) * elements(node.output()))
    if op in _COUNTERS:
        return float(min(max(_COUNTERS[op](node), 0), LARGEST))
    return float(COMPOSITES.get(op, 1) * elements(node.output()))


def traffic(node: NodeView) -> float:
    """Bytes read and written by one node, its bodies aside."""
    op = node.op_type
    if op in CONTROL or op in LEAVES or is_view(node):
        return 0.0
    written = sum(size(fact) for fact in node.outputs)
    if op in QUERIES:
        return written
    if op in SELECTIONS:
        return min(size(node.input(0)), written) + written + sum(size(fact) for fact in node.inputs[1:])
    return written + sum(size(fact) for fact in node.inputs)


def _convolution(weight: int, bias: int) -> Callable[[NodeView], float]:
    def count(node: NodeView) -> float:
        shape = dims(node.input(weight))
        channels = shape[1] if len(shape) > 1 else 1
        window = product(kernel(node, weight))
        out = elements(node.output())
        return 2 * out * channels * window + (out if node.input(bias) is not None else 0)

    return count


def _transposed_convolution(node: NodeView) -> float:
    shape = dims(node.input(1))
    channels = shape[1] if len(shape) > 1 else 1
    out = elements(node.output()) if node.input(2) is not None else 0
    return 2 * elements(node.input(0)) * channels * product(kernel(node)) + out


def _matmul(node: NodeView) -> float:
    shape = dims(node.input(0))
    return 2 * elements(node.output()) * (shape[-1] if shape else 1)


def _gemm(node: NodeView) -> float:
    shape = dims(node.input(0))
    inner = 1
    if len(shape) == 2:
        inner = shape[0] if node.integer("transA", 0) else shape[1]
    out = elements(node.output())
    return 2 * out * inner + (out if node.input(2) is not None else 0)


def _pool(node: NodeView) -> float:
    return elements(node.output()) * product(kernel(node, 0)) * (2 if node.op_type == "LpPool" else 1)


def _recurrent(node: NodeView) -> float:
    steps_and_batch = product(dims(node.input(0))[:2])
    return 2 * steps_and_batch * (elements(node.input(1)) + elements(node.input(2)))


def _attention(node: NodeView) -> float:
    """Softmax(Q K^T) V over [batch, heads, length, head size] or [batch, length, heads * head size]."""
    q, k, v = (dims(node.input(i)) for i in range(3))
    if min(len(q), len(k), len(v)) < 3:
        return elements(node.output())
    heads = q[1] if len(q) == 4 else node.integer("q_num_heads", 1)
    width = q[-1] + v[-1] if len(q) == 4 else q[-1] + v[-1] * heads // max(node.integer("kv_num_heads", 1), 1)
    pairs = q[0] * q[-2] * k[-2]
    scaled, masked = node.attributes.get("scale") != 1.0, node.input(3) is not None
    return pairs * (2 * width * (heads if len(q) == 4 else 1) + (5 + scaled + masked) * heads)


def _row_attention(node: NodeView) -> float:
    """The same over rows that hold all heads."""
    q, k, v = (dims(node.input(i)) for i in range(3))
    if not len(q) == len(k) == len(v) == 3:
        return elements(node.output())
    scaled, masked = node.attributes.get("scale") != 1.0, node.input(5) is not None
    own = (5 + scaled + masked) * node.integer("num_heads", 1)
    return q[0] * q[1] * k[1] * (2 * (q[2] + v[2]) + own)


def _scaled_matmul(node: NodeView) -> float:
    shape, out = dims(node.input(0)), elements(node.output())
    inner = shape[-2 if node.integer("transA", 0) and len(shape) > 1 else -1] if shape else 1
    return 2 * out * inner + (out if node.attributes.get("alpha", 1.0) != 1.0 else 0)


def _gelu(node: NodeView) -> float:
    return (8 if node.text("approximate", "none") == "tanh" else 5) * elements(node.output())


def _swish(node: NodeView) -> float:
    return (2 if node.attributes.get("alpha", 1.0) == 1.0 else 3) * elements(node.output())


def _root_mean_square(node: NodeView) -> float:
    """Square, mean, scale twice; epsilon, root and its inverse once for what is normalised together."""
    shape = dims(node.output())
    rows = product(shape[: node.integer("axis", -1) % len(shape)]) if shape else 1
    return 4 * elements(node.output()) + 3 * rows


def _einsum(node: NodeView) -> float:
    """The product of all index extents, doubled where operands are multiplied and summed."""
    left = node.text("equation").replace(" ", "").split("->")[0].split(",")
    extents: dict[str, int] = {}
    for term, fact in zip(left, node.inputs, strict=False):
        shape = dims(fact)
        head, ellipsis, tail = term.partition("...")
        extents.update(zip(head, shape, strict=False))
        extents.update(zip(reversed(tail), reversed(shape), strict=False))
        if ellipsis:
            inner = product(shape[len(head) : max(len(shape) - len(tail), len(head))])
            extents["..."] = max(extents.get("...", 1), inner)
    operands = len(node.inputs)
    return product(extents.values()) * (2 * (operands - 1) if operands > 1 else 1)


def _resize(node: NodeView) -> float:
    """Two operations a tap: none for nearest, 2 taps a resized axis for linear, 4 for cubic."""
    taps = {"linear": 2, "bilinear": 2, "cubic": 4}.get(node.text("mode", "nearest"), 0)
    before, after = dims(node.input(0)), dims(node.output())
    resized = sum(a != b for a, b in zip(before, after, strict=False))
    return 2 * taps**resized * elements(node.output()) if taps else 0


def _sorting(node: NodeView) -> float:
    shape = dims(node.input(0))
    return elements(node.input(0)) * max(math.log2(max(shape, default=1) or 1), 1)


def _fourier(node: NodeView) -> float:
    """5 n log2 n operations for a transform of n complex elements."""
    out = dims(node.output())
    length = max(out[1:-1], default=1)
    return 2.5 * elements(node.output()) * max(math.log2(max(length, 1)), 1)


def _determinant(node: NodeView) -> float:
    shape = dims(node.input(0))
    return elements(node.input(0)) * (2 * shape[-1] / 3 if shape else 1)


def _clip(node: NodeView) -> float:
    bounds = sum(node.input(i) is not None for i in (1, 2)) + len({"min", "max"} & set(node.attributes))
    return bounds * elements(node.output())


def _response_normalization(node: NodeView) -> float:
    return (2 * node.integer("size", 1) + 3) * elements(node.output())


_COUNTERS: dict[str, Callable[[NodeView], float]] = {
    "Attention": _attention,
    "CausalConvWithState": _convolution(1, 2),
    "Clip": _clip,
    "Conv": _convolution(1, 2),
    "ConvInteger": _convolution(1, 4),
    "ConvTranspose": _transposed_convolution,
    "DFT": _fourier,
    "DeformConv": _convolution(1, 3),
    "Det": _determinant,
    "Einsum": _einsum,
    "GRU": _recurrent,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "LRN": _response_normalization,
    "LSTM": _recurrent,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearConv": _convolution(3, 8),
    "QLinearMatMul": _matmul,
    "RMSNormalization": _root_mean_square,
    "RNN": _recurrent,
    "Resize": _resize,
    "STFT": _fourier,
    "Swish": _swish,
    "TopK": _sorting,
    "Upsample": _resize,
    **dict.fromkeys(POOLS, _pool),
}

_OWN: dict[str, Callable[[NodeView], float]] = {
    "FusedMatMul": _scaled_matmul,
    "MultiHeadAttention": _row_attention,
}
"""Operators of ONNX Runtime's own (`com.microsoft`) that laws may write."""


def is_counted(op_type: str) -> bool:
    """Whether `flops` knows an ONNX operator, rather than counting 1 for every output element."""
    moved = op_type in MOVES or op_type in VIEWS or op_type in QUERIES or op_type == "Dropout"
    computed = op_type in _COUNTERS or op_type in COMPOSITES or op_type in REDUCTIONS or op_type in VARIADIC
    return moved or computed or op_type in CONTROL or op_type in LEAVES
