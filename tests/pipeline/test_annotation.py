"""What a result says of its making: laws and original nodes in metadata, names after their origin, shapes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.model.provenance import COST, LAWS, NODES, NodeProvenance, provenance_of, said_of

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[batch, 8, 8, 8] x) => (float[batch, 8, 8, 8] y) {
    [enter] t = Transpose <perm = [0, 2, 3, 1]> (x)
    [rectify] r = Relu (t)
    [leave] u = Transpose <perm = [0, 3, 1, 2]> (r)
    [body] c = Conv (u, weight)
    [gain] m = Mul (c, k)
    [out] y = Sigmoid (m)
}"""


@pytest.fixture(scope="module")
def model() -> ModelProto:
    made = parser.parse_model(TEXT)
    made.graph.node[3].input[1] = "body.weight"
    weight = np.random.default_rng(0).normal(size=(8, 8, 1, 1)).astype(np.float32)
    made.graph.initializer.append(numpy_helper.from_array(weight, "body.weight"))
    made.graph.initializer.append(numpy_helper.from_array(np.array(2, np.float32), "k"))
    return made


@pytest.fixture(scope="module")
def files(model: ModelProto, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The model, and what became of it."""
    folder = tmp_path_factory.mktemp("annotated")
    onnx.save(model, folder / "in.onnx")
    optimize(folder / "in.onnx").save(folder / "out.onnx")
    return folder / "in.onnx", folder / "out.onnx"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_new_nodes_say_what_they_came_of_and_old_ones_nothing(files: tuple[Path, Path]) -> None:
    relu, conv, last = onnx.load(files[1]).graph.node
    assert {entry.key: entry.value for entry in conv.metadata_props} == {
        LAWS: "convolution.scale_after_conv",
        NODES: "body, gain",
        COST: "1 nodes",
    }
    assert {entry.key: entry.value for entry in relu.metadata_props}[NODES] == "enter, rectify, leave"
    assert not last.metadata_props


def test_the_model_says_how_and_of_what_it_was_made(files: tuple[Path, Path]) -> None:
    said = said_of({entry.key: entry.value for entry in onnx.load(files[1]).metadata_props})
    assert said["input_sha256"] == hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert (said["cost"], said["exactness"]) == ("nodes", "real")
    assert "version" in said


def test_new_weights_and_nodes_are_named_after_their_origin(files: tuple[Path, Path]) -> None:
    graph = onnx.load(files[1]).graph
    assert [tensor.name for tensor in graph.initializer] == ["body.weight.folded"]
    assert [node.name for node in graph.node] == ["u.relu", "m.conv", "out"]


def test_what_is_new_between_tensors_is_named_after_the_one_that_needs_it() -> None:
    made = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 8] x) => (float[2, 4] p, float[2, 4] q) { p = MatMul(x, a) q = MatMul(x, b) }""")
    for name in ("a", "b"):
        weight = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
        made.graph.initializer.append(numpy_helper.from_array(weight + len(made.graph.initializer), name))
    made.graph.node.append(onnx.helper.make_node("MatMul", ["x", "c"], ["o"]))
    made.graph.initializer.append(numpy_helper.from_array(weight + 7, "c"))
    made.graph.output.append(onnx.helper.make_tensor_value_info("o", 1, [2, 4]))
    graph = optimize(made).model.graph
    assert [tensor.name for tensor in graph.initializer if tensor.data_type == 1] == ["a.folded"]
    assert [node.output[0] for node in graph.node] == ["p.matmul", "p"]


def test_every_tensor_has_a_shape(files: tuple[Path, Path]) -> None:
    graph = onnx.load(files[1]).graph
    known = {
        info.name: [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
        for info in graph.value_info
    }
    assert known == {"u": ["batch", 8, 8, 8], "m": ["batch", 8, 8, 8]}


def test_a_second_optimisation_leaves_the_file_as_it_was(files: tuple[Path, Path], tmp_path: Path) -> None:
    result = optimize(files[1])
    assert result.report.status == "unchanged"
    again = result.save(tmp_path / "again.onnx")
    assert onnx.load(again) == onnx.load(files[1])


def test_the_file_grows_by_little_and_not_at_all_without_metadata(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    bare = optimize(files[0], metadata=False).save(tmp_path / "bare.onnx")
    assert not onnx.load(bare).metadata_props
    assert not any(node.metadata_props for node in onnx.load(bare).graph.node)
    assert files[1].stat().st_size - bare.stat().st_size < 1000
    run("optimize", files[0], tmp_path / "told.onnx", "--no-metadata", "-q")
    assert (tmp_path / "told.onnx").read_bytes() == bare.read_bytes()


def test_entries_of_nodes_are_read_back() -> None:
    whole = NodeProvenance(("a.b", "c.d"), ("one", "two"), "3.5 us")
    assert provenance_of(dict(whole.entries())) == whole
    assert provenance_of({"namespace": "x"}) is None
    many = dict(NodeProvenance((), tuple(map(str, range(40))), "").entries())
    assert many[NODES].endswith("15, and 24 more")
    assert said_of({"egraph_opt": "not JSON"}) == {}
    assert said_of({"egraph_opt": "[" * 100_000}) == {}


def test_show_prints_what_a_file_says(files: tuple[Path, Path]) -> None:
    text = run("show", files[1])
    assert "instead of body, gain by convolution.scale_after_conv; 1 nodes" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "sha256" not in line)
    assert [entry["nodes"] for entry in json.loads(run("show", files[1], "--json"))["nodes"]] == [
        ["enter", "rectify", "leave"],
        ["body", "gain"],
    ]
    assert "says nothing of its making" in run("show", files[0])


def test_diff_compares_any_two_models(files: tuple[Path, Path], tmp_path: Path) -> None:
    text = run("diff", *files)
    assert text.startswith("6 -> 3 nodes, 6 -> 3 at run time; 2 differences\n")
    assert "by convolution.scale_after_conv" in text
    optimize(files[0], metadata=False).save(tmp_path / "bare.onnx")
    bare = run("diff", files[0], tmp_path / "bare.onnx")
    assert " by " not in bare
    assert "no law" not in bare
    found = json.loads(run("diff", files[0], files[0], "--json"))
    assert (found["differences"], found["kept"]) == ([], 6)
