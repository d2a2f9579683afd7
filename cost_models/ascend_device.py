"""How long the units of a Da Vinci chip take for a given amount of work, in microseconds.

Three components as in the component roofline of Zhou et al. (ASPLOS 2025, doi 10.1145/3676641.3716243):
the cube unit, the vector unit, and memory.  Every function is monotone in each of its amounts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_soc import Soc
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions import formats
from egraph_opt.rewrites.conditions.formats import IMAGES, MATRICES, ROWS, is_vector

CHIP_FLOATS = formats.CHIP_FLOATS | {0}
"""Types that are computed in the chip's float type, and those that are not known."""

PRECISE = "high_precision"
"""The value of `op_select_implmode` with which `precise_steps` are computed in float32."""


@dataclass(frozen=True)
class Device:
    """The units of one chip."""

    soc: Soc

    @property
    def has_rows(self) -> bool:
        """Whether the last axis of a tensor is the one whose elements lie next to each other."""
        return True

    @property
    def row_by_row(self) -> bool:
        """Whether rows of a product with one matrix are products of their own."""
        return False

    def width(self, fact: Fact | None) -> float:
        """Bytes of one element on the chip."""
        dtype = 0 if fact is None else fact.dtype
        return self.soc.float_bytes if dtype in CHIP_FLOATS else counting.BITS.get(dtype, 32) / 8

    def bytes_of(self, fact: Fact | None) -> float:
        """Bytes of a value in the plain format ND; 0 for an absent operand."""
        return counting.elements(fact) * self.width(fact)

    def elements(self, fact: Fact | None) -> float:
        """How many elements the vector unit computes of a value."""
        return counting.elements(fact)

    def same_type(self, x: Fact | None, y: Fact | None) -> bool:
        """Whether two values have one type on the chip, so that a Cast between them is none."""
        if x is None or y is None:
            return False
        return x.dtype == y.dtype or {x.dtype, y.dtype} <= CHIP_FLOATS - {0}

    def stream(self, bytes_: float, parts: int = 1) -> float:
        """Reading or writing at stream bandwidth.

        What fits in a share of L2 goes at the speed of L2, the rest at that of memory.

        Args:
            bytes_: a total over the operands.
            parts: so many are computed one after the other, each of which may stay in L2; 0: none stays, as
                of weights.
        """
        speed = self.soc.memory_gbs * self.soc.memory_efficiency * 1e3
        near = min(bytes_, parts * self.soc.l2_bytes * self.soc.l2_share)
        return (bytes_ - near + near / self.soc.l2_speedup) / speed

    def parts(self, facts: Iterable[Fact | None]) -> int:
        """How many parts of a batch the activations of a kernel are computed in, one after the other."""
        return 1

    def operands(self, facts: Iterable[Fact | None]) -> float:
        """Streaming the operands of a node: constants from memory, the rest maybe from L2.

        Lists of integers that are constant (axes, starts, shapes) become attributes (ConstToAttr, hiascend
        atlasag_25_0078).
        """
        weights = activations = 0.0
        facts = tuple(facts)
        for fact in facts:
            if fact is not None and fact.const and fact.value is not None:
                continue
            if fact is not None and fact.const:
                weights += self.bytes_of(fact)
            else:
                activations += self.bytes_of(fact)
        return self.stream(weights, parts=0) + self.stream(activations, self.parts(facts))

    def rearrange(self, bytes_: float, efficiency: float) -> float:
        """Moving bytes in an awkward order, which reaches only a part of the bandwidth of L2."""
        l2_speed = self.soc.memory_gbs * self.soc.memory_efficiency * self.soc.l2_speedup * 1e3
        return max(self.stream(bytes_), bytes_ / (l2_speed * efficiency))

    def vector(self, elements: float, cycles: float, width: float = 2.0) -> float:
        """`cycles` a float16 element on the vector units; wider elements take more, in proportion."""
        factor = max(1.0, width / 2.0)
        return elements * cycles * factor / (self.soc.vector_cores * self.soc.clock_ghz * 1e3)

    def cycles(self, step: str, width: float = 4.0) -> float:
        """Cycles an element of one instruction of the vector unit, as `vector` scales them.

        A precise one takes float16 (`width` 2) to float32 and back.
        """
        cycles = self.soc.vector_cycles
        if width == 2.0 and step in self.soc.precise_steps and self.soc.op_select_implmode == PRECISE:
            return 2 * (cycles[step] + cycles["Cast"])
        return cycles[step]

    def cube(self, m: int, n: int, k: int, batch: int = 1, width: float = 2.0) -> float:
        """`batch` products of [m, k] by [k, n], all rounded up to the cube's tiles.

        A core computes one tile of the result at a time, so that fewer tiles than cores leave cores idle.
        """
        side = self.soc.cube_side
        tiles = batch * math.ceil(m / side) * math.ceil(n / side)
        depth = math.ceil(k / self.channel_block(width))
        rounds = math.ceil(tiles / self.soc.cores)
        return rounds * depth / (self.soc.clock_ghz * 1e3 * self.soc.cube_efficiency)

    def channel_block(self, width: float) -> int:
        """C0: how many channels one block of NC1HWC0 holds."""
        return max(1, int(self.soc.block_bytes / max(width, 1.0)))

    def whole_blocks(self, channels: int, width: float) -> int:
        """Channels that fill blocks."""
        block = self.channel_block(width)
        return math.ceil(channels / block) * block

    def whole_tiles(self, count: int) -> int:
        """Rows or columns that fill tiles of the cube."""
        return math.ceil(count / self.soc.cube_side) * self.soc.cube_side

    def blocked(self, shape: tuple[int, ...], width: float) -> float:
        """Bytes of an [N, C, ...] value in NC1HWC0, whose channels fill whole blocks."""
        channels = shape[1] if len(shape) > 1 else 1
        rest = counting.product(shape[:1]) * counting.product(shape[2:])
        return rest * self.whole_blocks(channels, width) * width

    def fractal(self, shape: tuple[int, ...], width: float) -> float:
        """Bytes of a [..., M, N] value in FRACTAL_NZ, whose last two dims fill whole tiles."""
        rows = shape[-2] if len(shape) > 1 else 1
        columns = shape[-1] if shape else 1
        padded = self.whole_tiles(rows) * self.whole_blocks(columns, width)
        return counting.product(shape[:-2]) * padded * width

    def transdata(self, plain: float, padded: float) -> float:
        """Converting between ND (`plain` bytes) and a blocked format (`padded` bytes), as a kernel."""
        return self.soc.fixed_transdata_us + self.rearrange(plain + padded, self.soc.transdata_efficiency)

    def padded(self, layout: str, fact: Fact | None) -> float | None:
        """Bytes of a value in a format; None where it has none: a constant, too few axes, no float."""
        if fact is None or fact.const or fact.shape is None or fact.dtype not in CHIP_FLOATS:
            return None
        shape, width = counting.dims(fact), self.width(fact)
        if layout == IMAGES:
            return self.blocked(shape, width) if len(shape) > 2 else None
        matrix = (counting.product(shape[:-1]), *shape[-1:]) if layout == ROWS else shape
        known = layout in (MATRICES, ROWS) and not is_vector(matrix)
        return self.fractal(matrix, width) if known else None

    def to_format(self, layout: str, fact: Fact | None) -> float:
        """Converting a value between ND and a format; nothing where it has none.

        Whole blocks of channels of a single pixel are in the same order in both: a view.
        """
        padded = self.padded(layout, fact)
        if padded is None:
            return 0.0
        pixels = counting.product(counting.dims(fact)[2:]) if layout == IMAGES else 0
        if pixels == 1 and padded == self.bytes_of(fact):
            return self.soc.view_us
        return self.transdata(self.bytes_of(fact), padded)


@dataclass(frozen=True)
class KernelDevice(Device):
    """The same units, where kernels are looked at one by one.

    Elements have the width that they are said to have, and conversions of formats are other kernels.
    """

    def width(self, fact: Fact | None) -> float:
        known = fact is not None and fact.dtype in counting.BITS
        return counting.BITS[fact.dtype] / 8 if known and fact is not None else self.soc.float_bytes

    def same_type(self, x: Fact | None, y: Fact | None) -> bool:
        return x is not None and y is not None and x.dtype == y.dtype

    def transdata(self, plain: float, padded: float) -> float:
        return 0.0
