"""Knowledge base 6, TopkFix: K and indices of TopK in int32, outside the standard, for who asks for it."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from typer.testing import CliRunner

from egraph_opt import errors, optimize, saturate
from egraph_opt.cli import app
from egraph_opt.model.metadata import LEGALIZED, mark_of
from egraph_opt.pipeline import Result, Saturated
from egraph_opt.rebuild.legalization import legalizations

from .graphs import OPSETS, Graph, parsed
from .test_type_cast import run

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
ASKED = ["default", "legalize"]


def asked(model, cost: str = "ascend", **options) -> Result:
    return optimize(model, cost, rewrites=ASKED, strict=True, **options)


def best(opset: int = 17, k: int | None = 3, dims=("N", 9), **attributes) -> onnx.ModelProto:
    """The greatest elements and where they are; K is a constant, or an input."""
    g = Graph(x=list(dims))
    count = g.input("k", [1], INT64) if k is None else g.constant([k])
    values, indices = g.add_many("TopK", g.add("Relu", "x"), count, outputs=2, **attributes)
    picked = g.add("Cast", g.add("Mul", indices, indices), to=TensorProto.FLOAT)
    return g.model(values, indices, picked, opset=opset, dtypes={indices: INT64})


def types_of(model: onnx.ModelProto) -> dict[str, int]:
    graph = model.graph
    types = {v.name: v.type.tensor_type.elem_type for v in (*graph.input, *graph.output, *graph.value_info)}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    return types


def top(model: onnx.ModelProto) -> onnx.NodeProto:
    (node,) = [node for node in model.graph.node if node.op_type == "TopK"]
    return node


@pytest.mark.parametrize("opset", OPSETS)
def test_count_and_indices_are_int32_with_a_cast_behind(opset: int) -> None:
    model = best(opset)
    result = asked(model)
    node, types = top(result.model), types_of(result.model)
    assert types[node.input[1]] == INT32 and types[node.output[1]] == INT32
    (cast,) = [n for n in result.model.graph.node if node.output[1] in n.input]
    assert cast.op_type == "Cast" and cast.attribute[0].i == INT64
    outputs = [(v.name, v.type.tensor_type.elem_type) for v in result.model.graph.output]
    assert outputs == [(v.name, v.type.tensor_type.elem_type) for v in model.graph.output]


@pytest.mark.parametrize(
    ("dims", "attributes"),
    [
        (("N", 9), {}),
        ((9,), {"axis": 0}),
        ((2, "L", 4), {"axis": 1}),
        ((1, 9, 2), {"axis": -2, "largest": 0}),
    ],
)
def test_values_are_those_of_the_original(dims, attributes) -> None:
    """By ONNX's reference, which does not look at the types."""
    model = best(dims=dims, **attributes)
    result = asked(model)
    shape = [d if isinstance(d, int) else 6 for d in dims]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = run(model, x=x)
    for a, b in zip(expected, ReferenceEvaluator(result.model).run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_count_that_is_an_input_is_cast() -> None:
    result = asked(best(k=None), assume={"k": (1, 5)})
    node, types = top(result.model), types_of(result.model)
    (cast,) = [n for n in result.model.graph.node if node.input[1] in n.output]
    assert cast.op_type == "Cast" and cast.input[0] == "k" and cast.attribute[0].i == INT32
    assert types[node.output[1]] == INT32


def test_a_count_that_two_share_and_somebody_else_uses() -> None:
    g = Graph(x=["N", 9])
    k = g.constant([3])
    first, _ = g.add_many("TopK", "x", k, outputs=2)
    second, places = g.add_many("TopK", g.add("Neg", "x"), k, outputs=2)
    y = g.add("Add", g.add("Add", first, second), g.add("Cast", g.add("Add", places, k), to=1))
    result = asked(g.model(y), "nodes")
    counts = {t.data_type for t in result.model.graph.initializer}
    assert counts == {INT32, INT64}
    (use,) = [law for law in result.report.rewrites if law.ruleset == "legalize"]
    assert (use.name, use.matches, use.used) == ("topk_int32", 2, 2)


def test_indices_that_nobody_uses_get_no_cast() -> None:
    g = Graph(x=["N", 9])
    values, _ = g.add_many("TopK", "x", g.constant([3]), outputs=2)
    result = asked(g.model(g.add("Relu", values)))
    assert Counter(n.op_type for n in result.model.graph.node) == Counter(TopK=1, Relu=1)
    assert types_of(result.model)[top(result.model).input[1]] == INT32


def test_inside_a_body() -> None:
    model = parsed(
        """g (float[5,9] x, bool c) => (int64[5,2] y) <int64[1] k = {2}> {
             y = If (c) <then_branch = a () => (int64[5,2] i) { v, i = TopK (x, k) },
                         else_branch = b () => (int64[5,2] j) { n = Neg (x)  w, j = TopK (n, k) }>
           }"""
    )
    result = asked(model, "nodes")
    (use,) = [law for law in result.report.rewrites if law.ruleset == "legalize"]
    assert use.used == 2
    bodies = [a.g for node in result.model.graph.node for a in node.attribute]
    assert all([n.op_type for n in body.node].count("Cast") == 1 for body in bodies)
    feeds = {"x": np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)}
    for c in (True, False):
        (y,) = ReferenceEvaluator(result.model).run(None, {**feeds, "c": np.array(c)})
        np.testing.assert_array_equal(y, run(model, **feeds, c=np.array(c))[0])


