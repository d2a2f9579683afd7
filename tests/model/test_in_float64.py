"""Models with floats of 64 bits instead of fewer."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, parser

from egraph_opt.check.judging.reference import Reference
from egraph_opt.model.in_float64 import in_float64

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (float[2, 4] x) => (float[2, 4] y) {
    c = Constant <value_float = 0.1> ()
    s = Constant <value = float[4] {1, 2, 3, 4}> ()
    n = LayerNormalization <axis = -1, stash_type = 1> (x, s)
    h = Cast <to = 10> (n)
    w = Cast <to = 1> (h)
    y = Mul (w, c)
}"""


def test_inputs_constants_and_casts_are_wide_and_other_types_stay() -> None:
    model = parser.parse_model(MODEL)
    wide = in_float64(model)
    types = {"x": wide.graph.input[0], "y": wide.graph.output[0]}
    assert {v.type.tensor_type.elem_type for v in types.values()} == {TensorProto.DOUBLE}
    constants = [a.t.data_type for node in wide.graph.node for a in node.attribute if a.HasField("t")]
    assert constants == [TensorProto.DOUBLE, TensorProto.DOUBLE]
    casts = [a.i for node in wide.graph.node for a in node.attribute if a.name == "to"]
    assert casts == [TensorProto.FLOAT16, TensorProto.DOUBLE]
    assert model == parser.parse_model(MODEL)
    narrow = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
    casts = [a.i for node in in_float64(model, narrow).graph.node for a in node.attribute if a.name == "to"]
    assert casts == [TensorProto.DOUBLE, TensorProto.DOUBLE]


def test_the_reference_computes_normalizations_that_say_what_they_compute_in() -> None:
    model: onnx.ModelProto = parser.parse_model(MODEL)
    (found,) = Reference(model).run({"x": np.arange(8, dtype=np.float32).reshape(2, 4)})
    assert found.dtype == np.float64 and found.shape == (2, 4)
