"""Sequences of several lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Int, Tensor

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _reverse_form(opset: int, attributes: tuple[int], facts: tuple[Fact, ...]) -> OnnxForm | None:
    (time,) = attributes
    settings = (("batch_axis", 1 - time), ("time_axis", time))
    return OnnxForm("ReverseSequence", (0, 1), settings) if opset >= 10 else None


@operator(form=_reverse_form)
def reverse_sequence(x: Tensor, lengths: Tensor, time: Int) -> Tensor:
    """The first so many elements of each sequence backwards: axis `time`, of batches along 1 - `time`."""


@lowers("ReverseSequence")
def _lower_reverse(node: NodeReader) -> TermSpec | None:
    time, batch = node.attribute("time_axis"), node.attribute("batch_axis")
    return TermSpec("reverse_sequence", (time,), (0, 1)) if {time, batch} == {0, 1} else None