def test_inside_a_function_of_the_model() -> None:
    """Functions have no initializers: their counts are cast."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    nodes = [
        helper.make_node("Constant", [], ["k"], value_ints=[2]),
        helper.make_node("TopK", ["a", "k"], ["v", "i"]),
    ]
    function = helper.make_function("own", "best", ["a"], ["i"], nodes, opsets[:1])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 9])
    y = helper.make_tensor_value_info("y", INT64, [4, 2])
    graph = helper.make_graph([helper.make_node("best", ["x"], ["y"], domain="own")], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8)
    result = asked(model, "nodes")
    kinds = Counter(n.op_type for body in (result.model.graph, *result.model.functions) for n in body.node)
    assert kinds["TopK"] == 1 and kinds["Cast"] == 2 - (kinds["best"] == 0)
    feeds = {"x": np.random.default_rng(0).standard_normal((4, 9)).astype(np.float32)}
    (expected,) = run(model, **feeds)
    (found,) = ReferenceEvaluator(result.model).run(None, feeds)
    np.testing.assert_array_equal(found, expected)


def test_the_first_topk_of_onnx_has_its_count_in_an_attribute() -> None:
    model = parsed(
        """g (float[N,9] x) => (float[N,2] v, int64[N,2] i) { v, i = TopK <k = 2> (x) }""", opset=9
    )
    result = asked(model, "nodes")
    assert Counter(n.op_type for n in result.model.graph.node) == Counter(TopK=1, Cast=1)
    assert types_of(result.model)[top(result.model).output[1]] == INT32


def test_what_was_not_verified_is_not_said_to_be() -> None:
    detail = optimize(best(), "nodes", rewrites=ASKED, verify=False).report.verification.detail
    assert "outside the standard" in detail and "verified before" not in detail


def test_the_result_is_marked_and_the_report_says_when_it_was_verified() -> None:
    result = asked(best())
    assert {p.key: p.value for p in result.model.metadata_props} == {LEGALIZED: "topk_int32"}
    verdict = result.report.verification
    assert verdict.status == "passed"
    assert "outside the standard" in verdict.detail and "verified before" in verdict.detail
    assert "topk_int32" in str(result.report)
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.shape_inference.infer_shapes(result.model, check_type=True, strict_mode=True)


@pytest.mark.parametrize("cost", ["ascend", "nodes", "flops"])
def test_nobody_gets_it_who_does_not_ask(cost: str) -> None:
    result = optimize(best(), cost, strict=True)
    assert not result.model.metadata_props
    onnx.checker.check_model(result.model, full_check=True)


def test_a_model_without_topk_is_not_marked() -> None:
    g = Graph(x=["N", 9])
    result = asked(g.model(g.add("Relu", g.add("Relu", "x"))))
    assert mark_of(result.model) == ""
    assert all(law.ruleset != "legalize" for law in result.report.rewrites)


def test_a_second_optimisation_changes_nothing(tmp_path: Path) -> None:
    path = asked(best()).save(tmp_path / "first.onnx")
    again = asked(str(path))
    assert again.report.status == "unchanged" and "outside the standard" in again.report.reason
    assert again.model == onnx.load(path)
    assert again.save(tmp_path / "second.onnx").read_bytes() == path.read_bytes()


def test_metadata_of_the_original_is_kept_and_the_original_is_not_marked() -> None:
    model = best()
    helper.set_model_props(model, {"author": "somebody"})
    result = asked(model)
    assert {p.key: p.value for p in result.model.metadata_props} == {
        "author": "somebody",
        LEGALIZED: "topk_int32",
    }
    assert [p.key for p in model.metadata_props] == ["author"]


def test_a_saturated_model_remembers_what_was_asked(tmp_path: Path) -> None:
    saturated = saturate(best(), rewrites=ASKED, target="ascend")
    loaded = Saturated.load(saturated.save(tmp_path / "saturated.npz"))
    for each in (saturated, loaded):
        for _ in range(2):
            result = each.extract("ascend")
            assert result.model.metadata_props[0].key == LEGALIZED
            assert types_of(result.model)[top(result.model).output[1]] == INT32


def test_the_command_line(tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(best(), source)
    done = CliRunner().invoke(app, ["optimize", str(source), str(target), "--rewrites", "default,legalize"])
    assert done.exit_code == 0, done.output
    assert onnx.load(target).metadata_props[0].value == "topk_int32"
    (listed,) = json.loads(CliRunner().invoke(app, ["rules", "--ruleset", "legalize", "--json"]).output)
    assert (listed["name"], listed["why"], listed["on"]) == ("topk_int32", "outside the standard", "by name")
    assert [entry.name for entry in legalizations()] == ["topk_int32"]
    with pytest.raises(errors.UnknownRulesetError, match="legalize"):
        optimize(best(), rewrites=["legalise"])
