"""Blocks of a plane as channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import Attributes, OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import String, Tensor
from egraph_opt.operators.sorts import Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _blockwise_form(
    opset: int, attributes: tuple[str, Attributes], facts: tuple[Fact, ...]
) -> OnnxForm | None:
    """Opsets before 11 have one mode of DepthToSpace, DCR."""
    op_type, settings = attributes
    if op_type == "DepthToSpace" and opset < 11:
        if dict(settings)["mode"] != "DCR":
            return None
        settings = tuple(pair for pair in settings if pair[0] != "mode")
    return OnnxForm(op_type, (0,), settings)


@operator(form=_blockwise_form, op_types=("DepthToSpace", "SpaceToDepth"))
def blockwise(op: String, x: Tensor, settings: Settings) -> Tensor:
    """DepthToSpace or SpaceToDepth of x: [N, C, H, W]; `settings`: blocksize, and mode of the first."""


@lowers("DepthToSpace", "SpaceToDepth")
def _lower_blockwise(node: NodeReader) -> TermSpec | None:
    if node.fact(0).rank != 4:
        return None
    size = ("blocksize", node.attribute("blocksize"))
    if size[1] == 1:
        return TermSpec("identity", (), (0,))
    if node.op_type == "SpaceToDepth":
        return TermSpec("blockwise", (node.op_type, (size,)), (0,))
    mode = (node.attribute("mode") if node.opset >= 11 else None) or "DCR"
    return TermSpec("blockwise", (node.op_type, (size, ("mode", mode))), (0,))
