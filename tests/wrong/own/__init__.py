"""Wrong laws of blocks, of OneHot, and of operators that files declare for themselves.

A declared operator is one for the whole process, so `wrong_laws` leaves these out: they are imported where
nothing else is tested.  `python -m tests.wrong.own` computes their witnesses.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.laws import Mode, Settings, Tensor
from egraph_opt.operators import OnnxForm, TermSpec, blockwise, lowers, operator


def _form(op_type: str, operands: int = 1, since: int = 1) -> Any:
    inputs = tuple(range(operands))
    return lambda opset, attributes, facts: (
        OnnxForm(op_type, inputs, attributes[0]) if opset >= since else None
    )


def depth_to_space(x: Tensor, settings: Settings) -> Any:
    """Channels become blocks of a plane; `settings`: blocksize and mode."""
    return blockwise("DepthToSpace", x, settings)


def space_to_depth(x: Tensor, settings: Settings) -> Any:
    """Blocks of a plane become channels; `settings`: blocksize."""
    return blockwise("SpaceToDepth", x, settings)


@operator(form=_form("LRN"))
def lrn(x: Tensor, settings: Settings) -> Tensor:
    """Each element by a power of the squares of its neighbours in other channels."""


@lowers("LRN")
def _lrn(node: Any) -> TermSpec:
    return TermSpec("lrn", (node.settings(),), (0,))


@operator(form=lambda opset, attributes, facts: OnnxForm("BitShift", (0, 1), (("direction", attributes[0]),)))
def shifted(x: Tensor, y: Tensor, direction: Mode) -> Tensor:
    """The bits of x, y places on."""


@lowers("BitShift")
def _shifted(node: Any) -> TermSpec:
    return TermSpec("shifted", (node.attribute("direction"),), (0, 1))


@operator(form=_form("RoiAlign", 3, 16))
def roi_align(x: Tensor, boxes: Tensor, places: Tensor, settings: Settings) -> Tensor:
    """Means of regions of x, or their greatest elements."""


@lowers("RoiAlign")
def _roi_align(node: Any) -> TermSpec:
    return TermSpec("roi_align", (node.settings(),), (0, 1, 2))
