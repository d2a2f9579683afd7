"""Operators that take single elements, or rows, by tensors of indices, or say where those are."""

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
    """Opset 12 brought the batches."""
    if opset >= 12:
        return OnnxForm("GatherND", (0, 1), (("batch_dims", attributes[0]),))
    return OnnxForm("GatherND", (0, 1)) if opset == 11 and attributes[0] == 0 else None


@operator(form=_nd_form)
def gather_nd(x: Tensor, indices: Tensor, axis: Axis) -> Tensor:
    """Slices of x at the rows of `indices`; the axes before `axis` are batches."""


@lowers("GatherND")
def _lower_nd(node: NodeReader) -> TermSpec:
    return TermSpec("gather_nd", (node.attribute("batch_dims") or 0,), (0, 1))


def _one_hot_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("OneHot", (0, 1, 2), (("axis", attributes[0]),)) if opset >= 9 else None


@operator(form=_one_hot_form)
def one_hot(indices: Tensor, depth: Tensor, values: Tensor, axis: Axis) -> Tensor:
    """`values[1]` at each index, counted from the end below 0, along a new axis (0 or more) of so many
    elements, and `values[0]` elsewhere: also for an index that is out of range."""


@lowers("OneHot")
def _lower_one_hot(node: NodeReader) -> TermSpec | None:
    rank = node.fact(0).rank
    return None if rank is None else TermSpec("one_hot", (node.attribute("axis") % (rank + 1),), (0, 1, 2))
