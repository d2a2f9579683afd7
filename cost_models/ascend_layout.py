"""Formats of Ascend's kernels as prices see them: conversions, and kernels whose operands are in a format.

A node on tensors in ND that the chip runs in a format only (a convolution) is that kernel and its conversions
(see `ascend_cube.conversions`).  The pseudo-operators of `rewrites/targets/layouts.py` say which of these
several nodes share: a conversion is a TransData kernel, and what is `laid` moves and computes whole blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_cube, counting
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS, Device
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.typing import form_facts
from egraph_opt.rewrites.conditions.formats import IMAGES, IN_PLACE

OPERATORS = frozenset(("from_layout", "laid", "to_layout", "unlaid"))
"""The pseudo-operators that are priced here."""


ROW_BY_ROW = "rows one by one"
"""ND, where the rows of a product are products of their own."""


@dataclass(frozen=True)
class LaidDevice(Device):
    """The units of a chip, where tensors that are computed are in a format."""

    layout: str = IMAGES

    @property
    def has_rows(self) -> bool:
        return False

    @property
    def row_by_row(self) -> bool:
        return self.layout == ROW_BY_ROW

    def elements(self, fact: Fact | None) -> float:
        """With the padding: what the vector unit computes."""
        padded = self.padded(self.layout, fact)
        return super().elements(fact) if padded is None else padded / self.width(fact)

    def bytes_of(self, fact: Fact | None) -> float:
        padded = self.padded(self.layout, fact)
        return super().bytes_of(fact) if padded is None else padded

    def parts(self, facts: Iterable[Fact | None]) -> int:
        """The images of a batch, where the compiler takes them through its kernels one by one."""
        if self.layout != IMAGES or self.soc.buffer_optimize != "l2_optimize":
            return 1
        shapes = (counting.dims(fact) for fact in facts if fact is not None and not fact.const)
        return max((shape[0] for shape in shapes if len(shape) > 3), default=1)


_ON_IMAGES = frozenset((*ascend_cube.CONVOLUTIONS, *counting.POOLS))
"""Operators whose operands and results fill whole blocks of channels."""


def stored_bytes(device: Device, fact: Fact, operators: frozenset[str]) -> int | None:
    """Of floats, in the type that the chip computes in, and in the format of who writes or reads them."""
    if fact.dtype not in CHIP_FLOATS:
        return None
    shape = counting.dims(fact)
    if len(shape) > 2 and not operators.isdisjoint(_ON_IMAGES):
        return int(device.blocked(shape, device.width(fact)))
    return int(device.bytes_of(fact))


def conversion(device: Device, node: NodeView) -> float:
    """The time of a TransData kernel; there is none that writes a tensor into a wider one."""
    if node.text("layout") in IN_PLACE.values():
        return math.inf
    return device.to_format(node.text("layout"), node.input(0))


def format_of(node: NodeView) -> tuple[str, bool]:
    """The format that a node works in, and whether what it writes is a part of a wider image."""
    layout = node.text("layout")
    in_place = layout in IN_PLACE.values()
    return (IMAGES if in_place else layout, in_place)


def inner(node: NodeView) -> NodeView | None:
    """The node that works in a format, as it is written in ND; None where the opset has none such."""
    settings: Mapping[str, object] = node.attributes
    attributes = settings["settings"]
    assert isinstance(attributes, tuple)
    form = operator_named(node.text("kernel")).form
    operands = tuple(ABSENT if fact is None else fact for fact in node.inputs)
    written = None if form is None else form(node.opset, attributes, operands)
    if written is None:
        return None
    inputs = form_facts(written, operands)
    described = MappingProxyType(dict(written.attributes))
    return NodeView(
        written.op_type, written.domain, described, inputs, node.outputs, opset=node.opset, parts=node.parts
    )
