"""Huawei Ascend NPUs: microseconds of an offline model, operator by operator.

``t = fixed(kind) + max(cube, vector, memory)``; the parameters, each with its unit, range and source, stand
in ``ascend.toml`` and in one file per chip.  Nothing was run on an NPU for it: it ranks graphs, it does not
predict milliseconds.

What a price per node cannot know, and how it is approximated:

- Element-wise operators on floats join the kernel of the convolution or matrix product before them where
  nobody else needs its result, or each other, and a reduction behind them: the laws of
  `rewrites/targets/ascend_fusion.py` and `vector_kernel.py` say so with pseudo-operators, priced by
  `ascend_fusion` and `ascend_vector`.  A lone one pays its launch and all it moves.
- Normalisations, activations and attention are one kernel however the model spells them, where the compiler
  knows them (``composite_operators``).
- 4-D values around convolutions live in NC1HWC0, values of lower rank in ND.  A reshape that only changes
  the view is nearly free (``view_us``), but one that makes a 4-D value with a unit H or W out of a value of
  rank 3 or less, or undoes that, is where the formats meet and pays one conversion (within a Gather of one
  position or a reduction without keepdims as well, which are a Squeeze too).  A Conv1d, and a 1-D pool,
  pays two: so a chain of them is cheaper in 4-D, and a single one is not worth lifting.
- A Transpose or a MatMul has no format of its own; unaligned MatMuls pay for theirs.
- Alignment makes prices fall at multiples of 16, everything else grows with the shapes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from egraph_opt.cost.model import KERNEL_DOMAIN, CostModel, NodeView
from egraph_opt.cost.parameters import Parameter
from egraph_opt.cost_models import ascend_cube, ascend_fusion, ascend_soc, ascend_vector, counting
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS, Device, KernelDevice
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

DEFAULT_SOC = "310p3"

_APPLIED = {
    **dict.fromkeys((f"activations.{name}" for name in ("gelu", "hard_swish", "mish", "swish")), ("Mul",)),
    **dict.fromkeys(
        (f"normalization.{name}" for name in ("centred", "root_mean_square", "scale", "shift")),
        ("Add", "Div", "Mul"),
    ),
    "attention.attend": ("MatMul",),
}
"""Kernels take these however they are spelled; constants have their place when they are looked for."""

_COMPOSITES = frozenset(
    ["attention", "layer_norm", "masked_attention", "rms_norm", "shifted_layer_norm", "unary"]
)
"""The pseudo-operators of what some opsets spell out: see ``composite_operators``."""

AI_CPU = "AI_CPU"
"""What profiles call the unit that runs what the AI cores do not."""


def _is_line(image: Shape, other: Shape) -> bool:
    """An image of one row, as [a, b, 1, c], becomes [a, 1, b, c]: as if its row were dropped."""
    return image[2] == 1 and other[1] == 1 and (*image[:2], image[3]) == (other[0], *other[2:])


class Ascend(CostModel):
    """Microseconds on an Ascend chip.

    Args:
        soc: the chip, such as ``310p3``, ``910b4`` or ``Ascend310P3``; ``variants()`` lists them.
        overrides: parameters of :class:`egraph_opt.cost_models.ascend_soc.Soc` that replace the chip's,
            after a calibration for instance; of a table the entries that differ.

    Raises:
        UnknownCostModelError: no such chip.
        UnknownParameterError, ParameterError: no such parameter, or a value that it cannot have.
    """

    name = "ascend"
    elsewhere = True
    unit = "us"
    rulesets = (
        "activations",
        "ascend.fusion",
        "ascend.vector",
        "constants.constants_right",
        "constants.quotient_scales",
    )
    applied = MappingProxyType({law: frozenset(op_types) for law, op_types in _APPLIED.items()})
    pseudo_operators = _COMPOSITES | {ascend_fusion.OPERATOR, ascend_vector.OPERATOR}
    datasheet = frozenset({"clock_ghz", "memory_gbs"})

    def __init__(self, soc: str = DEFAULT_SOC, **overrides: Any) -> None:
        self.soc = ascend_soc.load(soc, overrides)
        self._device = Device(self.soc)
        self.limits: Mapping[str, int] = MappingProxyType(
            {
                name: getattr(self.soc, name)
                for name in ("conv_dilation", "conv_kernel", "conv_pad", "conv_stride", "fused_stages",
                             "pool_kernel", "pool_stride", "pool_window", "row_width", "vector_stages")
            }
            # 1-D convolutions run as images of height 1; laws look for chains that stay images.
            | {"lift_conv1d": 1}
            # The AI CPU does most arithmetic on int64 (see aicpu_rules), an AI core that on int32.
            | {"narrow_int64": 1}
            # Pixels of one block of channels that L1 holds: rows of an image stay there at full width.
            | {"resident_pixels": int(self.soc.l1_bytes // self.soc.block_bytes)}
        )  # fmt: skip

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return ascend_soc.socs()

    @classmethod
    def declared_parameters(cls, variant: str = "") -> Mapping[str, Parameter]:
        return ascend_soc.declared(variant or DEFAULT_SOC)

    def cost(self, node: NodeView) -> float:
        return self._own(node) + node.body_cost

    def kernel_cost(self, node: NodeView, core: str = "") -> float:
        """A kernel that shares with no other, on the unit that ran it; TransData is one, too."""
        on_ai_cpu = core == AI_CPU or (not core and self._on_ai_cpu(node))
        return self._kernels.time(node, on_ai_cpu)

    @cached_property
    def _kernels(self) -> _Kernels:
        return _Kernels(self.soc)

    def _own(self, node: NodeView) -> float:
        op = node.op_type
        if node.domain == PSEUDO_DOMAIN:
            return self._pseudo(node)
        if node.domain not in ("", "ai.onnx"):
            return self._vector(node)
        if op in counting.LEAVES:
            return 0.0
        if op in counting.CONTROL:
            return self.soc.fixed_control_us
        if counting.is_view(node):
            return self._view(node)
        if op in counting.QUERIES:
            return self.soc.fixed_vector_us
        if op in counting.POOLS:
            return self._pool(node)
        if self._on_ai_cpu(node):
            return self._ai_cpu(counting.flops(node), node)
        if op == "Transpose":
            return self._transpose(node)
        if op in counting.MOVES and op not in self.soc.vector_steps:
            return self._move(node)
        time = None
        if op in ascend_cube.CONVOLUTIONS:
            time = ascend_cube.convolution(self._device, node)
        elif op in ascend_cube.PRODUCTS:
            time = ascend_cube.product(self._device, node)
        elif op in ("LSTM", "GRU", "RNN"):
            time = ascend_cube.recurrent(self._device, node)
        elif op in ("Attention", "DeformConv"):
            time = self._other_product(node)
        elif op == "Einsum":
            time = self._other_product(node) + self._rearranged_operands(node)
        return self._vector(node) if time is None else time

    def _pseudo(self, node: NodeView) -> float:
        """Kernels, and operators that the opset does not have: they cost what they do where it has them."""
        if node.op_type == ascend_fusion.FORM:
            return ascend_fusion.kernel(self._device, node, self.cost, self._computing)
        if node.op_type == ascend_vector.FORM:
            converting = self._reduced_axes
            return ascend_vector.kernel(self._device, node, self.cost, self._on_vector, converting)
        known = node.op_type in self.soc.composite_operators
        return self._own(replace(node, domain="")) if known else math.inf

    def _on_ai_cpu(self, node: NodeView) -> bool:
        """Whether no AI core runs this operator on these types."""
        facts = (*node.inputs[:1], *node.outputs[:1])
        dtypes = {fact.dtype for fact in facts if fact is not None}
        return any(
            (node.op_type in ops or "*" in ops) and (not types or not dtypes.isdisjoint(types))
            for ops, types in self.soc.aicpu_rules
        )

    def _ai_cpu(self, operations: float, node: NodeView) -> float:
        amount = operations + counting.elements(node.output())
        moving = self._device.operands((*node.inputs, *node.outputs))
        return self.soc.fixed_aicpu_us + max(amount / (self.soc.aicpu_gops * 1e3), moving)

    def _view(self, node: NodeView) -> float:
        """Nearly nothing, and a format conversion between 4-D with a unit H or W and ranks below 4."""
        x, y = node.input(0), node.output()
        if x is None or y is None or x.shape is None or y.shape is None:
            return self.soc.view_us
        image, other = (x.shape, y.shape) if len(x.shape) == 4 else (y.shape, x.shape)
        if len(other) == 4 and _is_line(image, other):
            return self.soc.view_us + self._border(image, 3, x)
        return self.soc.view_us + self._border(image, len(other), x)

    def _border(self, image: Shape, other_rank: int, fact: Fact) -> float:
        """The format conversion between a 4-D value with a unit H or W and one of rank below 4, else 0."""
        if len(image) != 4 or other_rank > 3 or 1 not in image[2:] or fact.dtype not in CHIP_FLOATS:
            return 0.0
        return self._device.to_blocks(counting.dims(Fact(shape=image)), self._device.width(fact))

    def _dropped_axes(self, node: NodeView) -> float:
        """What a squeeze within an operator costs: a mean without keepdims, a Gather of one position."""
        x, y = node.input(0), node.output()
        if x is None or y is None or x.shape is None or y.shape is None or len(x.shape) != 4:
            return 0.0
        dropped = _axes(node, 4)
        image = tuple(1 if axis in dropped else dim for axis, dim in enumerate(x.shape))
        return self._border(image, len(y.shape), x)

    def _steps(self, node: NodeView) -> float:
        """Cycles an element on the vector unit."""
        steps = self.soc.vector_steps.get(node.op_type)
        if steps is not None:
            repeated = max(len(node.inputs) - 1, 1) if node.op_type in counting.VARIADIC else 1
            return repeated * sum(self._device.cycles(step) for step in steps)
        subject = node.input(0) if node.op_type in counting.REDUCTIONS else node.output()
        operations = counting.flops(node) / max(counting.elements(subject), 1)
        return max(operations, 1.0) * self._device.cycles("Add")

    def _vector(self, node: NodeView) -> float:
        """Element-wise operators, reductions, normalisations, and whatever else is not known here."""
        moving = self._device.operands((*node.inputs, *node.outputs))
        time = self.soc.fixed_vector_us + max(self._computing(node), moving)
        return time + self._reduced_axes(node)

    def _reduced_axes(self, node: NodeView) -> float:
        return self._dropped_axes(node) if node.op_type in counting.REDUCTIONS else 0.0

    def _on_vector(self, node: NodeView) -> float | None:
        """The time on the vector units; None where the AI CPU computes."""
        return None if self._on_ai_cpu(node) else self._computing(node)

    def _computing(self, node: NodeView) -> float:
        """The time on the vector units."""
        subject = node.input(0) if node.op_type in counting.REDUCTIONS else node.output()
        width = self._device.width(subject)
        return self._device.vector(counting.elements(subject), self._steps(node), width)

    def _other_product(self, node: NodeView) -> float:
        """Products whose tiles are not looked at: their arithmetic at the cube's efficiency."""
        soc = self.soc
        tile = 2 * soc.cube_side**2 * self._device.channel_block(self._device.width(node.input(0)))
        peak = soc.cores * soc.clock_ghz * 1e3 * tile * soc.cube_efficiency
        moving = self._device.operands((*node.inputs, *node.outputs))
        return soc.fixed_cube_us + max(counting.flops(node) / peak, moving)

    def _rearranged_operands(self, node: NodeView) -> float:
        """An Einsum has no kernel of its own: its operands are transposed for a product."""
        bytes_ = sum(2 * self._device.bytes_of(fact) for fact in node.inputs)
        return self.soc.fixed_transpose_us + self._device.rearrange(bytes_, self.soc.transpose_efficiency)

    def _pool(self, node: NodeView) -> float:
        """Pools on the vector unit within the limits of the instruction set, on the AI CPU beyond them."""
        soc, x, y = self.soc, node.input(0), node.output()
        shape, kernel = counting.dims(x), counting.kernel(node, 0)
        strides = node.integers("strides") or (1,)
        dilated = max(node.integers("dilations") or (1,)) > 1
        beyond = (
            max(kernel, default=1) > soc.pool_kernel
            or counting.product(kernel) > soc.pool_window
            or max(strides) > soc.pool_stride
            or dilated
        )
        if beyond or self._on_ai_cpu(node):
            time = self._ai_cpu(counting.flops(node), node)
        else:
            width = self._device.width(x)
            cycles = self._device.cycles("Add") / soc.pool_efficiency
            computing = self._device.vector(counting.elements(y) * counting.product(kernel), cycles, width)
            images = (self._device.blocked(counting.dims(fact), width) for fact in (x, y))
            row = min(max(1.0, (shape[-1] if shape else 1) / soc.row_width), soc.wide_row_cap)
            time = soc.fixed_vector_us + max(computing, self._device.stream(sum(images))) * row
        if len(shape) == 3:
            width = self._device.width(x)
            time += self._device.to_blocks(shape, width)
            time += self._device.to_blocks(counting.dims(y), width)
        return time

    def _transpose(self, node: NodeView) -> float:
        """Awkward where the innermost axis changes place, else blocks that stay in one piece."""
        shape = counting.dims(node.input(0))
        perm = node.integers("perm") or tuple(reversed(range(len(shape))))
        moving = [axis for axis in perm if axis < len(shape) and shape[axis] != 1]
        blocks = not moving or moving[-1] == max(moving)
        efficiency = self.soc.block_move_efficiency if blocks else self.soc.transpose_efficiency
        bytes_ = self._device.bytes_of(node.input(0)) + self._device.bytes_of(node.output())
        return self.soc.fixed_transpose_us + self._device.rearrange(bytes_, efficiency)

    def _move(self, node: NodeView) -> float:
        """Slice, Concat, Split, Gather, Pad, Expand ...: bytes in and out, slower where rows are short."""
        device, out = self._device, node.output()
        inputs: tuple[Fact | None, ...] = node.inputs
        if node.op_type in counting.SELECTIONS:
            inputs = (out, *inputs[1:])
        moving = device.operands((*inputs, *node.outputs))
        if _strided(node):
            moving = max(moving, device.rearrange(2 * device.bytes_of(out), self.soc.transpose_efficiency))
        computing = 0.0
        if node.op_type.startswith("Gather") and self._row_bytes(node) < self.soc.block_bytes:
            computing = device.vector(counting.elements(out), device.cycles("Gather"), device.width(out))
        dropped = self._dropped_axes(node) if node.op_type == "Gather" else 0.0
        return self.soc.fixed_vector_us + max(moving, computing) + dropped

    def _row_bytes(self, node: NodeView) -> float:
        """Contiguous bytes that one index of a Gather picks."""
        shape, width = counting.dims(node.input(0)), self._device.width(node.input(0))
        if node.op_type != "Gather" or not shape:
            return width
        axis = node.integer("axis", 0) % len(shape)
        return counting.product(shape[axis + 1 :]) * width


