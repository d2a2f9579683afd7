"""A result runs on a batch of nothing where the original does: no dim is inferred (-1) beside a copied 0.

Where the original refuses such a batch itself, or dims are assumed to be 1 or more, dims are inferred.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper

from egraph_opt.graph.runtime import plain_session

from .graphs import check_settled, outcome
from .test_dynamic_reshape import INT64, ONE, Shapes, targets


def shapes_of(*models: onnx.ModelProto, **sizes: int) -> list[tuple[int, ...]]:
    """The shape of the output of each on zeros."""
    feeds = {}
    for entry in models[0].graph.input:
        tensor = entry.type.tensor_type
        dims = [dim.dim_value or sizes[dim.dim_param] for dim in tensor.shape.dim]
        feeds[entry.name] = np.zeros(dims, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    sessions = (plain_session(model.SerializeToString()) for model in models)
    return [session.run(None, feeds)[0].shape for session in sessions]


@pytest.mark.parametrize(
    ("dims", "wanted", "nodes"),
    [
        (["N", 4, "L"], (0, (2, 2), 2), 2),
        (["N", "L", 12], (0, (1,), 1, (3, 4)), 2),
        (["N", "L", "M"], (0, "Mul"), 1),
        (["N", 3, "L", 5], ("Mul", (3, 5)), 2),
        (["N", "L", 12], (0, 1, (3, 4)), 1),
    ],
)
def test_a_batch_of_nothing_is_viewed_as_it_was(
    dims: list[int | str], wanted: tuple[int | tuple[int, ...] | str, ...], nodes: int
) -> None:
    """No dim is inferred beside the copy of a 0, which onnxruntime refuses."""
    g = Shapes(x=dims)
    at = (0, 2) if wanted[0] == "Mul" else (1, 2)
    parts = [g.add("Mul", *(g.dim("x", k) for k in at)) if part == "Mul" else part for part in wanted]
    model = g.model(g.add("Reshape", "x", g.target("x", *parts)))
    made = outcome(model).model
    assert len([node for node in made.graph.node if node.op_type != "Constant"]) <= nodes
    for batch in (0, 2):
        expected, found = shapes_of(model, made, N=batch, L=3, M=4)
        assert found == expected


def _pixels(g: Shapes, x: str = "x") -> str:
    return g.add("Reshape", x, g.target(x, 0, (3,), g.add("Mul", g.dim(x, 2), g.dim(x, 3))))


def _heads_together(g: Shapes) -> str:
    return g.add("Reshape", "x", g.target("x", 0, g.add("Mul", g.dim("x", 1), g.dim("x", 2)), 3))


def _groups_of_queries(g: Shapes) -> str:
    """Keys of one head for three: the rows of three heads would be inferred beside the batch."""
    keys = g.add("Unsqueeze", g.input("keys", ["N", 1, "W", 5]), g.constant([2]))
    repeated = g.add("Expand", keys, g.constant([1, 1, 3, 1, 1]))
    shape = g.target("x", 0, (3,), 3, (5,))
    return g.add("MatMul", "x", g.add("Reshape", repeated, shape))


@pytest.mark.parametrize("made", [_pixels, _heads_together, _groups_of_queries])
def test_no_dim_is_inferred_beside_a_batch_that_may_be_nothing(made: Callable[[Shapes], str]) -> None:
    g = Shapes(x=["N", 3, "H", "W"])
    model = g.model(made(g))
    found = outcome(model).model
    for batch in (0, 2):
        expected, shape = shapes_of(model, found, N=batch, H=4, W=6)
        assert shape == expected


def test_it_is_where_the_original_refuses_such_a_batch() -> None:
    g = Shapes(x=["N", 3, "H", "W"])
    flat = g.add("Sin", g.add("Reshape", "x", g.constant([0, -1, 3])))
    assert outcome(g.model(_pixels(g), flat)).counts == Counter(Reshape=2, Sin=1)
    g = Shapes(x=["N", 3, "H", "W"])
    pixels = outcome(g.model(_pixels(g)), assume={"N": (1, 8)})
    assert (pixels.counts, targets(pixels.model)) == (ONE, [[0, 3, -1]])


@pytest.mark.parametrize("operator", ["Conv", "MaxPool"])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_the_batch_itself_is_inferred_of_images_that_have_pixels(operator: str, cost: str) -> None:
    """onnxruntime convolves and pools no image without rows."""
    g = Shapes(x=["N", 3, "H", "W"])
    window = {"kernel_shape": [3, 3], "pads": [1] * 4}
    y = g.add(operator, "x", *([g.weight(3, 3, 3, 3)] if operator == "Conv" else []), **window)
    model = g.model(g.add("Relu", _pixels(g, y)))
    result = outcome(model, cost)
    assert result.counts == Counter([operator, "Relu", "Flatten", "Unsqueeze", "Reshape"])
    assert targets(result.model) == [[-1, 3, 0]]
    for batch in (0, 2):
        expected, found = shapes_of(model, result.model, N=batch, H=4, W=6)
        assert found == expected


def test_pixels_there_and_back_need_no_target() -> None:
    g = Shapes(x=["N", 3, "H", "W"])
    back = g.add("Reshape", g.add("Relu", _pixels(g)), g.add("Shape", "x"))
    assert check_settled(g.model(back)) == Counter(Relu=1)


def test_integers_of_old_opsets_have_no_flatten() -> None:
    g = Shapes()
    g.opset = 8
    g.input("x", ["N", 3, "L", 5], INT64)
    rows = g.vector(g.add("Mul", g.dim("x", 2), g.constant(15)))
    y = g.add("Reshape", "x", g.add("Concat", g.vector(g.dim("x", 0)), rows, axis=0))
    out = helper.make_tensor_value_info(y, INT64, ["N", "M"])
    graph = helper.make_graph(g._nodes, "graph", g._inputs, [out], g._constants)
    opsets = [helper.make_opsetid("", 8)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=4)
    assert shapes_of(model, outcome(model).model, N=0, L=2) == [(0, 30)] * 2
