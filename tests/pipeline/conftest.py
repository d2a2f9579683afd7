"""A model that several files look at."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

HEADS = """
<ir_version: 8, opset_import: ["" : 17]>
heads (float[2, 8, 16] x) => (float[2, 8, 16] y)
{
    [query] q = MatMul (x, wq)
    k = MatMul (x, wk)
    v = MatMul (x, wv)
    kt = Transpose <perm = [0, 2, 1]> (k)
    s = MatMul (q, kt)
    a = Softmax <axis = -1> (s)
    y = MatMul (a, v)
}
"""


@pytest.fixture(scope="module")
def heads() -> ModelProto:
    """Three products of one operand, which are cheaper as one."""
    model = parser.parse_model(HEADS)
    random = np.random.default_rng(0)
    for name in ("wq", "wk", "wv"):
        weight = random.normal(size=(16, 16)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model
