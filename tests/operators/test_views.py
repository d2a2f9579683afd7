"""How a Reshape to known dims is written."""

from __future__ import annotations

import itertools
import math

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Shape
from egraph_opt.operators.views import reshape_target
from egraph_opt.pipeline import optimize

DIMS: Shape = (0, 2, 3, "N")
SHAPES: list[Shape] = [shape for rank in (1, 2, 3) for shape in itertools.product(DIMS, repeat=rank)]


def numbers(shape: Shape) -> tuple[int, ...]:
    return tuple(5 if dim == "N" else int(dim or 0) for dim in shape)


def reshaped(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """What Reshape gives; 0 copies, nothing is inferred beside a 0."""
    dims = [source[k] if written == 0 else written for k, written in enumerate(target)]
    if -1 in dims:
        rest = math.prod(dim for dim in dims if dim != -1)
        assert rest != 0
        dims[dims.index(-1)] = math.prod(source) // rest
    return tuple(dims)


def test_the_operand_of_a_reshape_says_its_dims() -> None:
    written = 0
    for source, dims in itertools.product(SHAPES, SHAPES):
        if symbolic.product(source) != symbolic.product(dims):
            continue
        target = reshape_target(source, dims)
        if target is not None:
            assert reshaped(numbers(source), target) == numbers(dims), (source, dims, target)
            written += 0 in dims
    assert written > 100


COMPUTED: dict[Shape, str] = {("N", 0): "n, half", ("N", 0, 2, 4): "n, half, two, four"}
"""How (N, 0, 4) comes to have these dims."""


@pytest.mark.parametrize("opset", [13, 14, 21])
@pytest.mark.parametrize("dims", COMPUTED)
def test_a_reshape_without_elements_loads_with_the_optimizations_of_the_runtime(
    dims: Shape, opset: int
) -> None:
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[N, 0, 4] x) => (float[{", ".join("?" * len(dims))}] y)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64[1] four = {{4}}> {{
            s = Shape(x)
            n = Slice(s, zero, one, zero)
            h = Slice(s, one, two, zero)
            half = Div(h, two)
            t = Concat<axis = 0>({COMPUTED[dims]})
            y = Reshape(x, t)
        }}""")
    result = optimize(model, cost="nodes")
    assert [node.op_type for node in result.model.graph.node] == ["Reshape"]
    session = ort.InferenceSession(result.model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.zeros((5, 0, 4), np.float32)})
    assert y.shape == numbers(dims)
