"""Ifs with a known condition: the branch moves out, and nothing else changes."""

import onnx
from onnx import TensorProto, helper, parser

from egraph_opt import optimize
from egraph_opt.verification import verify


def _model(text: str) -> onnx.ModelProto:
    model = parser.parse_model(text)
    onnx.checker.check_model(model)
    return model


def _types(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


_RANK_DECIDES = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[N, 4, 1] x, float[4, 4] w) => (float[N, 4] y) {
    shape = Shape (x)
    rank = Size (shape)
    three = Constant <value_int = 3> ()
    same = Equal (rank, three)
    z = If (same) <
        then_branch = yes () => (float[N, 4] a) {
            last = Constant <value_ints = [2]> ()
            a = Squeeze (x, last)
        },
        else_branch = no () => (float[N, 4] b) { b = Identity (x) }
    >
    y = MatMul (z, w)
}
"""


def test_an_if_that_the_rank_decides_becomes_its_branch() -> None:
    model = _model(_RANK_DECIDES)
    result = optimize(model, cost="nodes", strict=True)
    assert _types(result.model) == ["Squeeze", "MatMul"]
    assert verify(model, result.model).status == "passed"


def test_an_if_that_an_input_decides_stays() -> None:
    text = _RANK_DECIDES.replace("float[4, 4] w)", "float[4, 4] w, bool same)").replace(
        "same = Equal (rank, three)", "unused = Equal (rank, three)"
    )
    result = optimize(_model(text), cost="nodes", strict=True)
    assert "If" in _types(result.model)


def test_branches_with_equal_names_inside_are_told_apart() -> None:
    """Sibling branches may use the same names; two of them moving out may not."""

    def branch(value: float) -> onnx.GraphProto:
        node = helper.make_node("Add", ["x", "c"], ["inner"], name="n")
        data = helper.make_tensor("c", TensorProto.FLOAT, [1], [value])
        output = helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)
        return helper.make_graph([node], "branch", [], [output], [data])

    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node("If", ["yes"], [name], then_branch=branch(value), else_branch=branch(0.0))
        for name, value in (("p", 1.0), ("q", 2.0))
    ]
    nodes.append(helper.make_node("Mul", ["p", "q"], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    graph = helper.make_graph(nodes, "g", [x], [y], [yes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result = optimize(model, cost="nodes", strict=True)
    assert "If" not in _types(result.model)
    assert verify(model, result.model).status == "passed"


def test_a_branch_that_gives_a_vector_where_a_scalar_is_asked_for_stays_inside() -> None:
    """onnxruntime's Range takes a vector of one element; ONNX's inference, from which an If hides it, not."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (int64[1] n) => (int64[M] y) {
        yes = Constant <value = bool {1}> ()
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        three = Constant <value_ints = [3]> ()
        end = If (yes) <
            then_branch = a () => (int64[1] p) { p = Identity (three) },
            else_branch = b () => (int64[1] q) { q = Neg (n) }
        >
        y = Range (zero, end, one)
    }
    """
    result = optimize(parser.parse_model(text), cost="nodes", verify=False)
    assert "If" in _types(result.model)


def test_two_branches_that_move_out_with_one_name_are_told_apart() -> None:
    """The name is there twice, and in the branches alone."""

    def branch(value: float, name: str) -> onnx.GraphProto:
        node = helper.make_node("Add", ["x", "c"], [name], name=f"add_{name}")
        data = helper.make_tensor("c", TensorProto.FLOAT, [1], [value])
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([node], "branch", [], [output], [data])

    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node(
            "If", ["yes"], [name], then_branch=branch(value, "inner"), else_branch=branch(0.0, other)
        )
        for name, other, value in (("p", "r", 1.0), ("q", "s", 2.0))
    ]
    nodes.append(helper.make_node("Mul", ["p", "q"], ["y"]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], [yes]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    result = optimize(model, cost="nodes", strict=True)
    assert _types(result.model) == ["Add", "Add", "Mul"]
    assert verify(model, result.model).status == "passed"


def test_a_loop_that_runs_once_takes_what_a_decided_if_gives() -> None:
    """Both are inlined at once: what the If gave is another value by then."""
    text = """
    <ir_version: 9, opset_import: ["" : 19]>
    g (float[3, 1, 2, 1] x) => (float[?, ?] y, int64[?] z) <bool c = {1}, int64 n = {1}> {
        a = If (c) <
            then_branch = t () => (float[3, 2] p) { p = Flatten <axis = 2> (x) },
            else_branch = e () => (float[3, 2] q) { r = Flatten <axis = 2> (x) q = Neg (r) }
        >
        y, z = Loop (n, c, a) <body = b (int64 i, bool k, float[3, 2] s) => (bool l, float[3, 2] u, int64 w) {
            w = Add (i, i) u = Neg (s) l = Identity (k)
        }>
    }
    """
    result = optimize(_model(text), cost="nodes", strict=True)
    assert not {"If", "Loop"} & set(_types(result.model))
    assert result.report.verification.status == "passed" and not result.report.warnings
