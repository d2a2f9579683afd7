"""Bad input of every kind has its own error, which says what and where; what onnxruntime runs is accepted."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from egraph_opt import errors
from egraph_opt.model.reading import read_model
from egraph_opt.model.writing import write_model


def tensor(name: str, shape: list[int | str] | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(*nodes: onnx.NodeProto, opset: int = 17, outputs: tuple[str, ...] = ("y",)) -> ModelProto:
    """A model with an input x: float[N, 3] and an initializer w: float[3]."""
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    graph = helper.make_graph(
        list(nodes), "g", [tensor("x", ["N", 3])], [tensor(name, None) for name in outputs], [weight]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


ADD = helper.make_node("Add", ["x", "w"], ["y"], name="the_add")


def add_model() -> ModelProto:
    return model_of(ADD)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ModelReadError, match=r"nothing\.onnx: there is no such file"):
        read_model(tmp_path / "nothing.onnx")


def test_a_directory_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(errors.ModelReadError, match="is a directory"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"hello world, this is no model\n", "not a protobuf"),
        (b"PK\x03\x04" + bytes(range(256)), "not a protobuf"),
        (b"\xff" * 64, "not a protobuf"),
        (onnx.OperatorSetIdProto(domain="", version=3).SerializeToString(), "no ONNX model"),
    ],
    ids=["empty", "text", "zip", "ones", "another_message"],
)
def test_what_is_no_model_is_said_to_be_none(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(errors.EgraphOptError, match=rf"model\.onnx: .*{problem}"):
        read_model(path)


def test_a_truncated_file_is_an_error_wherever_it_was_cut(tmp_path: Path) -> None:
    data = add_model().SerializeToString()
    path = tmp_path / "cut.onnx"
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        with pytest.raises((errors.ModelReadError, errors.InvalidModelError), match=r"cut\.onnx"):
            read_model(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(errors.ModelReadError, match="truncated"):
        read_model(path)


def without_graph() -> ModelProto:
    model = add_model()
    model.ClearField("graph")
    return model


def with_empty_graph() -> ModelProto:
    model = add_model()
    model.graph.Clear()
    model.graph.name = "g"
    return model


def with_two_inputs_of_a_name() -> ModelProto:
    model = add_model()
    model.graph.input.append(tensor("x", [3]))
    return model


def with_output_named_like_an_input() -> ModelProto:
    return model_of(helper.make_node("Relu", ["x"], ["x"], name="again"), outputs=("x",))


def with_cycle() -> ModelProto:
    return model_of(
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Neg", ["b"], ["y"], name="third"),
    )


def with_cycle_through_a_body() -> ModelProto:
    body = helper.make_graph([helper.make_node("Relu", ["y"], ["r"])], "b", [], [tensor("r", None)])
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["q"])], "o", [], [tensor("q", None)])
    model = model_of(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other, name="the_if"))
    model.graph.input.append(tensor("c", [], TensorProto.BOOL))
    return model


def with_undefined_value_in_a_body() -> ModelProto:
    body = helper.make_graph(
        [helper.make_node("Relu", ["nowhere"], ["r"], name="inner")], "b", [], [tensor("r", None)]
    )
    model = model_of(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body))
    model.graph.input.append(tensor("c", [], TensorProto.BOOL))
    return model


def with_unknown_dtype_name() -> ModelProto:
    model = model_of(helper.make_node("Add", ["x", "i"], ["y"], name="mixed"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.int64), "i"))
    return model


def with_wrong_declared_dtype() -> ModelProto:
    model = add_model()
    model.graph.output[0].CopyFrom(tensor("y", None, TensorProto.INT64))
    return model


def with_newer_ir() -> ModelProto:
    model = add_model()
    model.ir_version = onnx.IR_VERSION + 1
    return model


def without_opset() -> ModelProto:
    model = add_model()
    del model.opset_import[:]
    return model


def with_foreign_opset_only() -> ModelProto:
    model = add_model()
    model.opset_import[0].domain = "custom"
    return model


def with_too_many_inputs() -> ModelProto:
    return model_of(helper.make_node("Relu", ["x", "w"], ["y"], name="two"))


INVALID = {
    without_graph: "no graph",
    with_empty_graph: "graph is empty",
    lambda: model_of(ADD, outputs=()): "no outputs",
    with_two_inputs_of_a_name: "two inputs of the name 'x'",
    with_output_named_like_an_input: "'x' is defined twice: by an input or initializer and by node 'again'",
    lambda: model_of(ADD, ADD): "'y' is defined twice: by node 'the_add'",
    with_cycle: "cycle: node 'first'.* -> node 'second'.* -> node 'first'",
    with_cycle_through_a_body: "cycle: node 'the_if'",
    with_undefined_value_in_a_body: "node 'inner'.* uses 'nowhere', which nothing defines",
    lambda: model_of(helper.make_node("Relu", ["z"], ["y"], name="n")): "node 'n'.* uses 'z'",
    lambda: model_of(ADD, outputs=("y", "z")): "output 'z', but nothing defines it",
    with_unknown_dtype_name: r"node 'mixed'.*'i' is tensor\(int64\), but 'x' is tensor\(float\)",
    with_wrong_declared_dtype: "node 'the_add'",
    with_too_many_inputs: "node 'two'.*2 inputs, the schema has 1",
    with_newer_ir: "IR version",
    lambda: model_of(ADD, opset=onnx.defs.onnx_opset_version() + 1): "opset .* is unknown",
    lambda: model_of(ADD, opset=0): "opset 0 is unknown",
    without_opset: "which opset",
    with_foreign_opset_only: "node 'the_add'",
}


@pytest.mark.parametrize("make", INVALID, ids=[f"{i}_{make.__name__}" for i, make in enumerate(INVALID)])
def test_an_invalid_model_is_refused_with_what_and_where(
    make: Callable[[], ModelProto], tmp_path: Path
) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(make().SerializeToString())
    with pytest.raises(errors.InvalidModelError, match=INVALID[make]) as caught:
        read_model(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    if make is not with_foreign_opset_only:  # which onnxruntime runs, with whatever opset it knows best
        with pytest.raises(Exception):  # noqa: B017, PT011 - onnxruntime has one class per status code
            onnxruntime.InferenceSession(path).run([], {"x": np.ones((1, 3), np.float32)})


def odd_but_fine() -> dict[str, ModelProto]:
    """Models that onnx's checker, or ONNX's letter, objects to and onnxruntime runs."""
    shapeless = add_model()
    nameless = add_model()
    nameless.graph.name = ""
    wrong_shape = add_model()
    wrong_shape.graph.output[0].CopyFrom(tensor("y", [7, 7, 7]))
    unused = add_model()
    unused.graph.input.append(tensor("unused", [1]))
    twice = add_model()
    twice.graph.output.append(twice.graph.output[0])
    twin = add_model()
    twin.graph.initializer.append(twin.graph.initializer[0])
    passed = add_model()
    passed.graph.output.append(tensor("x", None))
    constant = add_model()
    constant.graph.output.append(tensor("w", None))
    dead = model_of(ADD, helper.make_node("Relu", ["y"], ["nobody_asks"]))
    empty_names = model_of(ADD, helper.make_node("Clip", ["y", "", ""], ["z"]), outputs=("z",))
    no_nodes = model_of(outputs=("x",))
    return {name: model for name, model in locals().items() if isinstance(model, ModelProto)}


@pytest.mark.parametrize("name", odd_but_fine())
def test_what_onnxruntime_runs_is_read(name: str, tmp_path: Path) -> None:
    model = odd_but_fine()[name]
    path = tmp_path / "odd.onnx"
    path.write_bytes(model.SerializeToString())
    inputs = {"x": np.ones((2, 3), np.float32), "unused": np.ones(1, np.float32)}
    inputs = {info.name: inputs[info.name] for info in model.graph.input}
    expected = onnxruntime.InferenceSession(path).run(None, inputs)
    loaded = read_model(path)
    written = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    for a, b in zip(expected, onnxruntime.InferenceSession(written).run(None, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_operator_of_an_unknown_domain_is_no_error() -> None:
    model = model_of(helper.make_node("Mystery", ["x"], ["y"], domain="somewhere"))
    model.opset_import.append(helper.make_opsetid("somewhere", 1))
    assert [node.op_type for node in read_model(model).model.graph] == ["Mystery"]


def test_an_unknown_operator_of_onnx_is_a_warning() -> None:
    (warning,) = read_model(model_of(helper.make_node("Mystery", ["x"], ["y"], name="m"))).warnings
    assert "node 'm' (Mystery)" in warning


@pytest.fixture
def external(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "m.onnx"
    path.parent.mkdir()
    onnx.save(add_model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def relocate(path: Path, **entries: str) -> None:
    model = onnx.load(path, load_external_data=False)
    (stored,) = [item for item in model.graph.initializer if item.data_location == TensorProto.EXTERNAL]
    known = {entry.key: entry.value for entry in stored.external_data} | entries
    del stored.external_data[:]
    for key, value in known.items():
        stored.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())


def test_missing_data_names_tensor_and_file(external: Path) -> None:
    external.with_name("weights.bin").unlink()
    with pytest.raises(errors.ExternalDataError, match=r"m\.onnx: .*'w' is missing.*'weights\.bin'"):
        read_model(external)


def test_data_that_is_cut_off_is_noticed(external: Path) -> None:
    data = external.with_name("weights.bin")
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(errors.ExternalDataError, match="'w' is cut off"):
        read_model(external)


def test_a_length_that_does_not_fit_the_shape_is_noticed(external: Path) -> None:
    relocate(external, length="8")
    with pytest.raises(errors.ExternalDataError, match="8 bytes, but its type and shape need 12"):
        read_model(external)


def test_data_outside_the_folder_is_refused(external: Path) -> None:
    outside = external.parent.parent / "weights.bin"
    os.rename(external.with_name("weights.bin"), outside)
    for location in ("../weights.bin", str(outside), "sub/../../weights.bin"):
        relocate(external, location=location)
        with pytest.raises(errors.ExternalDataError, match="outside the model's folder"):
            read_model(external)
    external.with_name("link.bin").symlink_to(outside)
    relocate(external, location="link.bin")
    with pytest.raises(errors.ExternalDataError, match="outside the model's folder"):
        read_model(external)


def test_a_proto_whose_weights_are_elsewhere_is_refused(external: Path) -> None:
    with pytest.raises(errors.ExternalDataError, match="give the path"):
        read_model(onnx.load(external, load_external_data=False))


def test_no_output_file_appears_where_none_may(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(add_model().SerializeToString())
    before = path.read_bytes()
    loaded = read_model(path)
    (tmp_path / "link.onnx").symlink_to(path)
    for target in (path, tmp_path / "link.onnx", tmp_path, tmp_path / "no" / "folder.onnx"):
        with pytest.raises(errors.OutputError, match=str(target)):
            write_model(loaded.model, target, like=loaded)
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "link.onnx"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", [errors.UnknownCostModelError, errors.UnknownRulesetError])
def test_an_unknown_name_suggests_the_nearest(kind: type[errors.UnknownCostModelError]) -> None:
    error = kind("Asend", ["flops", "ascend", "bytes"])
    assert error.nearest == "ascend"
    assert "did you mean 'ascend'?" in str(error)
    assert "ascend, bytes, flops" in str(error)
    assert kind("zzzzzz", ["flops"]).nearest is None
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_all_errors_are_of_one_family() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 10
    assert all(issubclass(kind, errors.EgraphOptError) for kind in kinds)
