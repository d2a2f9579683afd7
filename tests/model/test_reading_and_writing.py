"""Models survive reading and writing: nothing is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from node_cases import loaded_cases
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from egraph_opt.model.encoding import ENCODED_DOMAIN, graphs_of
from egraph_opt.model.reading import read_model
from egraph_opt.model.writing import to_proto

from .models import affine, model_of, run, tensor

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
WHEELS = {
    "rapidocr_onnxruntime": "models/*.onnx",
    "silero_vad": "data/*.onnx",
    "swift_f0": "*.onnx",
    "magika": "models/*/*.onnx",
}


def trained_models() -> list[Path]:
    """The models in the installed wheels that carry some; the packages themselves are not imported."""
    found: list[Path] = []
    for package, pattern in WHEELS.items():
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            found += sorted(Path(spec.submodule_search_locations[0]).glob(pattern))
    return found


def normal(model: ModelProto) -> ModelProto:
    """The model without what has no meaning: order of value_info and empty strings that are set."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for field in ("producer_name", "producer_version", "domain", "doc_string", "model_version"):
        if not getattr(copy, field):
            copy.ClearField(field)
    for graph in graphs_of(copy.graph):
        initialized = {item.name for item in (*graph.initializer,)}
        infos = sorted(
            (info for info in graph.value_info if info.name not in initialized), key=lambda info: info.name
        )
        del graph.value_info[:]
        graph.value_info.extend(infos)
        for node in graph.node:
            for field in ("name", "domain", "overload", "doc_string"):
                if not getattr(node, field):
                    node.ClearField(field)
        if not graph.doc_string:
            graph.ClearField("doc_string")
    return copy


def round_trip(model: ModelProto) -> ModelProto:
    loaded = read_model(model)
    return to_proto(loaded.model, loaded)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_node_test_of_onnx_survives_unchanged() -> None:
    cases = list(loaded_cases())
    assert len(cases) > 1500
    content = onnx.ModelProto.SerializeToString  # NaN is not equal to itself
    changed = [n for n, model, _ in cases if content(normal(round_trip(model))) != content(normal(model))]
    assert changed == []


@pytest.mark.parametrize("path", LIGHT + trained_models(), ids=lambda path: path.stem)
def test_real_models_survive_with_all_their_nodes_and_weights(path: Path) -> None:
    original = onnx.load(path)
    written = round_trip(original)
    for before, after in zip(graphs_of(original.graph), graphs_of(written.graph), strict=True):
        key = NodeProto.SerializeToString
        assert sorted(map(key, normal_nodes(before))) == sorted(map(key, normal_nodes(after)))
        assert list(before.initializer) == list(after.initializer)
        assert list(before.input) == list(after.input)
        assert normal_infos(before.output) == normal_infos(after.output)


def normal_infos(infos: Iterable[onnx.ValueInfoProto]) -> list[onnx.ValueInfoProto]:
    """Without types that are set but say nothing."""
    copies = [onnx.ValueInfoProto.FromString(info.SerializeToString()) for info in infos]
    for copy in copies:
        if copy.type.WhichOneof("value") is None:
            copy.ClearField("type")
    return copies


def normal_nodes(graph: onnx.GraphProto) -> list[NodeProto]:
    nodes = []
    for node in graph.node:
        copy = NodeProto()
        copy.CopyFrom(node)
        for field in ("name", "domain", "overload", "doc_string"):
            if not getattr(copy, field):
                copy.ClearField(field)
        attributes = [attribute for attribute in copy.attribute if not attribute.HasField("g")]
        del copy.attribute[:]
        copy.attribute.extend(attributes)
        nodes.append(copy)
    return nodes


