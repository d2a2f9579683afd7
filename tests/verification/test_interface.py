"""What a model looks like from outside: every difference is told in words."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.verification import verify
from egraph_opt.verification.interface import differences, interface, type_text

from .models import model, weight

FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])


def told(before: onnx.ModelProto, after: onnx.ModelProto) -> str:
    return "; ".join(differences(interface(before), interface(after)))


def test_inputs_in_another_order_are_told() -> None:
    body = "(float[n] y) { y = Sub (x, z) }"
    before, after = (
        model(f"g ({inputs}) => {body}") for inputs in ("float[n] x, float[n] z", "float[n] z, float[n] x")
    )
    assert told(before, after) == "inputs are in another order: ['x', 'z'] became ['z', 'x']"
    assert verify(before, after).status == "failed"


def test_a_shape_that_is_no_longer_declared_is_told() -> None:
    before, after = (model("g (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }") for _ in range(2))
    after.graph.input[0].type.tensor_type.ClearField("shape")
    assert told(before, after) == "input 'x' was declared [n, 3] and is declared with any rank"
    after.graph.input[0].type.tensor_type.shape.dim.add()
    assert told(before, after) == "input 'x' was declared [n, 3] and is declared [?]"


def test_a_dim_of_minus_one_is_any() -> None:
    made = model("g (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }")
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert interface(made).inputs[0].shape == (None, 3)


def test_defaults_that_can_no_longer_be_overridden_are_told() -> None:
    text = "g (float[n, 4] x, float[4] b) => (float[n, 4] y) { y = Add (x, b) }"
    before, after = model(text, b=weight(4)), model(text, ir=3, b=weight(4))
    assert "can no longer be overridden" in told(before, after)
    assert told(after, before) == ""


@pytest.mark.parametrize(
    ("declared", "text", "kind"),
    [
        (helper.make_sequence_type_proto(FLOAT), "seq(float)", "sequence"),
        (
            helper.make_optional_type_proto(helper.make_sequence_type_proto(FLOAT)),
            "optional(seq(float))",
            "sequence",
        ),
        (helper.make_sequence_type_proto(helper.make_sequence_type_proto(FLOAT)), "seq(seq(float))", "other"),
        (helper.make_map_type_proto(TensorProto.INT64, FLOAT), "map(int64, float)", "map"),
        (helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [2]), "sparse(double)", "other"),
        (onnx.TypeProto(), "untyped", "other"),
        (helper.make_tensor_type_proto(999, [2]), "dtype 999", "tensor"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_type_has_a_text_and_a_kind(declared: onnx.TypeProto, text: str, kind: str) -> None:
    assert type_text(declared) == text
    made = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    made.graph.input[0].type.CopyFrom(declared)
    (spec,) = interface(made).inputs
    assert (spec.type, spec.kind) == (text, kind)
