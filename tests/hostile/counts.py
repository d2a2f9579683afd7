"""Models of very many or very deep parts."""

from __future__ import annotations

from pathlib import Path

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, helper

from .making import CASES, floats, graph_of, info, model_case, model_of, node, numbers

MANY = 100_000


@model_case
def a_concat_of_many_inputs() -> ModelProto:
    return model_of([helper.make_node("Concat", ["x"] * MANY, ["y"], axis=0)])


@model_case
def a_concat_of_many_different_inputs() -> ModelProto:
    names = [f"w{k}" for k in range(20_000)]
    return model_of(
        [helper.make_node("Concat", ["x", *names], ["y"], axis=0)], *(floats(name, 1, 3) for name in names)
    )


@model_case
def a_sum_of_many_inputs() -> ModelProto:
    return model_of([helper.make_node("Sum", ["x"] * MANY, ["y"])])


@model_case
def a_maximum_of_many_inputs() -> ModelProto:
    return model_of([helper.make_node("Max", ["x"] * MANY, ["y"])])


@model_case
def a_split_into_many_outputs() -> ModelProto:
    outputs = [f"o{k}" for k in range(50_000)]
    split = helper.make_node("Split", ["x"], outputs, axis=0)
    return model_of([split, node("Neg", "o7", "n"), node("Neg", "n")], inputs=[info("x", [50_000, 3])])


@model_case
def a_split_of_which_all_is_used() -> ModelProto:
    outputs = [f"o{k}" for k in range(50_000)]
    split = helper.make_node("Split", ["x"], outputs, axis=0)
    return model_of(
        [split, helper.make_node("Concat", outputs, ["y"], axis=0)], inputs=[info("x", [50_000, 3])]
    )


@model_case
def a_node_of_many_attributes() -> ModelProto:
    relu = node("Relu", "x")
    relu.attribute.extend(helper.make_attribute(f"a{k}", k) for k in range(20_000))
    return model_of([relu])


@model_case
def an_attribute_of_many_numbers() -> ModelProto:
    return model_of([node("Transpose", "x", perm=list(range(MANY)))])


@model_case
def many_axes() -> ModelProto:
    return model_of([node("Unsqueeze", "x a", "u"), node("Neg", "u")], numbers("a", *range(10_000)))


@model_case
def many_outputs_of_one_value() -> ModelProto:
    names = [f"y{k}" for k in range(5_000)]
    return model_of([helper.make_node("Relu", ["x"], [name]) for name in names], outputs=names)


@model_case
def a_name_of_a_megabyte() -> ModelProto:
    name = "n" * 2**20
    return model_of(
        [
            helper.make_node("Relu", ["x"], [name], name=name),
            helper.make_node("Neg", [name], ["y"], name=name),
        ]
    )


def calling(depth: int, body: list[NodeProto], last: list[NodeProto]) -> ModelProto:
    """Functions of which each calls the one before."""
    functions = []
    for k in range(depth):
        nodes = last if k == 0 else [NodeProto.FromString(item.SerializeToString()) for item in body]
        for item in nodes:
            if item.op_type == "before":
                item.op_type = f"f{k - 1}"
        functions.append(FunctionProto(name=f"f{k}", domain="own", input=["a"], output=["b"], node=nodes))
        functions[-1].opset_import.extend([helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    model = model_of(
        [
            helper.make_node(f"f{depth - 1}", ["x"], ["n"], domain="own"),
            node("Neg", "n", "m"),
            node("Neg", "m"),
        ]
    )
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def call(name: str, operand: str, result: str) -> NodeProto:
    return helper.make_node(name, [operand], [result], domain="own")


@model_case
def functions_that_call_twice() -> ModelProto:
    return calling(
        41, [call("before", "a", "c"), call("before", "c", "b")], [helper.make_node("Relu", ["a"], ["b"])]
    )


@model_case
def functions_that_call_once() -> ModelProto:
    return calling(3_000, [call("before", "a", "b")], [helper.make_node("Relu", ["a"], ["b"])])


@model_case
def a_function_that_calls_itself() -> ModelProto:
    return calling(1, [], [call("f0", "a", "b")])


@model_case
def functions_that_call_each_other() -> ModelProto:
    return calling(2, [call("before", "a", "b")], [call("f1", "a", "b")])


@model_case
def a_function_that_calls_itself_in_a_body() -> ModelProto:
    branch = graph_of([call("f0", "a", "r")], ["r"])
    other = graph_of([helper.make_node("Identity", ["a"], ["q"])], ["q"])
    nodes = [
        helper.make_node("ReduceMax", ["a"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["b"], then_branch=branch, else_branch=other),
    ]
    return calling(1, [], nodes)


@model_case
def two_functions_of_a_name() -> ModelProto:
    model = calling(1, [], [helper.make_node("Relu", ["a"], ["b"])])
    model.functions.append(model.functions[0])
    model.functions[1].node[0].op_type = "Neg"
    return model


@model_case
def a_function_without_imports() -> ModelProto:
    model = calling(1, [], [helper.make_node("Relu", ["a"], ["b"])])
    del model.functions[0].opset_import[:]
    return model


@model_case
def a_call_of_too_many_operands() -> ModelProto:
    model = calling(1, [], [helper.make_node("Relu", ["a"], ["b"])])
    model.graph.node[0].input.extend(["x", "x"])
    model.graph.node[0].output.extend(["more"])
    return model


def nested(depth: int) -> bytes:
    """Ifs within each other, put together from bytes: protobuf does not copy what it would not read."""
    inner = graph_of([helper.make_node("Relu", ["x"], ["r"])], ["r"]).SerializeToString()
    other = graph_of([helper.make_node("Neg", ["x"], ["q"])], ["q"])
    for level in range(depth):
        attribute = AttributeProto(name="then_branch", type=AttributeProto.GRAPH).SerializeToString()
        branch = helper.make_node("If", ["c"], ["y" if level == depth - 1 else "r"], else_branch=other)
        node_bytes = branch.SerializeToString() + _field(5, attribute + _field(6, inner))
        inner = _field(1, node_bytes) + graph_of([], ["r"]).SerializeToString()
    model = model_of([], inputs=[info("x", [2, 3]), info("c", [], TensorProto.BOOL)])
    return model.SerializeToString() + _field(7, _field(1, node_bytes))


def _field(number: int, content: bytes) -> bytes:
    """A field of a message, as protobuf writes it."""
    length, written = len(content), bytearray([number << 3 | 2])
    while length > 127:
        written.append(length & 127 | 128)
        length >>= 7
    return bytes([*written, length]) + content


def _nested_case(name: str, depth: int) -> None:
    def write(folder: Path) -> Path:
        path = folder / "bad.onnx"
        path.write_bytes(nested(depth))
        return path

    CASES[name] = write


_nested_case("ifs_as_deep_as_is_looked_into", 24)
_nested_case("ifs_as_deep_as_protobuf_takes", 31)
_nested_case("ifs_deeper_than_protobuf_takes", 49)
_nested_case("ifs_much_deeper", 2_000)


@model_case
def a_type_of_many_layers() -> ModelProto:
    model = model_of([node("Relu", "x")])
    declared = model.graph.input[0].type
    declared.Clear()
    for _ in range(45):
        declared = declared.sequence_type.elem_type
    declared.tensor_type.elem_type = 1
    return model