def test_sparse_initializers_and_sparse_constants_stay_sparse() -> None:
    def sparse(name: str) -> onnx.SparseTensorProto:
        values = helper.make_tensor(name, TensorProto.FLOAT, [2], [5.0, 7.0])
        indices = helper.make_tensor("indices", TensorProto.INT64, [2], [1, 3])
        return helper.make_sparse_tensor(values, indices, [4])

    model = model_of(
        [
            helper.make_node("Constant", [], ["c"], sparse_value=sparse("values")),
            helper.make_node("Add", ["x", "s"], ["t"]),
            helper.make_node("Add", ["t", "c"], ["y"]),
        ],
        [tensor("x", [4])],
        [tensor("y", [4])],
    )
    model.graph.sparse_initializer.append(sparse("s"))
    loaded = read_model(model)
    assert {node.domain for node in loaded.model.graph if node.op_type != "Add"} == {ENCODED_DOMAIN}
    assert ENCODED_DOMAIN not in loaded.opset_imports
    written = to_proto(loaded.model, loaded)
    assert written.graph.sparse_initializer == model.graph.sparse_initializer
    assert written.graph.node == model.graph.node
    assert written.opset_import == model.opset_import
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(run(written, x=x)[0], run(model, x=x)[0])


def test_the_type_of_a_sparse_initializer_is_known() -> None:
    values = helper.make_tensor("s", TensorProto.DOUBLE, [1], [5.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [1])
    model = model_of(
        [helper.make_node("Identity", ["s"], ["y"])], [], [tensor("y", None, TensorProto.DOUBLE)]
    )
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    (value,) = [node.outputs[0] for node in read_model(model).model.graph if node.domain == ENCODED_DOMAIN]
    assert value.dtype == ir.DataType.DOUBLE
    assert list(value.shape or ()) == [4]


def test_maps_and_bytes_that_are_no_text_survive() -> None:
    zipmap = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
    odd = helper.make_node("Odd", ["x"], ["z"], domain="custom", data=[b"\xff\xfe", b"ok"])
    labels = onnx.ValueInfoProto(name="y")
    map_type = labels.type.sequence_type.elem_type.map_type
    map_type.key_type = TensorProto.STRING
    map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    model = model_of([zipmap, odd], [tensor("x", ["N", 2])], [labels, tensor("z", None)])
    model.opset_import.extend([helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("custom", 1)])
    assert normal(round_trip(model)) == normal(model)


def test_everything_around_the_graph_survives() -> None:
    model = affine(3)
    helper.set_model_props(model, {"author": "somebody", "date": "today"})
    model.doc_string, model.producer_name, model.domain, model.model_version = "doc", "me", "dom", 7
    model.graph.doc_string = "about the graph"
    model.graph.metadata_props.add(key="k", value="v")
    model.graph.input[0].doc_string = "an input"
    model.graph.output[0].metadata_props.add(key="unit", value="m")
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    model.graph.node[0].doc_string = "adds"
    model.graph.node[0].metadata_props.add(key="k", value="n")
    model.graph.initializer[0].metadata_props.add(key="k", value="t")
    annotation = model.graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    training = model.training_info.add()
    training.algorithm.node.append(helper.make_node("Identity", ["w"], ["w2"]))
    training.algorithm.name = "step"
    training.update_binding.add(key="w", value="w2")
    assert normal(round_trip(model)) == normal(model)


def test_annotations_of_tensors_that_are_gone_go_too() -> None:
    model = affine(3)
    for name in ("x", "w"):
        annotation = model.graph.quantization_annotation.add(tensor_name=name)
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="x")
    loaded = read_model(model)
    add = next(iter(loaded.model.graph))
    add.replace_input_with(1, loaded.model.graph.inputs[0])
    del loaded.model.graph.initializers["w"]
    written = to_proto(loaded.model, loaded)
    assert [item.tensor_name for item in written.graph.quantization_annotation] == ["x"]


@pytest.mark.parametrize("name", ["unk__12", "2*L+1", "a b", "it's", "DynamicDimension.0", "lambda", "", "1"])
def test_names_of_dims_stay_whatever_characters_they_have(name: str) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [name, 2])], [tensor("y", None)])
    assert round_trip(model).graph.input == model.graph.input


def test_an_input_that_is_an_output_keeps_its_own_type() -> None:
    model = model_of(
        [helper.make_node("Relu", ["x"], ["y"])],
        [tensor("x", ["N", 2])],
        [tensor("y", None), tensor("x", None)],
    )
    loaded = read_model(model)
    assert [str(dim) for dim in loaded.model.graph.inputs[0].shape or ()] == ["N", "2"]
    assert to_proto(loaded.model, loaded).graph.input == model.graph.input
    assert to_proto(loaded.model, loaded).graph.output == model.graph.output


