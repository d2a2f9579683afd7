"""What the operators of the cube unit cost on Ascend: convolutions and matrix products, in microseconds.

- A convolution is a matrix product [N*Ho*Wo, kh*kw*Cin] x [kh*kw*Cin, Cout] on NC1HWC0 operands.
- A 1-D convolution is the 2-D one between two format conversions of its own (hicann/ops-nn
  conv_onnx_plugin.cpp; Ascend/msadvisor knowledge_optimizer_rules.md 378-384), H being 1 and W its length.
- What is priced here are kernels; `conversions` are those around one whose operands are in ND.
- The rows of the input stay in L1 at full width, only a few at a time: a wide image does not fit where a
  tall one does (hicann/ops-nn convolution_util.cpp, load3d).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS, Device
from egraph_opt.cost_models.ascend_limits import beyond_convolutions
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import IMAGES, MATRICES, RULES, product_format, takes_plain

Shape = tuple[int, ...]

_WEIGHTS = {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3}

CONVOLUTIONS = frozenset(_WEIGHTS)

PRODUCTS = {"MatMul": (0, 1), "Gemm": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3)}
"""Which operands are multiplied."""


def convolution_time(device: Device, node: NodeView) -> float | None:
    """The time of a convolution; None where its shapes are not known well enough."""
    x, y, w = node.input(0), node.output(), node.input(_WEIGHTS[node.op_type])
    x_shape, y_shape, w_shape = counting.dims(x), counting.dims(y), counting.dims(w)
    rank = len(x_shape)
    if x is None or y is None or w is None or rank < 3 or not rank == len(y_shape) == len(w_shape):
        return None
    soc, width = device.soc, device.width(x)
    transposed = node.op_type == "ConvTranspose"
    group = max(node.integer("group", 1), 1)
    window = counting.product(w_shape[2:])
    c_in, c_out = max(x_shape[1] // group, 1), max(y_shape[1] // group, 1)
    packed, c_in, c_out = _pack_groups(device, group, c_in, c_out, width)
    depth, columns = window * device.whole_blocks(c_in, width), device.whole_tiles(c_out)

    pixels = y_shape[0] * counting.product(y_shape[2:])
    computing = device.cube(pixels, columns, depth, packed, width)
    if transposed:
        computing *= soc.conv_transpose_factor
    weights = packed * depth * columns * width
    images = device.blocked(x_shape, width) + device.blocked(y_shape, width)
    moving = device.stream(weights, parts=0 if w.const else 1)
    moving += device.stream(images, device.parts((x, y)))

    geometry = _Geometry(node, x_shape, y_shape, w_shape)
    slow = geometry.row_factor(device, transposed)
    if any(beyond_convolutions(soc, node, w_shape[2:])):
        slow *= soc.slow_conv_factor
    total = soc.fixed_cube_us + max(computing, moving) * slow
    if not w.const:
        total += device.transdata(device.bytes_of(w), weights)
    return total


def window_of(node: NodeView) -> Shape:
    """The kernel of a convolution, by its weight."""
    return counting.dims(node.input(_WEIGHTS[node.op_type]))[2:]


def needed_format(device: Device, node: NodeView) -> str:
    """The format that a cube operator, or a pool, needs its operands in; "" where that is ND or not known.

    No law follows the formats of integers: those of neighbours are taken to agree.
    """
    if node.op_type in PRODUCTS:
        a, b = (node.input(i) for i in PRODUCTS[node.op_type])
        if a is None or b is None or not a.shape or not b.shape or a.dtype not in CHIP_FLOATS:
            return ""
        side = device.soc.cube_side
        plain = takes_plain(a, b, RULES[device.soc.matmul_nd], side)
        return "" if plain else product_format(a.shape, b.shape, side)
    x, y = node.input(0), node.output()
    if x is None or y is None or x.dtype not in CHIP_FLOATS or not x.shape or not y.shape:
        return ""
    return IMAGES if len(x.shape) > 2 else ""


def conversions(device: Device, node: NodeView, layout: str, stages: Iterable[Fact | None]) -> float:
    """The conversions around a node that needs a format, on values in ND.

    Constants are converted offline, and a product writes whole tiles in ND.

    Args:
        layout: the format.
        stages: operands of what is computed with it in one kernel.
    """
    operands = [node.input(i) for i in PRODUCTS.get(node.op_type, (0,))]
    converted = [fact for fact in (*operands, *stages) if fact is not None and not fact.const]
    y = node.output()
    whole = (
        node.op_type in PRODUCTS
        and counting.dims(y)[-1:]
        and counting.dims(y)[-1] % device.soc.cube_side == 0
    )
    if y is not None and not whole:
        converted.append(y)
    time = math.fsum(device.to_format(layout, fact) for fact in converted)
    return time + device.soc.view_us if time else 0.0  # of equal choices, the one that names its conversions


def _pack_groups(device: Device, group: int, c_in: int, c_out: int, width: float) -> tuple[int, int, int]:
    """Small groups share a block-diagonal tile: (tiles along the groups, channels in, channels out)."""
    room = min(device.channel_block(width) // c_in, device.soc.cube_side // c_out)
    together = max(1, min(group, room))
    return math.ceil(group / together), c_in * together, c_out * together


class _Geometry:
    """Extents of a convolution's last two axes; H is 1 where there is only one."""

    def __init__(self, node: NodeView, x: Shape, y: Shape, w: Shape) -> None:
        axes = len(x) - 2
        ones = (1,) * axes
        self.kernel = w[2:]
        self.strides = _fitting(node.integers("strides"), ones)
        self.dilations = _fitting(node.integers("dilations"), ones)
        self.height = x[-2] if axes > 1 else 1
        self.width = x[-1]
        self.out_height = y[-2] if axes > 1 else 1
        self.out_width = y[-1]

    def row_factor(self, device: Device, transposed: bool) -> float:
        """How much rows that are too wide for L1 or for the instruction set slow the operator; 1: not."""
        side = device.soc.cube_side
        kernel_h, stride_h, dilation_h = (
            values[-2] if len(values) > 1 else 1 for values in (self.kernel, self.strides, self.dilations)
        )
        if transposed:
            # The zeros between the pixels are written into L1: rows as wide as the output.
            rows, row_width = min(kernel_h + 1, self.out_height), self.width * self.strides[-1]
        else:
            window_rows = (kernel_h - 1) * dilation_h + 1
            rows = min((side // max(self.out_width, 1) + 1) * stride_h + window_rows, self.height)
            row_width = self.width
        needed = max(rows, 1) * row_width * device.soc.block_bytes
        excess = max(needed / device.soc.l1_bytes, row_width / device.soc.row_width)
        return min(max(1.0, excess), device.soc.wide_row_cap)


def _fitting(values: tuple[int, ...] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return values if values is not None and len(values) == len(default) else default


def product_time(device: Device, node: NodeView) -> float | None:
    """The time of a matrix product; None where its shapes are not known well enough.

    The rows of each matrix of a batch fill tiles of their own, also where all are multiplied by one matrix,
    but for batches of few rows (see `_rows_together`).
    """
    a, b = (node.input(i) for i in PRODUCTS[node.op_type])
    y = node.output()
    if a is None or b is None or y is None or not a.shape or not b.shape or y.shape is None:
        return None
    a_shape, b_shape = _matrix(a, node.integer("transA", 0), 0), _matrix(b, node.integer("transB", 0), 1)
    (m, k), n = a_shape[-2:], b_shape[-1]
    batch = counting.product(counting.dims(y)) // max(m * n, 1)
    if counting.product(b_shape[:-2]) == 1:
        m, batch = (1, m * batch) if device.row_by_row else _rows_together(device, m, batch)
    width = device.width(a)
    computing = device.cube(m, n, k, batch, width)
    return device.soc.fixed_cube_us + max(computing, device.operands((*node.inputs, *node.outputs)))


LARGE_BATCH, FEW_ROWS = 51, 32
"""A batch of so many matrices or more, of less than so many rows each, is one matrix to the compiler."""


def _rows_together(device: Device, rows: int, batch: int) -> tuple[int, int]:
    """The rows of a product with one matrix as the compiler takes them: (rows, batch).

    Single rows are one matrix, and so are those of less than 32 of more than 50 matrices
    (BatchMatMulV2ReshapeFusionPass, hiascend atlasrr_30_0028; ViT-B/32, of 50 rows an image, is slower for
    it).  A smaller batch costs no more than the least that is one matrix.
    """
    side = device.soc.cube_side
    together = rows * (batch if rows == 1 else max(batch, LARGE_BATCH))
    fewer = math.ceil(together / side) < batch * math.ceil(rows / side)
    return (together, 1) if rows < FEW_ROWS and fewer else (rows, batch)


def few_rows(device: Device, node: NodeView) -> float | None:
    """What is converted where the rows of a product are multiplied one by one; None where they are not.

    A row has no format.  Fewer of them than a tile has cost no more than each by itself, whatever axes they
    are on: with a matrix of their own for all of them, or one for each.
    """
    side, y = device.soc.cube_side, node.output()
    if node.op_type not in PRODUCTS or y is None or node.integer("transA", 0):
        return None
    a, b = (node.input(i) for i in PRODUCTS[node.op_type])
    if a is None or not a.shape or b is None or counting.product(counting.dims(b)[:-2]) != 1:
        return None
    if counting.product(counting.dims(a)[:-1]) >= side:
        return None
    row = replace(a, shape=(1, a.shape[-1]))
    plain = takes_plain(row, b, RULES[device.soc.matmul_nd], side)
    return 0.0 if plain or b.const else device.to_format(MATRICES, b)


def other_product(device: Device, node: NodeView) -> float:
    """Products whose tiles are not looked at: their arithmetic at the cube's efficiency."""
    soc = device.soc
    tile = 2 * soc.cube_side**2 * device.channel_block(device.width(node.input(0)))
    peak = soc.cores * soc.clock_ghz * 1e3 * tile * soc.cube_efficiency
    moving = device.operands((*node.inputs, *node.outputs))
    return soc.fixed_cube_us + max(counting.flops(node) / peak, moving)


def _matrix(fact: Fact, transposed: int, side: int) -> Shape:
    """The operand as [..., rows, columns]: a vector gets the axis that MatMul gives it."""
    shape = counting.dims(fact)
    if len(shape) == 1:
        return (1, *shape) if side == 0 else (*shape, 1)
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


def recurrent(device: Device, node: NodeView) -> float | None:
    """LSTM, GRU and RNN: in each step [batch, input + hidden] x [input + hidden, gates * hidden]."""
    x, w, r = (counting.dims(node.input(i)) for i in range(3))
    if not len(x) == len(w) == len(r) == 3:
        return None
    steps, batch = (x[1], x[0]) if node.integer("layout", 0) else (x[0], x[1])
    step = device.cube(batch, w[1], w[2] + r[2], w[0], device.width(node.input(0)))
    return device.soc.fixed_cube_us + max(steps * step, device.operands((*node.inputs, *node.outputs)))
