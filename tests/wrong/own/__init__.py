"""Wrong laws of blocks, of OneHot, and of an operator that a file declares for itself: LRN.

A declared operator is one for the whole process, so `wrong_laws` leaves these out: they are imported where
nothing else is tested.  `python -m tests.wrong.own` computes their witnesses.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.laws import Settings, Tensor
from egraph_opt.operators import OnnxForm, TermSpec, blockwise, lowers, operator


def _form(op_type: str) -> Any:
    return lambda opset, attributes, facts: OnnxForm(op_type, (0,), attributes[0])


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
