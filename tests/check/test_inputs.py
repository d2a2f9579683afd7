"""The inputs of a term hold the values of the tables."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.check.feeds.inputs import Inputs
from egraph_opt.check.feeds.kinds import BY_CLASS


@cache
def values(op: str, dtype: int, numerics: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """All that the two inputs of an operator hold, over all kinds of inputs of a class of laws."""
    shape = (2, 3)
    given = [helper.make_tensor_value_info(name, dtype, shape) for name in "xy"]
    node, result = helper.make_node(op, ["x", "y"], ["z"]), helper.make_tensor_value_info("z", dtype, shape)
    model = helper.make_model(helper.make_graph([node], "g", given, [result]))
    inputs = Inputs(onnx.shape_inference.infer_shapes(model))
    feeds = [each for kind in BY_CLASS[numerics] for each in inputs.feeds({}, kind)]
    return tuple(np.concatenate([each[name].ravel() for each in feeds]) for name in "xy")


def test_special_floats_are_tried_where_every_bit_is_promised() -> None:
    both = values("Add", TensorProto.FLOAT, "bitwise")
    for found in both:
        assert np.isnan(found).any()
        assert (np.signbit(found) & (found == 0)).any()
        assert ((found != 0) & (np.abs(found) < np.finfo(np.float32).tiny)).any()
    assert {np.inf, -np.inf} <= set(np.concatenate(both).tolist())


@pytest.mark.parametrize("numerics", ["bitwise", "reassociates"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_reach_both_ends_of_their_type(dtype: Any, numerics: str) -> None:
    info, kind = np.iinfo(dtype), helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    far = {2**31, 2**53 + 1} if dtype == np.int64 else set[int]()
    for found in values("Add", kind, numerics):
        assert {info.min, -1, 0, 1, info.max, *far} <= set(found.tolist())
