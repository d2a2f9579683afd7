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
- Convolutions and pools run on NC1HWC0, products that are not whole tiles on FRACTAL_NZ.  Which conversions
  (TransData) remain between them, extraction decides: the laws of `rewrites/targets/ascend_layout.py` write
  them as pseudo-operators, which `ascend_layout` prices.  Reshape and Transpose read ND.
- Alignment makes prices fall at multiples of 16, all else grows with the shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from egraph_opt.cost.model import KERNEL_DOMAIN, CostModel, NodeView
from egraph_opt.cost.parameters import Parameter
from egraph_opt.cost_models import (
    ascend_atc,
    ascend_attention,
    ascend_binding,
    ascend_constants,
    ascend_control,
    ascend_cube,
    ascend_einsum,
    ascend_fusion,
    ascend_host,
    ascend_layout,
    ascend_measured,
    ascend_moves,
    ascend_reasons,
    ascend_remarks,
    ascend_rows,
    ascend_scalar,
    ascend_soc,
    ascend_types,
    ascend_vector,
    counting,
)
from egraph_opt.cost_models.ascend_compiler import applied_by, limits_of
from egraph_opt.cost_models.ascend_device import Device, KernelDevice
from egraph_opt.cost_models.ascend_limits import beyond_pools
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.facts.fact import Fact
from egraph_opt.forking import cached_property
from egraph_opt.operators.declaration import PSEUDO_DOMAIN
from egraph_opt.rewrites.conditions.formats import RULES

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