class _Kernels(Ascend):
    """The same chip, where kernels are looked at one by one: nothing is converted or ruled out."""

    def __init__(self, soc: ascend_soc.Soc) -> None:
        self.soc = replace(soc, aicpu_rules=())
        self._device = KernelDevice(self.soc)

    def time(self, node: NodeView, on_ai_cpu: bool) -> float:
        if node.domain == KERNEL_DOMAIN and node.op_type == "TransData":
            plain, padded = (self._device.bytes_of(fact) for fact in (node.input(0), node.output()))
            return Device(self.soc).transdata(plain, padded)
        return self._ai_cpu(counting.flops(node), node) if on_ai_cpu else self._own(node)


def _axes(node: NodeView, rank: int) -> frozenset[int]:
    """The axes that a reduction or a Gather works along; all of them where none are given."""
    operand = node.input(1) if node.op_type.startswith("Reduce") else None
    axes = operand.ints if operand is not None else node.integers("axes")
    if axes is None and "axis" in node.attributes:
        axes = (node.integer("axis", 0),)
    if axes is None and node.op_type in ("Gather", "ArgMax", "ArgMin"):
        axes = (0,)
    return frozenset(axis % rank for axis in (axes or range(rank)))


def _strided(node: NodeView) -> bool:
    """Whether a Slice takes every n-th element of the innermost axis."""
    x, axes, steps = node.input(0), node.input(3), node.input(4)
    if node.op_type != "Slice" or x is None or steps is None or steps.ints is None or not x.shape:
        return False
    along = axes.ints if axes is not None and axes.ints is not None else range(len(steps.ints))
    last = len(x.shape) - 1
    return any(step != 1 and axis in (last, -1) for axis, step in zip(along, steps.ints, strict=False))
