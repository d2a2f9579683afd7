"""Nodes as models of their own: what is timed is the node that the key says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView, Parts
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.specimen import UnmeasurableError, specimen_key, specimen_of
from egraph_opt.measurement.timing import Specimen

X = Fact(TensorProto.FLOAT, (1, 4, 8))


def outputs_of(specimen: Specimen) -> list[np.ndarray]:
    return RuntimeSetting(level="disable").session(specimen.model).run(None, dict(specimen.feeds))


def test_a_node_runs_on_operands_of_its_types_and_sizes() -> None:
    weight = Fact(TensorProto.FLOAT, (8, 3), const=True)
    view = NodeView("MatMul", "", {}, (X, weight), (Fact(TensorProto.FLOAT, (1, 4, 3)),), opset=17)
    specimen = specimen_of(view)
    model = onnx.load_from_string(specimen.model)
    assert [tensor.name for tensor in model.graph.initializer] == ["x1"]
    assert specimen.feeds["x0"].shape == (1, 4, 8)
    assert outputs_of(specimen)[0].shape == (1, 4, 3)


def test_known_integers_are_operands_as_they_are() -> None:
    shape = Fact(TensorProto.INT64, (2,), const=True, value=(8, 4), data=(8, 4))
    view = NodeView("Reshape", "", {}, (X, shape), (Fact(TensorProto.FLOAT, (8, 4)),), opset=17)
    assert outputs_of(specimen_of(view))[0].shape == (8, 4)
    other = replace(shape, value=(4, 8), data=(4, 8))
    assert specimen_key(view) != specimen_key(replace(view, inputs=(X, other)))


def test_the_key_leaves_out_what_a_time_does_not_depend_on() -> None:
    weight = Fact(TensorProto.FLOAT, (8,), const=True, splat=2.0)
    view = NodeView("Mul", "", {}, (X, weight), (X,), opset=17)
    assert specimen_key(view) == specimen_key(replace(view, inputs=(X, replace(weight, splat=3.0))))
    assert specimen_key(view) == specimen_key(replace(view, opset=14)), "the operator is that of opset 14"
    assert specimen_key(view) != specimen_key(replace(view, opset=13 - 1))
    assert specimen_key(view) != specimen_key(replace(view, inputs=(X, replace(weight, const=False))))
    assert json.loads(specimen_key(view))[1] == "Mul"


def test_an_exponent_is_part_of_the_key() -> None:
    two = Fact(TensorProto.FLOAT, (), const=True, splat=2.0)
    view = NodeView("Pow", "", {}, (X, two), (X,), opset=17)
    assert specimen_key(view) != specimen_key(replace(view, inputs=(X, replace(two, splat=0.3))))


def test_floats_have_both_signs() -> None:
    """PRelu takes a branch by the sign: on positive numbers alone it looks seven times as fast."""
    x = Fact(TensorProto.FLOAT, (64,))
    view = NodeView("PRelu", "", {}, (x, x), (x,), opset=17)
    values = specimen_of(view).feeds["x0"]
    assert 0.2 < (values < 0).mean() < 0.8


def test_a_pseudo_operator_is_the_nodes_that_it_stands_for() -> None:
    bias = Fact(TensorProto.FLOAT, (8,), const=True)
    add = NodeView("Add", "", {}, (X, bias), (X,), opset=17)
    relu = NodeView("Relu", "", {}, (X,), (X,), opset=17)
    parts = Parts((X, ABSENT, bias), (add, relu), ((0, 2), (3,)))
    view = NodeView("Kernel", "egraph_opt.pseudo", {}, (X, bias), (X,), opset=17, parts=parts)
    specimen = specimen_of(view)
    assert [node.op_type for node in onnx.load_from_string(specimen.model).graph.node] == ["Add", "Relu"]
    assert (outputs_of(specimen)[0] >= 0).all()
    crossed = replace(parts, sources=((2, 0), (3,)))
    assert specimen_key(view) != specimen_key(replace(view, parts=crossed))


def test_all_pieces_of_a_split_are_written() -> None:
    sizes = Fact(TensorProto.INT64, (3,), const=True, value=(2, 2, 4), data=(2, 2, 4))
    first = Fact(TensorProto.FLOAT, (1, 4, 2))
    view = NodeView("Split", "", {"axis": 2}, (X, sizes), (first,), opset=17)
    assert [piece.shape for piece in outputs_of(specimen_of(view))] == [(1, 4, 2), (1, 4, 2), (1, 4, 4)]


@pytest.mark.parametrize(
    "view",
    [
        NodeView("Relu", "", {}, (Fact(TensorProto.FLOAT, ("N", 3)),), (X,), opset=17),
        NodeView("Relu", "", {}, (Fact(TensorProto.FLOAT, None),), (X,), opset=17),
        NodeView("Relu", "", {}, (Fact(0, (3,)),), (X,), opset=17),
        NodeView("Relu", "", {}, (Fact(TensorProto.FLOAT, (1 << 30,)),), (X,), opset=17),
        NodeView("Loop", "", {}, (), (X,), body_cost=3.0, opset=17),
        NodeView("Kernel", "egraph_opt.pseudo", {}, (X,), (X,), opset=17, parts=Parts((X,), (), ())),
    ],
    ids=["symbol", "rank", "type", "size", "body", "nothing"],
)
def test_what_cannot_be_made_is_refused_with_a_reason(view: NodeView) -> None:
    with pytest.raises(UnmeasurableError, match=r"\w"):
        specimen_of(view)
