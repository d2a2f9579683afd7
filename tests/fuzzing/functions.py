"""Functions of the model's own: a few nodes that are called once or twice, with attributes that calls give."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from .drawing import Drawing, Value

DOMAIN = "fuzz.functions"


def _define(g: Drawing, name: str) -> None:
    """One of a few bodies, of one or two operands."""
    steps = {
        "Scaled": (["x", "s"], [("Mul", ["x", "s"], ["t"]), ("Add", ["t", "s"], ["y"])]),
        "Gated": (["x"], [("Sigmoid", ["x"], ["t"]), ("Mul", ["x", "t"], ["y"])]),
        "Turned": (["x"], [("Transpose", ["x"], ["t"]), ("Relu", ["t"], ["u"]), ("Transpose", ["u"], ["y"])]),
        "Twice": (["x"], [("Add", ["x", "x"], ["y"])]),
        "Leaky": (["x"], [("LeakyRelu", ["x"], ["y"])]),
    }
    inputs, body = steps[name]
    nodes = [helper.make_node(op, read, made) for op, read, made in body]
    attributes = []
    if name == "Leaky":
        nodes[0].attribute.append(
            onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
        )
        attributes = ["slope"]
    opsets = [helper.make_opsetid("", g.opset)]
    made = helper.make_function(DOMAIN, name, inputs, ["y"], nodes, opsets, attributes)
    g.functions.append(made)
    g.foreign[DOMAIN] = 1


def called(g: Drawing) -> None:
    """A call of a function, which is defined if it is not yet."""
    name = g.one_of(("Scaled", "Gated", "Turned", "Twice", "Leaky"))
    x = g.pick(dtype=np.float32)
    if name not in {function.name for function in g.functions}:
        _define(g, name)
    for _ in range(g.integer(1, 2)):
        operands: list[Value] = [x]
        if name == "Scaled":
            operands.append(g.constant(g.elements(x.shape[-1:] if all(x.static[-1:]) else (), x.dtype)))
        x = g.node(name, operands, domain=DOMAIN, slope=0.25 if name == "Leaky" else None)[0]


MOTIFS = {called: 0.5}
