"""Blocks of a plane as channels: what laws write for views; nodes of a model are left as they are."""

from __future__ import annotations

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import Attributes, OnnxForm, operator
from egraph_opt.operators.expressions import String, Tensor
from egraph_opt.operators.sorts import Settings


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
