"""A detector's head at three scales: its anchors are constants as soon as height and width are known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import ModelProto, numpy_helper, parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.graph.node_counts import computed_from_constants

COSTS = ("nodes", "flops", "bytes", "ascend")
SHAPES = {"images": (1, 3, 320, 320)}
CHANNELS = (3, 8, 16, 16)

SCALE = """
    c{k} = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> ({image}, w{k})
    r{k} = Relu (c{k})
    h{k} = Conv (r{k}, v{k})
    shape{k} = Shape (h{k})
    batch{k} = Gather (shape{k}, zeros)
    rows{k} = Gather (shape{k}, two)
    columns{k} = Gather (shape{k}, three)
    y{k} = Range (zero, rows{k}, one)
    x{k} = Range (zero, columns{k}, one)
    yf{k} = Cast <to = 1> (y{k})
    xf{k} = Cast <to = 1> (x{k})
    yc{k} = Add (yf{k}, half)
    xc{k} = Add (xf{k}, half)
    yu{k} = Unsqueeze (yc{k}, ones)
    xu{k} = Unsqueeze (xc{k}, zeros)
    rs{k} = Unsqueeze (rows{k}, zeros)
    cs{k} = Unsqueeze (columns{k}, zeros)
    grid{k} = Concat <axis = 0> (rs{k}, cs{k})
    ye{k} = Expand (yu{k}, grid{k})
    xe{k} = Expand (xu{k}, grid{k})
    yl{k} = Unsqueeze (ye{k}, last)
    xl{k} = Unsqueeze (xe{k}, last)
    pairs{k} = Concat <axis = -1> (xl{k}, yl{k})
    points{k} = Reshape (pairs{k}, by_two)
    anchors{k} = Mul (points{k}, stride{k})
    target{k} = Concat <axis = 0> (batch{k}, six, last)
    flat{k} = Reshape (h{k}, target{k})
    boxes{k} = Transpose <perm = [0, 2, 1]> (flat{k})
    place{k}, rest{k} = Split <axis = 2> (boxes{k}, parts)
    moved{k} = Add (place{k}, anchors{k})
    sure{k} = Sigmoid (rest{k})
    out{k} = Concat <axis = 2> (moved{k}, sure{k})
"""


@pytest.fixture(scope="module")
def head() -> ModelProto:
    """Most of its nodes compute anchors from the sizes of the image."""
    scales = "".join(SCALE.format(k=k, image="images" if k == 0 else f"r{k - 1}") for k in range(3))
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
    head (float[batch, 3, height, width] images) => (float[batch, boxes, 6] out)
    <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 three = {{3}}, float half = {{0.5}},
     int64[1] zeros = {{0}}, int64[1] ones = {{1}}, int64[1] last = {{-1}}, int64[1] six = {{6}},
     int64[2] by_two = {{-1, 2}}, int64[2] parts = {{2, 4}}> {{
        {scales}
        out = Concat <axis = 1> (out0, out1, out2)
    }}""")
    rng = np.random.default_rng(0)
    for k, (before, after) in enumerate(pairwise(CHANNELS)):
        arrays = {
            f"w{k}": rng.normal(size=(after, before, 3, 3)) / 5,
            f"v{k}": rng.normal(size=(6, after, 1, 1)) / 5,
            f"stride{k}": np.asarray(2 ** (k + 1)),
        }
        model.graph.initializer.extend(
            numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()
        )
    onnx.checker.check_model(model, full_check=True)
    return model


def operators(model: ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("cost", COSTS)
def test_with_the_sizes_said_no_node_depends_on_constants_alone(head: ModelProto, cost: str) -> None:
    once = optimize(head, cost, input_shapes=SHAPES)
    assert once.report.verification.status == "passed"
    assert not computed_from_constants(ir.from_proto(once.model))
    assert operators(once.model).isdisjoint(("Shape", "Gather", "Range", "Expand", "Unsqueeze", "Cast"))
    again = optimize(once.model, cost, verify=False)
    assert again.report.status == "unchanged"
    assert [t.name for t in again.model.graph.initializer] == [t.name for t in once.model.graph.initializer]


def test_the_hint_of_a_head_with_free_sizes_keeps_its_word(head: ModelProto, tmp_path: Path) -> None:
    free = optimize(head, "nodes", verify=False)
    (hint,) = free.report.hints
    most = int(hint.rpartition(" leaves at most ")[2])
    shape = next(word for word in hint.split() if word.startswith("images:"))
    source, target = tmp_path / "head.onnx", tmp_path / "out.onnx"
    source.write_bytes(head.SerializeToString())
    done = CliRunner().invoke(app, ["optimize", str(source), str(target), "--input-shape", shape])
    assert done.exit_code == 0, done.output
    assert len(onnx.load(target).graph.node) <= most < free.report.nodes.after


def test_a_height_that_is_said_makes_the_rows_constant(head: ModelProto) -> None:
    part = optimize(head, "nodes", input_shapes={"images": {"batch": 1, "height": 320}}, verify=False)
    count = sum(node.op_type == "Range" for node in part.model.graph.node)
    assert count == 3  # of the columns
    assert [d.dim_value or d.dim_param for d in part.model.graph.input[0].type.tensor_type.shape.dim] == [
        *(1, 3, 320),
        "width",
    ]
