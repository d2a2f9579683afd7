"""Wrong laws of blocks, and of operators that a file declares for itself: LRN and OneHot.

A declared operator is one for the whole process, so `wrong_laws` leaves these out: they are imported where
nothing else is tested.  `python -m tests.wrong.own` computes their witnesses.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.laws import Settings, Tensor
from egraph_opt.operators import OnnxForm, TermSpec, blockwise, lowers, operator


def _form(op_type: str, operands: int = 1) -> Any:
    return lambda opset, attributes, facts: OnnxForm(op_type, tuple(range(operands)), attributes[0])


def depth_to_space(x: Tensor, settings: Settings) -> Any:
    """Channels become blocks of a plane; `settings`: blocksize and mode."""
    return blockwise("DepthToSpace", x, settings)


def space_to_depth(x: Tensor, settings: Settings) -> Any:
    """Blocks of a plane become channels; `settings`: blocksize."""
    return blockwise("SpaceToDepth", x, settings)


@operator(form=_form("LRN"))
def lrn(x: Tensor, settings: Settings) -> Tensor:
    """Each element by a power of the squares of its neighbours in other channels."""


@operator(form=_form("OneHot", 3))
def one_hot(indices: Tensor, depth: Tensor, values: Tensor, settings: Settings) -> Tensor:
    """values[1] at each index, values[0] elsewhere, along a new axis; `settings`: axis."""


@lowers("LRN")
def _lrn(node: Any) -> TermSpec:
    return TermSpec("lrn", (node.settings(),), (0,))


@lowers("OneHot")
def _one_hot(node: Any) -> TermSpec:
    return TermSpec("one_hot", (node.settings(),), (0, 1, 2))
