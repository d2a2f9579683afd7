"""What stands in for operators of ONNX's reference computes what onnxruntime does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from egraph_opt.check.judging.reference import Reference

PLACES: dict[str, dict[str, Any]] = {
    "pads": {"pads": [1, 0]},
    "upper": {"auto_pad": "SAME_UPPER"},
    "lower": {"auto_pad": "SAME_LOWER"},
    "valid": {"auto_pad": "VALID"},
    "shape": {"output_shape": [-1]},
    "shape and upper": {"output_shape": [-2], "auto_pad": "SAME_UPPER"},
}
"""Shapes are told by what they differ by from all that the kernel reaches."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("axes", [1, 2])
def test_a_transposed_convolution(axes: int, place: str) -> None:
    generator = np.random.default_rng(0)
    for group, stride, dilation in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        extra, where = stride - 1, dict(PLACES[place])
        if "pads" in where:
            where["pads"] = [n for n in where["pads"] for _ in range(axes)]
        if "output_shape" in where:
            full = stride * 3 + dilation * 2 + 1 + extra
            where["output_shape"] = [full + where["output_shape"][0]] * axes
        shapes = {"x": [2, 6, *[4] * axes], "w": [6, 2, *[3] * axes], "b": [2 * group]}
        feeds = {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        where |= {"strides": [stride] * axes, "dilations": [dilation] * axes}
        where |= {"output_padding": [extra] * axes, "group": group}
        node = helper.make_node("ConvTranspose", [*feeds], ["y"], **where)
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in feeds.items()]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph([node], "g", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        (expected,) = session.run(None, feeds)
        (found,) = Reference(model).run(feeds)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-4)
