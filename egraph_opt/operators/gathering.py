"""Operators that take single elements, or rows, by tensors of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Axis

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _elements_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("GatherElements", (0, 1), (("axis", attributes[0]),)) if opset >= 11 else None


@operator(form=_elements_form)
def gather_elements(x: Tensor, indices: Tensor, axis: Axis) -> Tensor:
    """For each place of `indices` the element of x there, but at the index along an axis (0 or more)."""


@lowers("GatherElements")
def _lower_elements(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    return TermSpec("gather_elements", (node.attribute("axis") % rank,), (0, 1)) if rank else None


def _nd_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("GatherND", (0, 1), (("batch_dims", attributes[0]),)) if opset >= 12 else None


@operator(form=_nd_form)
def gather_nd(x: Tensor, indices: Tensor, axis: Axis) -> Tensor:
    """Slices of x at the rows of `indices`; the axes before `axis` are batches.  Laws write it only."""
