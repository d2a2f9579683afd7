"""Matrix products and convolutions of a profile as nodes: what their shapes say of transposes and windows.

Operands that are stored in blocks or tiles have dims that are rounded up, the others have not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from egraph_opt.calibration.tensors import WEIGHTS, Dims, KernelTensor
from egraph_opt.calibration.unusable import UnusableError
from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact

TILE = 16
"""Rows and columns of a tile of FRACTAL_NZ."""

Tensors = tuple[KernelTensor, ...]


def product(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
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


def convolution(op: str, kind: str, inputs: Tensors, outputs: Tensors) -> NodeView:
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
