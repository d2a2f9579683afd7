"""A model in onnxruntime, or, where that has no kernel or would end the process, in ONNX's reference."""

from __future__ import annotations

import numpy as np
import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from egraph_opt.check.feeds.inputs import Feeds
from egraph_opt.check.feeds.roles import divides_integers
from egraph_opt.check.judging.reference import Outputs, Reference
from egraph_opt.forking import cached_property
from egraph_opt.graph.arena import share_memory
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.model.left_out import lacks_an_operand

CRASHES_ON_NOTHING = frozenset(
    {"ConvTranspose", "Einsum", "GRU", "InstanceNormalization", "LSTM", "RoiAlign"}
)
"""Operators with which onnxruntime ends the process where an operand has no elements (seen in 1.2x)."""

MOST_OF_A_SETTING = 2**20
"""Onnxruntime makes an LRN room for its `size`, beyond all memory where that is the greatest number."""


class TermRunner:
    """A model in an evaluator.

    Raises:
        Exception: onnxruntime does not load it; its errors share no base class.
    """

    def __init__(self, model: onnx.ModelProto, *, by_reference: bool = False) -> None:
        if any(map(lacks_an_operand, model.graph.node)):
            raise ValueError("an operand is left out where the operator needs it")  # some kernels look for it
        if any(a.i > MOST_OF_A_SETTING for n in model.graph.node if n.op_type == "LRN" for a in n.attribute):
            raise MemoryError("an LRN over as many channels")
        self.model, self.session, self.lacks_kernel = model, None, False
        if not by_reference and not divides_integers(model):
            try:
                self.session = plain_session(
                    model.SerializeToString(), share_memory(plain_options(threads=1))
                )
            except NoKernel:
                self.lacks_kernel = True
                if any(node.domain for node in model.graph.node):
                    raise
        self._plain = Reference(model, wide=False) if self.session is None else None

    @cached_property
    def holds_nothing(self) -> bool:
        """Whether a constant of the model has no elements, or a value that is said to have none."""
        graph = self.model.graph
        said = (value.type.tensor_type.shape.dim for value in (*graph.output, *graph.value_info))
        nothing = any(d.HasField("dim_value") and not d.dim_value for dims in said for d in dims)
        return nothing or any(0 in tensor.dims for tensor in graph.initializer)

    @property
    def by_reference(self) -> bool:
        return self.session is None

    def run(self, feeds: Feeds) -> Outputs:
        if self.session is None:
            assert self._plain is not None
            return self._plain.run(feeds)
        empty = self.holds_nothing or any(array.size == 0 for array in feeds.values())
        if empty and _crashes_on_nothing(self.model):
            raise RuntimeError("onnxruntime ends the process on it")
        return [np.asarray(output) for output in self.session.run(None, feeds)]


def _crashes_on_nothing(model: onnx.ModelProto) -> bool:
    """Whether onnxruntime may end the process where an operand is empty, which a computed kernel may be."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return any(
        node.op_type in CRASHES_ON_NOTHING
        or (node.op_type in ("Conv", "ConvTranspose") and node.input[1] not in constants)
        for node in model.graph.node
    )
