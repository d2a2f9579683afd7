"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.inference.core import infer_node
from egraph_opt.operators.declaration import Attributes, OnnxForm, TermSpec, attribute_class, lowers, operator
from egraph_opt.operators.expressions import Bundle, Tensor, Tensors

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
"""How many rows of the weights belong to one hidden unit."""

INPUTS = {"GRU": 6, "LSTM": 8, "RNN": 6}
"""How many operands each has."""

OUTPUTS = {"GRU": 2, "LSTM": 3, "RNN": 2}
"""How many outputs each has."""


@attribute_class
@dataclass(frozen=True)
class RecurrentLayer:
    """Which recurrent operator it is, and the attributes of its node."""

    kind: str
    settings: Attributes

    @property
    def direction(self) -> str:
        """forward, reverse or bidirectional."""
        return str(dict(self.settings)["direction"])


_ORDER = (0, 1, 2, 3, 5, 6, 7, 4)
"""Which of the term's operands each input of the node is."""


def _recurrent_form(opset: int, attributes: tuple[RecurrentLayer], facts: tuple[Fact, ...]) -> OnnxForm:
    """Absent operands at the end are left out."""
    (layer,) = attributes
    inputs = [None if facts[k] == ABSENT else k for k in _ORDER[: INPUTS[layer.kind]]]
    while inputs[-1] is None:
        inputs.pop()
    return OnnxForm(layer.kind, tuple(inputs), layer.settings)


def _infer_recurrent(opset: int, attributes: tuple[RecurrentLayer], facts: tuple[Fact, ...]) -> Any:
    form = _recurrent_form(opset, attributes, facts)
    given = tuple(facts[k] if isinstance(k, int) else None for k in form.inputs)
    return infer_node(form.op_type, "", form.attributes, given, OUTPUTS[form.op_type], opset=opset)


@operator(form=_recurrent_form, infer=_infer_recurrent)
def recurrent(
    x: Tensor, weights: Tensors, lengths: Tensor, hidden: Tensor, cell: Tensor, layer: RecurrentLayer
) -> Bundle:
    """RNN, GRU or LSTM of x: [steps, batch, features]; `layer` is a `RecurrentLayer`.

    `weights` are the input weight, the recurrence weight, the bias and an LSTM's peepholes; only an LSTM has
    those and a cell state.  Outputs: all steps [steps, directions, batch, hidden], the last state
    [directions, batch, hidden] and an LSTM's last cell state.
    """


@lowers(*INPUTS)
def _lower_recurrent(node: NodeReader) -> TermSpec | None:
    settings = node.settings()
    if dict(settings).get("layout") or any(node.fact(k).rank != 3 for k in range(3)):
        return None
    x, w, r, b, lengths, hidden, cell, peepholes = (k if node.has(k) else None for k in range(8))
    return TermSpec(
        "recurrent",
        (RecurrentLayer(node.op_type, settings),),
        (x, (w, r, b, peepholes), lengths, hidden, cell),
    )
