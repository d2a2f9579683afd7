"""Which nodes a graph may be given: those that the standard has of their types, and onnxruntime where it can.

A result runs where the original does.  Where onnxruntime has kernels for all of the original, no node is
written that it has none for; a model for other runtimes, which it does not take, is not held to that.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.facts.fact import Fact
from egraph_opt.forking import cached_property
from egraph_opt.inference.kernels import COMMON, Types, has_kernel, takes_types
from egraph_opt.operators.declaration import OnnxForm
from egraph_opt.operators.typing import types_of


class Kernels:
    """What computes the nodes of a graph, and of what is made of it.

    Args:
        any_types: nodes of any types count as computed.
    """

    def __init__(self, lowered: Lowered, *, any_types: bool = False) -> None:
        self._lowered, self._any_types = lowered, any_types

    def compute(self, form: OnnxForm, inputs: Sequence[Fact | None], results: Sequence[Fact]) -> bool:
        """Whether a node that laws wrote is computed by anything."""
        if self._any_types:
            return True
        operands, made = types_of(inputs), types_of(results)
        if not takes_types(form.op_type, form.domain, operands, self._lowered.opset):
            return False
        if form.domain or not _is_seldom(operands + made):
            return True
        return not self._runs or has_kernel(form.op_type, operands, made, self._lowered.opset)

    @cached_property
    def _runs(self) -> bool:
        """Whether onnxruntime has kernels for the original."""
        lowered = self._lowered

        def types(values: Sequence[ir.Value | None]) -> Types:
            terms = [None if value is None else lowered.term_of.get(value) for value in values]
            return types_of([None if term is None else lowered.facts[term] for term in terms])

        return all(
            has_kernel(node.op_type, types(node.inputs), types(node.outputs), lowered.opset)
            for node in lowered.graph
            if node.domain in ("", "ai.onnx")
        )


def _is_seldom(dtypes: Types) -> bool:
    return any(dtype and dtype > 0 and dtype not in COMMON for dtype in dtypes)
