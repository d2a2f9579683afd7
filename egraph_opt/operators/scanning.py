"""Operators that work along an axis step by step, and Resize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.operators.declaration import Attributes, Literal, OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def _cumsum_form(opset: int, attributes: tuple[Attributes], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm("CumSum", (0, 1), attributes[0]) if opset >= 11 else None


@operator(form=_cumsum_form)
def cumsum(x: Tensor, axis: Tensor, settings: Settings) -> Tensor:
    """Sums of all elements of x up to each one along an axis; `settings`: exclusive and reverse."""


@lowers("CumSum")
def _lower_cumsum(node: NodeReader) -> TermSpec | None:
    return TermSpec("cumsum", (node.settings(),), (0, 1))


def _resize_form(opset: int, attributes: tuple[Attributes], facts: tuple[Fact, ...]) -> OnnxForm | None:
    """Absent operands at the end are left out; opset 10 has x and scales only, older ones have Upsample."""
    if opset < 10:
        return _upsample_form(opset, attributes[0], facts)
    if opset < 11:
        return OnnxForm("Resize", (0, 2), attributes[0])
    given = max(k for k, known in enumerate(facts) if known != ABSENT)
    return OnnxForm("Resize", tuple(range(given + 1)), attributes[0])


def _upsample_form(opset: int, settings: Attributes, facts: tuple[Fact, ...]) -> OnnxForm | None:
    """Opset 9 has scales as an operand, opset 7 as an attribute."""
    scales = facts[2]
    if opset == 9:
        return None if scales == ABSENT else OnnxForm("Upsample", (0, 2), settings)
    if opset < 7 or scales.data is None:
        return None
    return OnnxForm("Upsample", (0,), (*settings, ("scales", tuple(map(float, scales.data)))))


@operator(form=_resize_form)
def resize(x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, settings: Settings) -> Tensor:
    """x at another resolution; `settings`: the attributes of Resize, sorted, defaults filled in.

    Before opset 10 it is Upsample, which has a mode only.
    """


@lowers("Resize")
def _lower_resize(node: NodeReader) -> TermSpec | None:
    places = (0, None, 1, None) if node.opset < 11 else range(4)
    operands = tuple(k if k is not None and node.has(k) else None for k in places)
    return TermSpec("resize", (node.settings(),), operands)


@lowers("Upsample")
def _lower_upsample(node: NodeReader) -> TermSpec | None:
    settings = (("mode", node.attribute("mode")),)
    if node.opset == 9:
        return TermSpec("resize", (settings,), (0, None, 1, None))
    scales = node.attribute("scales")
    if node.opset < 7 or not scales:
        return None
    numbers = TermSpec("literal", (Literal(TensorProto.FLOAT, (len(scales),), tuple(scales)),), ())
    return TermSpec("resize", (settings,), (0, None, numbers, None))
