"""What graphs need, on models whose peaks are counted by hand; and which graph an objective takes."""

from __future__ import annotations

import onnx_ir as ir
import pytest
from onnx import parser

from egraph_opt import Saturated, optimize, saturate
from egraph_opt.facts.fact import Fact
from egraph_opt.memory import arrange, liveness, trace, usage
from egraph_opt.memory.trace import Trace

from .models import model

MERGED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[8, 4] x) => (float[8, 16] a, float[8, 16] b)
<float[4, 16] v, float[4, 16] w> { a = MatMul (x, v) b = MatMul (x, w) }"""


def graph_of(body: str, inputs: str = "float[4] x", outputs: str = "float[4] y") -> ir.Graph:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return ir.from_proto(parser.parse_model(text)).graph


def traced(graph: ir.Graph, sizes: dict[str, int]) -> Trace:
    """With floats of so many elements; 4 for values that are not named."""
    values = [*graph.inputs, *(v for node in graph for v in node.outputs)]
    return trace(graph, {v: Fact(1, (sizes.get(v.name or "", 4),)) for v in values})


def peak(graph: ir.Graph, **sizes: int) -> int:
    return usage(liveness(traced(graph, sizes), {})).peak


def test_a_chain_of_elementwise_operators_runs_in_place() -> None:
    assert peak(graph_of("a = Relu (x) b = Exp (a) y = Tanh (b)")) == 16


def test_what_is_used_again_stays() -> None:
    assert peak(graph_of("a = Relu (x) b = Exp (a) y = Add (b, a)")) == 32


def test_a_softmax_does_not_run_in_place() -> None:
    assert peak(graph_of("a = Relu (x) y = Softmax (a)")) == 32


def test_a_broadcast_operand_is_not_written_over() -> None:
    assert peak(graph_of("a = Relu (x) b = Softmax (x) y = Add (a, b)"), a=1) == 4 + 16
    assert peak(graph_of("a = Relu (x) y = Add (a, x)"), a=1) == 4 + 16


def test_views_share_the_memory_of_their_operand() -> None:
    assert peak(graph_of("a = Softmax (x) b = Flatten (a) c = Identity (b) y = Softmax (c)")) == 32


def test_an_output_that_is_a_view_of_an_input_is_a_copy() -> None:
    assert peak(graph_of("y = Flatten (x)")) == 16


def test_what_depends_on_constants_alone_is_not_counted() -> None:
    graph = graph_of("s = Constant <value_ints = [4]> () k = ConstantOfShape (s) e = Exp (k) y = Add (x, e)")
    assert peak(graph) == 16


def test_the_bodies_of_a_node_count_while_it_runs() -> None:
    branch = "g () => (float[4] o) { t = Softmax (a) o = Softmax (t) }"
    other = "h () => (float[4] p) { p = Softmax (a) }"
    graph = graph_of(
        f"a = Softmax (x) z = If (c) <then_branch = {branch}, else_branch = {other}> y = Softmax (z)",
        inputs="float[4] x, bool c",
    )
    (_, choose, _) = graph
    inner = [
        v
        for key in ("then_branch", "else_branch")
        for n in choose.attributes[key].as_graph()
        for v in n.outputs
    ]
    values = [*graph.inputs, *(v for node in graph for v in node.outputs), *inner]
    needed = usage(liveness(trace(graph, {v: Fact(1, (4,)) for v in values}), {}))
    assert needed.live == [16, 16 + 16 + 32, 32]


def test_symbols_are_priced_at_points_and_unknown_sizes_are_counted() -> None:
    graph = graph_of("a = Softmax (x) b = Softmax (a) y = Softmax (b)")
    x, (a, b, y) = graph.inputs[0], [node.outputs[0] for node in graph]
    facts = {x: Fact(1, ("N",)), a: Fact(1, ("N", 2)), b: Fact(1, None), y: Fact(1, ("N + 1",))}
    sized = liveness(trace(graph, facts), {"N": 10})
    assert (list(sized.size), sized.unknown) == ([80, 0, 44], 1)


def test_a_graph_is_put_into_the_better_order_with_its_constants() -> None:
    """Two branches that grow, written side by side, become one after the other."""
    graph = graph_of(
        "p = Softmax (x) q = Hardmax (x) k = Constant <value_ints = [0]> ()"
        " r = ReduceSum <keepdims = 0> (p, k) s = ReduceSum <keepdims = 0> (q, k) y = Add (r, s)",
        outputs="float y",
    )
    facts = {v: Fact(1, (100,) if v.name in ("p", "q") else ()) for n in graph for v in n.outputs}
    assert usage(liveness(trace(graph, facts), {})).peak == 804
    assert arrange(graph, facts, {}).usage.peak == 408
    assert usage(liveness(trace(graph, facts), {})).peak == 408
    names = [node.outputs[0].name or "" for node in graph]
    assert sorted(names) == sorted("pqkrsy")
    assert names.index("k") < names.index("r") and abs(names.index("p") - names.index("q")) > 1


@pytest.fixture(scope="module")
def merged() -> Saturated:
    return saturate(model(MERGED))


def test_every_report_has_the_memory(merged: Saturated) -> None:
    report = merged.extract("nodes", verify=False).report
    assert report.memory.before == 2 * 8 * 16 * 4
    assert report.to_dict()["memory"]["after"] == report.memory.after
    assert "peak memory" in str(report)


def test_a_model_that_is_not_examined_has_no_memory() -> None:
    text = '<ir_version: 3, opset_import: ["" : 1]> g (float[4] x) => (float[4] y) { y = Relu (x) }'
    report = optimize(parser.parse_model(text), "nodes", verify=False).report
    assert report.status == "unchanged" and "opset 1 " in report.reason
    assert report.to_dict()["memory"]["before"] is None
    assert "peak memory" not in str(report)


def test_a_target_may_store_a_tensor_in_other_bytes() -> None:
    """By its type and who uses it; where it has nothing to say they are those of the type."""
    graph = graph_of("a = Relu (x) y = Softmax (a)")
    values = [*graph.inputs, *(v for node in graph for v in node.outputs)]

    def stored(fact: Fact, operators: frozenset[str]) -> int | None:
        return 100 if operators == {"Relu", "Softmax"} else None

    facts = dict.fromkeys(values, Fact(1, (4,)))
    assert usage(liveness(trace(graph, facts), {}, stored)).peak == 100 + 16
    assert arrange(graph, facts, {}, stored=stored).usage.peak == 100 + 16
