"""The inputs of a term hold the values of the tables: every input all of them, whatever its shape."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.check.feeds.inputs import Inputs
from egraph_opt.check.feeds.kinds import BEYOND_FLOAT32, BY_CLASS, TABLES

SHAPES = ((2, 3), (), (1,), (3, 1), (1, 40))


@cache
def values(dtype: int, kinds: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], ...]:
    """All that the two inputs of a sum hold, over some kinds of inputs."""
    given = [helper.make_tensor_value_info(name, dtype, shape) for name in "xy"]
    node, result = (
        helper.make_node("Add", ["x", "y"], ["z"]),
        helper.make_tensor_value_info("z", dtype, shape),
    )
    model = helper.make_model(helper.make_graph([node], "g", given, [result]))
    inputs = Inputs(onnx.shape_inference.infer_shapes(model))
    feeds = [each for kind in kinds for each in inputs.feeds({}, kind)]
    return tuple(np.concatenate([each[name].ravel() for each in feeds]) for name in "xy")


def bits(array: Any) -> set[bytes]:
    return {element.tobytes() for element in np.asarray(array).ravel()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("kind", ["special", "every size", "moderate", "large"])
def test_every_input_holds_all_of_a_table(kind: str, dtype: int, shape: tuple[int, ...]) -> None:
    table = np.array(TABLES[kind], helper.tensor_dtype_to_np_dtype(dtype))
    more = BEYOND_FLOAT32.get(kind, ()) if dtype == TensorProto.DOUBLE else ()
    for found in values(dtype, (kind,), shape):
        assert bits(table) <= bits(found)
        assert set(more) <= set(found.tolist())


@pytest.mark.parametrize("kind", ["special", "every size", "moderate", "large"])
def test_elements_beside_those_of_a_table_are_ordinary(kind: str) -> None:
    for found in values(TensorProto.FLOAT, (kind,), (2, 3)):
        assert bits(found) - bits(np.array(TABLES[kind], np.float32))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("numerics", ["bitwise", "finite", "reassociates"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_integers_reach_both_ends_of_their_type(dtype: Any, numerics: str, shape: tuple[int, ...]) -> None:
    info, kind = np.iinfo(dtype), helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    wanted = {int(info.min), -1, 0, 1, 127, 2**31, 2**53 + 1, int(info.max)}
    for found in values(kind, BY_CLASS[numerics], shape):  # type: ignore[index]
        assert {n for n in wanted if info.min <= n <= info.max} <= set(found.tolist())