_IN_FORMATS = frozenset((*ascend_cube.CONVOLUTIONS, *ascend_cube.PRODUCTS, *counting.POOLS))
"""Operators that chips run in formats of their own."""


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
    rulesets: tuple[str, ...] = (
        "activations",
        "ascend.fusion",
        "ascend.layout",
        "ascend.vector",
        "constants.constants_right",
        "constants.quotient_scales",
        "elementwise.square",
        "normalization",
    )
    applied: Mapping[str, frozenset[str]] = MappingProxyType(
        {law: frozenset(op_types) for law, op_types in _APPLIED.items()}
    )
    pseudo_operators = (
        _COMPOSITES | {ascend_fusion.OPERATOR, ascend_vector.OPERATOR} | ascend_layout.OPERATORS
    )
    datasheet = frozenset({"clock_ghz", "memory_gbs"})
    host_share: float | None = None

    def __init__(self, soc: str = DEFAULT_SOC, **overrides: Any) -> None:
        self.chip = str(soc)
        self.soc = ascend_soc.load_soc(soc, overrides)
        if self.soc.dispatch == ascend_host.EAGER:
            self.soc = ascend_soc.load_soc(soc, {**ascend_host.KERNELS, **overrides})
            self.sides = (ascend_host.HOST, ascend_host.DEVICE)
        self._device = Device(self.soc)
        of_compiler = applied_by(self.soc.passes)
        self.free_sizes_factor = self.soc.dynamic_factor
        attention = ("attention",) if "Attention" in self.soc.composites else ()
        self.rulesets = (*type(self).rulesets, *attention, *sorted(of_compiler))
        block = self._device.channel_block(self.soc.float_bytes)
        applied = {} if self.sides else type(self).applied
        self.applied = MappingProxyType({**applied, **of_compiler})
        self.limits: Mapping[str, int] = MappingProxyType(
            {
                name: getattr(self.soc, name)
                for name in ("conv_dilation", "conv_kernel", "conv_pad", "conv_stride", "fused_stages",
                             "pool_kernel", "pool_stride", "pool_window", "row_width", "vector_stages")
            }
            # 1-D convolutions run as images of height 1; laws look for chains that stay images.
            | {"lift_conv1d": 1}
            # Some operators the AI CPU does on int64, an AI core on int32 (see aicore_types, aicpu_rules).
            | {"narrow_int64": 1}
            # Formats of kernels: channels in blocks, matrices in tiles, and which products need the latter.
            | {"channel_block": block, **limits_of(self.soc.passes, self.soc.float_bytes, block)}
            | {"tile_side": self.soc.cube_side, "plain_products": RULES[self.soc.matmul_nd]}
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
        host = ascend_host.time(self.soc, node)
        return ascend_host.together(self.host_share, host, self.device_time(node)) + node.body_cost

    def time_of(self, node: NodeView, side: str) -> float:
        return ascend_host.time(self.soc, node) if side == ascend_host.HOST else self.device_time(node)

    def settled(self, totals: Mapping[str, float]) -> Ascend:
        found = copy(self)
        found.host_share = ascend_host.share_of_host(totals)
        found.__dict__.pop("_without", None)  # prices of the same share
        return found

    def device_time(self, node: NodeView) -> float:
        """Without bodies: on values in ND a kernel, with the conversions around it."""
        if is_conversion(node):
            return ascend_layout.conversion(self._device, node)
        if is_laid(node):
            inside = ascend_layout.inner(node)
            layout, in_place = ascend_layout.format_of(node)
            if inside is not None and in_place and inside.op_type == "Concat":
                return self.soc.view_us
            return math.inf if inside is None else self.in_format(layout).device_time(inside)
        if ascend_constants.is_folded(self.soc, node):
            return 0.0 if node.op_type in counting.LEAVES else self.soc.view_us
        cube = node
        others: tuple[Fact | None, ...] = ()
        if node.domain == PSEUDO_DOMAIN and node.op_type == ascend_fusion.FORM:
            cube = ascend_fusion.cube_of(node)
            others = tuple(stage.other for stage in ascend_fusion.stages_of(node))
        layout = self._needed_format(cube)
        if not layout:
            return self._own(node)
        conversions = ascend_cube.conversions(self._device, cube, layout, others)
        together = self.in_format(layout).device_time(node) + conversions
        apart = ascend_cube.few_rows(self._device, cube)
        if apart is None:
            return together
        return min(together, self.in_format(ascend_layout.ROW_BY_ROW).device_time(node) + apart)

    def _needed_format(self, node: NodeView) -> str:
        """The format that an operator on values in ND runs in; "" where that is ND."""
        plain = node.domain not in ("", "ai.onnx") or node.op_type not in _IN_FORMATS
        return "" if plain or self._on_ai_cpu(node) else ascend_cube.needed_format(self._device, node)

    def in_format(self, layout: str) -> Ascend:
        """The chip as it prices kernels whose operands are in a format already."""
        if layout not in self._formats:
            self._formats[layout] = _InFormat(self.soc, layout)
        return self._formats[layout]

    @cached_property
    def _formats(self) -> dict[str, _InFormat]:
        return {}

    def of_bodies(self, node: NodeView, costs: Sequence[float]) -> float:
        return ascend_control.of_bodies(self.soc, node, costs)

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        """What prices are guesses: operators, types and shapes that nobody knows; iterations."""
        return (*ascend_remarks.remarks(self.soc, views), *ascend_atc.remarks(self.chip))

    def is_unmeasured(self, node: NodeView) -> bool:
        return ascend_measured.is_unmeasured(self.soc, node)

    def stored_bytes(self, fact: Fact, operators: frozenset[str]) -> int | None:
        return ascend_layout.stored_bytes(self._device, fact, operators)

    def reason(self, node: NodeView) -> str:
        return ascend_reasons.reason(self._device, node, self.cost(node))

    def build_command(self, inputs: Mapping[str, Sequence[int | None]], path: str) -> str:
        return ascend_atc.atc_command(self.chip, self.soc, inputs, path)

    def kernel_name(self, node: NodeView) -> str:
        return ascend_reasons.kernel_name(node)

    def breakdown(self, node: NodeView) -> Mapping[str, float]:
        bare = replace(node, body_cost=0.0)
        price = self.cost(bare)
        shares = ((name, price - model.cost(bare)) for name, model in self._without.items())
        return {name: share for name, share in shares if share > 0}

    @cached_property
    def _without(self) -> dict[str, Ascend]:
        """Per resource the chip where it costs nothing."""
        return {
            name: _OnChip(ascend_binding.without_resource(self.soc, name), self.host_share)
            for name in ascend_binding.RESOURCES
        }

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
            return self.soc.view_us
        if op in ("Cast", "CastLike") and self._device.same_type(node.input(0), node.output()):
            return self.soc.view_us
        if op in counting.QUERIES:
            return self.soc.fixed_vector_us
        if op in counting.POOLS:
            return self._pool(node)
        if self._on_ai_cpu(node):
            return self._ai_cpu(counting.flops(node), node)
        if op == "Transpose":
            return ascend_moves.transpose(self._device, node)
        if op in counting.MOVES and op not in self.soc.vector_steps:
            return ascend_moves.move(self._device, node)
        time = None
        if op in ascend_cube.CONVOLUTIONS:
            time = ascend_cube.convolution_time(self._device, node)
        elif op in ascend_cube.PRODUCTS:
            time = ascend_cube.product_time(self._device, node)
        elif op in ("LSTM", "GRU", "RNN"):
            time = ascend_cube.recurrent(self._device, node)
        elif op == "Attention":
            time = self._attention(node)
        elif op == "DeformConv":
            time = ascend_cube.other_product(self._device, node)
        elif op == "Einsum":
            time = ascend_einsum.einsum_time(self._device, node, self.device_time)
        return self._vector(node) if time is None else time

    def _pseudo(self, node: NodeView) -> float:
        """Kernels, and operators that the opset does not have: they cost what they do where it has them."""
        if node.op_type == ascend_fusion.FORM:
            return ascend_fusion.cube_kernel_time(self._device, node, self._own, self._computing)
        if node.op_type == ascend_vector.FORM:
            return ascend_vector.vector_kernel_time(self._device, node, self._own, self._on_vector)
        return self._own(replace(node, domain="")) if node.op_type in self.soc.composites else math.inf

    def _attention(self, node: NodeView) -> float | None:
        """One kernel where the compiler makes one of it, else those of its products and the Softmax."""
        if node.op_type in self.soc.composites:
            return ascend_attention.attention_time(self._device, node)
        kernels = ascend_attention.kernels(node)
        return None if kernels is None else math.fsum(map(self.device_time, kernels))

    def _on_ai_cpu(self, node: NodeView) -> bool:
        """Whether no AI core runs this operator on these types."""
        return ascend_types.on_ai_cpu(self.soc, node)

    def _ai_cpu(self, operations: float, node: NodeView) -> float:
        amount = operations + counting.elements(node.output())
        moving = self._device.operands((*node.inputs, *node.outputs))
        return self.soc.fixed_aicpu_us + max(amount / (self.soc.aicpu_gops * 1e3), moving)

    def _steps(self, node: NodeView, width: float) -> float:
        """Cycles an element of so many bytes on the vector unit."""
        steps = self.soc.vector_steps.get(node.op_type)
        if steps is not None:
            repeated = max(len(node.inputs) - 1, 1) if node.op_type in counting.VARIADIC else 1
            return repeated * sum(self._device.cycles(step, width) for step in steps)
        subject = node.input(0) if node.op_type in counting.REDUCTIONS else node.output()
        operations = counting.flops(node) / max(counting.elements(subject), 1)
        return max(operations, 1.0) * self._device.cycles("Add")

    def _vector(self, node: NodeView) -> float:
        """Element-wise operators, reductions, normalisations, and whatever else is not known here."""
        moving = self._device.operands((*node.inputs, *node.outputs))
        moving += ascend_rows.moving_tails(self._device, node)
        return self.soc.fixed_vector_us + max(self._computing(node), moving)

    def _on_vector(self, node: NodeView) -> float | None:
        """The time on the vector units; None where the AI CPU computes."""
        return None if self._on_ai_cpu(node) else self._computing(node)

    def _computing(self, node: NodeView) -> float:
        """The time on the vector units."""
        subject = node.input(0) if node.op_type in counting.REDUCTIONS else node.output()
        width = self._device.width(subject)
        elements = self._device.elements(subject) * ascend_rows.tail(self._device, node)
        amount = self._device.vector(elements, self._steps(node, width), width)
        return amount + ascend_scalar.scalar_time(self._device, node)

    def _pool(self, node: NodeView) -> float:
        """Pools on the vector unit within the limits of the instruction set, on the AI CPU beyond them."""
        if any(beyond_pools(self.soc, node)) or self._on_ai_cpu(node):
            return self._ai_cpu(counting.flops(node), node)
        return ascend_vector.pool_time(self._device, node)


class _OnChip(Ascend):
    """Prices of a chip that no file describes."""

    def __init__(self, soc: ascend_soc.Soc, host_share: float | None) -> None:
        self.soc = soc
        self._device = Device(soc)
        self.host_share = host_share


class _InFormat(Ascend):
    """The same chip, where tensors are in a format."""

    def __init__(self, soc: ascend_soc.Soc, layout: str) -> None:
        self.soc = soc
        self._device = ascend_layout.LaidDevice(soc, layout)

    def device_time(self, node: NodeView) -> float:
        return self._own(node)


class _Kernels(Ascend):
    """The same chip, where kernels are looked at one by one: nothing is converted or ruled out."""

    def __init__(self, soc: ascend_soc.Soc) -> None:
        self.soc = soc
        self._device = KernelDevice(self.soc)

    def _attention(self, node: NodeView) -> float | None:
        return ascend_attention.attention_time(self._device, node)

    def _on_ai_cpu(self, node: NodeView) -> bool:
        return False

    def time(self, node: NodeView, on_ai_cpu: bool) -> float:
        if node.domain == KERNEL_DOMAIN and node.op_type == "TransData":
            plain, padded = (self._device.bytes_of(fact) for fact in (node.input(0), node.output()))
            return Device(self.soc).transdata(plain, padded)
        return self._ai_cpu(counting.flops(node), node) if on_ai_cpu else self._own(node)
