"""Shapes that a user gives the inputs: the file that comes out has them, and all laws know them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import external_data_helper, numpy_helper, parser
from typer.testing import CliRunner

from egraph_opt import optimize, saturate
from egraph_opt.cli import app
from egraph_opt.errors import InputShapeError
from egraph_opt.pipeline import Saturated

HEADS = """
<ir_version: 8, opset_import: ["" : 17]>
heads (float[batch, 3, height, width] images, float[batch, 4] side)
    => (float[batch, n, m] y, float[batch, 4] z)
<int64[1] two = {2}, int64[1] three = {3}, int64[1] minus = {-1}, int64[1] zero = {0}>
{
    size = Shape (images)
    h = Slice (size, two, three)
    front = Slice (size, zero, two)
    shape = Concat <axis = 0> (front, minus)
    rows = Reshape (images, shape)
    scale = Cast <to = 1> (h)
    y = Mul (rows, scale)
    z = Relu (side)
}
"""
"""An image as rows, times its height."""

OWN_NAMES = """
<ir_version: 8, opset_import: ["" : 17]>
own (float[batch, 3, width] x) => (float[rows, columns, 3] y)
{
    a = Relu (x)
    b = Relu (a)
    y = Transpose <perm = [0, 2, 1]> (b)
}
"""
"""An output whose dims have names of their own."""

FREE = """
<ir_version: 8, opset_import: ["" : 17]>
free (float[n, l] x, float[k, 4] w, float v) => (float[n, 4] y)
{
    z = MatMul (x, w)
    y = Pow (z, v)
}
"""


def dims(model: onnx.ModelProto, name: str) -> list[Any]:
    graph = model.graph
    (found,) = (info for info in (*graph.input, *graph.output) if info.name == name)
    return [dim.dim_param or dim.dim_value for dim in found.type.tensor_type.shape.dim]


def check(model: onnx.ModelProto, nodes: int, images: list[Any]) -> None:
    assert len(model.graph.node) == nodes
    assert dims(model, "images") == images
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize(
    ("shapes", "nodes", "images"),
    [
        ({"images": (1, 3, 32, 48)}, 3, [1, 3, 32, 48]),
        ({"images": {"batch": 1, "height": 32}}, 3, [1, 3, 32, "width"]),
        ({"images": [None, None, 32, None], "side": {"batch": 2}}, 3, [2, 3, 32, "width"]),
        ({"images": np.array([1, 3, 32, 48]).tolist()}, 3, [1, 3, 32, 48]),
        (None, 5, ["batch", 3, "height", "width"]),
    ],
)
def test_dims_are_in_the_file_and_facts_for_laws(
    shapes: dict[str, Any] | None, nodes: int, images: list[Any]
) -> None:
    result = optimize(parser.parse_model(HEADS), "nodes", input_shapes=shapes, strict=True)
    check(result.model, nodes, images)
    assert result.report.verification.status == "passed"
    # A dim of the same name is the same dim, wherever it is.
    assert dims(result.model, "side")[0] == dims(result.model, "z")[0] == images[0]


def test_the_model_that_was_given_is_not_changed(tmp_path: Path) -> None:
    model = parser.parse_model(HEADS)
    before = model.SerializeToString(deterministic=True)
    onnx.save(model, path := tmp_path / "heads.onnx")
    for source in (model, path, ir.load(path)):
        result = optimize(source, "nodes", input_shapes={"images": (1, 3, 32, 48)})
        assert dims(result.model, "images") == [1, 3, 32, 48]
    assert model.SerializeToString(deterministic=True) == before == path.read_bytes()


def test_a_model_with_nothing_to_gain_has_the_shapes_all_the_same(tmp_path: Path) -> None:
    onnx.save(parser.parse_model(FREE), path := tmp_path / "free.onnx")
    result = optimize(path, "nodes", input_shapes={"x": (2, 5), "w": (5, 4), "v": ()})
    assert result.report.status == "unchanged"
    for target, in_place in ((tmp_path / "out.onnx", False), (path, True)):
        written = onnx.load(result.save(target, in_place=in_place))
        assert (dims(written, "x"), dims(written, "w"), dims(written, "y")) == ([2, 5], [5, 4], [2, 4])


def test_weights_in_files_of_their_own_stay_there(tmp_path: Path) -> None:
    model = parser.parse_model(FREE)
    del model.graph.input[1]
    model.graph.initializer.append(numpy_helper.from_array(np.ones((500, 4), np.float32), "w"))
    external_data_helper.convert_model_to_external_data(model, location="w.bin", size_threshold=0)
    onnx.save(model, path := tmp_path / "free.onnx")
    result = optimize(path, "nodes", input_shapes={"x": (2, 500)})
    assert result.report.verification.status == "passed"
    (tmp_path / "out").mkdir()
    written = result.save(tmp_path / "out" / "fixed.onnx")
    onnx.checker.check_model(str(written), full_check=True)
    assert dims(onnx.load(written), "x") == [2, 500]


def test_a_saturated_model_keeps_them(tmp_path: Path) -> None:
    saturated = saturate(parser.parse_model(HEADS), input_shapes={"images": (1, 3, 32, 48)})
    for each in (saturated, Saturated.load(saturated.save(tmp_path / "s.npz"))):
        check(each.extract("nodes", strict=True).model, 3, [1, 3, 32, 48])


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ({"imges": (1, 3, 32, 48)}, "no input is named 'imges': did you mean 'images'?"),
        ({"images": (1, 3, 32)}, "has 4 dims (batch, 3, height, width), not 3"),
        ({"images": (1, 4, 32, 48)}, "has 3 elements along axis 1, not 4"),
        ({"images": {"heigth": 32}}, "no dim 'heigth': did you mean 'height'?"),
        ({"images": (0, 3, 32, 48)}, "a whole number from 1 on, not 0"),
        ({"images": (1, 3, 32.5, 48)}, "a whole number from 1 on, not 32.5"),
        ({"images": (1, 3, 32, 48), "side": (2, 4)}, "dim 'batch' would be 1 and 2"),
        ({"": (1, 4)}, "which input the shape is of has to be said (inputs: images, side)"),
        ({"images": 5}, "5 is no shape"),
        ({"images": "1,3,32,48"}, "'1,3,32,48' is no shape"),
    ],
)
def test_a_shape_that_no_input_can_have_is_an_error(shapes: dict[str, Any], told: str) -> None:
    with pytest.raises(InputShapeError) as error:
        optimize(parser.parse_model(HEADS), "nodes", input_shapes=shapes)
    assert told in str(error.value)


FIFTH = """
<ir_version: 8, opset_import: ["" : 17]>
fifth (float[n, l] x) => (float[n] y)
<int64 at = {5}>
{
    y = Gather <axis = 1> (x, at)
}
"""


@pytest.mark.parametrize(
    ("text", "sizes", "node"),
    [(FREE, {"x": (1, 5), "w": (3, 4)}, "MatMul"), (FIFTH, {"x": (1, 3)}, "Gather")],
    ids=["while it is loaded", "while it runs"],
)
def test_shapes_at_which_a_model_does_not_run_are_an_error(
    text: str, sizes: dict[str, Any], node: str
) -> None:
    with pytest.raises(InputShapeError, match=f"does not run with these shapes of inputs: .*{node}"):
        optimize(parser.parse_model(text), "nodes", input_shapes=sizes)


def test_a_model_that_runs_at_no_shape_is_not_blamed_on_shapes() -> None:
    text = FREE.replace("MatMul", "custom.Product").replace('"" : 17', '"" : 17, "custom" : 1')
    result = optimize(parser.parse_model(text), "nodes", input_shapes={"x": (2, 5)})
    assert result.report.verification.status == "not_comparable"
    assert dims(result.model, "x") == [2, 5]


@pytest.mark.parametrize(
    ("options", "images"),
    [
        (["images:1,3,32,48"], [1, 3, 32, 48]),
        (["images:?,3,32,?", "side:2,4"], [2, 3, 32, "width"]),
        (["images:batch=1, height=32"], [1, 3, 32, "width"]),
    ],
)
def test_the_command_line_takes_them(options: list[str], images: list[Any], tmp_path: Path) -> None:
    onnx.save(parser.parse_model(HEADS), path := tmp_path / "heads.onnx")
    shapes = [word for option in options for word in ("--input-shape", option)]
    out = tmp_path / "out.onnx"
    run = CliRunner().invoke(app, ["optimize", str(path), str(out), "--cost", "nodes", *shapes])
    assert run.exit_code == 0, run.output
    assert dims(onnx.load(out), "images") == images


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["images:1,3,x,48"], "says no shape of an input: write images:1,3,320,320"),
        (["images:batch=1,32"], "says no shape of an input"),
        (["images:batch=1,batch=2"], "says no shape of an input"),
        (["images:1,3,32,48", "images:1,3,32,64"], "'images' has two shapes"),
        (["1,3,32,48"], "which input the shape is of has to be said"),
    ],
)
def test_a_shape_that_says_nothing_is_one_line_and_writes_nothing(
    options: list[str], told: str, tmp_path: Path
) -> None:
    onnx.save(parser.parse_model(HEADS), path := tmp_path / "heads.onnx")
    shapes = [word for option in options for word in ("--input-shape", option)]
    out = tmp_path / "out.onnx"
    run = CliRunner().invoke(app, ["optimize", str(path), str(out), "--cost", "nodes", *shapes])
    (line,) = run.stderr.splitlines()
    assert run.exit_code == 2
    assert told in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("shapes", "y"),
    [({"x": (2, 3, 8)}, [2, 8, 3]), ({"x": {"width": 8}}, ["rows", 8, 3]), (None, ["rows", "columns", 3])],
)
def test_outputs_get_sizes_whose_dims_have_names_of_their_own(shapes: Any, y: list[Any]) -> None:
    found = optimize(parser.parse_model(OWN_NAMES), cost="nodes", input_shapes=shapes)
    assert dims(found.model, "y") == y