def test_an_initializer_that_is_an_input_stays_both() -> None:
    for ir_version in (3, 8):
        model = affine(3)
        model.ir_version = ir_version
        model.graph.input.append(tensor("w", [3]))
        assert normal(round_trip(model)) == normal(model)


def test_of_two_initializers_of_one_name_the_last_counts_as_in_onnxruntime() -> None:
    model = affine(3)
    model.graph.initializer.append(numpy_helper.from_array(np.full(3, 9, np.float32), "w"))
    loaded = read_model(model)
    assert any("'w'" in warning for warning in loaded.warnings)
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(run(to_proto(loaded.model, loaded), x=x)[0], run(model, x=x)[0])


def nested_model(unsorted: bool) -> ModelProto:
    """If(c){ If(c){ t + u }{ t } }{ x }; if `unsorted`, t and u are made after the If that captures them."""
    add = helper.make_node("Add", ["t", "u"], ["inner_sum"])
    same = helper.make_node("Identity", ["t"], ["inner_same"])
    inner_then = helper.make_graph([add], "a", [], [tensor("inner_sum", None)])
    inner_else = helper.make_graph([same], "b", [], [tensor("inner_same", None)])
    inner = helper.make_node("If", ["c"], ["inner"], then_branch=inner_then, else_branch=inner_else)
    outer_then = helper.make_graph([inner], "c", [], [tensor("inner", None)])
    plain = helper.make_node("Identity", ["x"], ["plain"])
    outer_else = helper.make_graph([plain], "d", [], [tensor("plain", None)])
    outer = helper.make_node("If", ["c"], ["y"], then_branch=outer_then, else_branch=outer_else, name="outer")
    makers = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["u"])]
    nodes = [outer, *reversed(makers)] if unsorted else [*makers, outer]
    return model_of(nodes, [tensor("x", ["N"]), tensor("c", [], TensorProto.BOOL)], [tensor("y", ["N"])])


def test_a_graph_out_of_order_is_sorted_by_captured_values_too() -> None:
    loaded = read_model(nested_model(unsorted=True))
    written = to_proto(loaded.model, loaded)
    assert [node.op_type for node in written.graph.node] == ["Relu", "Neg", "If"]
    x = np.array([-1.0, 2.0], np.float32)
    for condition in (True, False):
        inputs = {"x": x, "c": np.array(condition)}
        expected = run(nested_model(unsorted=False), **inputs)[0]
        np.testing.assert_array_equal(run(written, **inputs)[0], expected)


def test_a_sorted_graph_keeps_its_order() -> None:
    model = nested_model(unsorted=False)
    assert round_trip(model).graph.node == model.graph.node


def test_a_long_chain_is_read_without_recursion() -> None:
    names = ["x", *(f"v{i}" for i in range(20_000))]
    nodes = [helper.make_node("Relu", [a], [b]) for a, b in itertools.pairwise(names)]
    model = model_of(nodes[::-1], [tensor("x", [2])], [tensor(names[-1], [2])])
    assert len(read_model(model).model.graph) == 20_000


def test_ai_onnx_and_the_empty_domain_are_one() -> None:
    model = affine(3)
    model.opset_import[0].domain = "ai.onnx"
    loaded = read_model(model)
    assert loaded.opset_imports == {"": 17}
    assert to_proto(loaded.model, loaded).opset_import == model.opset_import


@pytest.mark.parametrize("opset", [1, 6])
def test_an_old_opset_is_read_but_declared_unsupported(opset: int) -> None:
    model = model_of(
        [helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])], opset=opset
    )
    assert str(opset) in (read_model(model).unsupported or "")
    assert read_model(affine()).unsupported is None


def test_what_is_given_is_never_changed() -> None:
    model = affine(3)
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(
            helper.make_tensor("s", TensorProto.FLOAT, [1], [5.0]),
            helper.make_tensor("i", TensorProto.INT64, [1], [1]),
            [4],
        )
    )
    before = model.SerializeToString(deterministic=True)
    loaded = read_model(model)
    loaded.model.graph.initializers["w"].name = "renamed"
    to_proto(loaded.model, loaded)
    assert model.SerializeToString(deterministic=True) == before
