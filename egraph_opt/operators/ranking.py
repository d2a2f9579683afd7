"""Operators that put elements in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from egraph_opt.facts.fact import UNKNOWN, Fact
from egraph_opt.inference.core import infer_node
from egraph_opt.operators.declaration import Literal, OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Bundle, Int, Tensor
from egraph_opt.operators.sorts import Axis, Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _top_form(opset: int, attributes: tuple[int, int, Settings], facts: tuple[Fact, ...]) -> OnnxForm | None:
    count, axis, settings = attributes
    if opset < 11:
        return None
    places = Literal(TensorProto.INT64, (1,), (count,))
    return OnnxForm("TopK", (0, places), tuple(sorted((*settings, ("axis", axis)))))


def _infer_top(opset: int, attributes: tuple[int, int, Settings], facts: tuple[Fact, ...]) -> Any:
    form = _top_form(opset, attributes, facts)
    if form is None:
        return UNKNOWN, UNKNOWN
    count = Fact(TensorProto.INT64, (1,), const=True, value=attributes[:1])
    return infer_node("TopK", "", form.attributes, (facts[0], count), 2, opset=opset)


@operator(form=_top_form, infer=_infer_top)
def top(x: Tensor, count: Int, axis: Axis, settings: Settings) -> Bundle:
    """The greatest elements along an axis (0 or more), and where they are: `count` of each, known.

    `settings`: largest and sorted.
    """


@lowers("TopK")
def _lower_top(node: NodeReader) -> TermSpec | None:
    x, count = node.fact(0), (node.fact(1).value or (None,)) if node.has(1) else (None,)
    if not x.rank or not isinstance(count[0], int):
        return None
    settings = tuple((name, value) for name, value in node.settings() if name != "axis")
    return TermSpec("top", (count[0], node.attribute("axis") % x.rank, settings), (0,), (1,))
