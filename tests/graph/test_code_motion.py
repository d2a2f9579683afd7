"""Work leaves loops that do not change it, and branches that share it; numbers and errors stay."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.graph import code_motion
from egraph_opt.graph.body_equality import plain_attributes
from egraph_opt.verification import verify

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'

LOOP = (
    HEAD
    + """
g (float[8, 16] x, float[16, 16] w, int64 trips) => (float[8, 16] y) {
    yes = Constant <value = bool {1}> ()
    y = Loop (trips, yes, x) <body = b (int64 i, bool c, float[8, 16] s) => (bool d, float[8, 16] t) {
        e = Exp (w)
        three = Constant <value = float {3.0}> ()
        f = Mul (e, three)
        m = MatMul (s, f)
        t = Tanh (m)
        d = Identity (c)
    }>
}
"""
)


def parsed(text: str) -> onnx.ModelProto:
    model = parser.parse_model(text)
    onnx.checker.check_model(model)
    return model


def operators(graph: onnx.GraphProto) -> list[str]:
    return [node.op_type for node in graph.node if node.op_type != "Constant"]


def inside(graph: onnx.GraphProto, name: str = "body") -> list[str]:
    (node,) = (node for node in graph.node if any(a.name == name for a in node.attribute))
    (body,) = (a.g for a in node.attribute if a.name == name)
    return operators(body)


def optimized(text: str, cost: str = "nodes") -> onnx.ModelProto:
    """The result, found right; a second optimisation changes nothing."""
    model = parsed(text)
    result = optimize(model, cost=cost, strict=True)
    assert verify(model, result.model).status == "passed"
    again = optimize(result.model, cost=cost, strict=True)
    assert again.report.cost.after == pytest.approx(result.report.cost.after)
    return result.model


def ran(model: onnx.ModelProto, **feeds: np.ndarray) -> list[np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def test_what_no_iteration_changes_is_computed_once() -> None:
    model = optimized(LOOP, "ascend")
    assert operators(model.graph) == ["Exp", "Mul", "Loop"]
    assert inside(model.graph) == ["MatMul", "Tanh", "Identity"]
    x, w = np.ones((8, 16), np.float32), np.zeros((16, 16), np.float32)
    for trips in (0, 1, 3):
        feeds = {"x": x, "w": w, "trips": np.array(trips)}
        for given, wanted in zip(ran(model, **feeds), ran(parsed(LOOP), **feeds), strict=True):
            np.testing.assert_array_equal(given, wanted)


GATHERING = LOOP.replace("Exp (w)", "Gather (w, rows)").replace(
    "int64 trips)", "int64 trips, int64[16] rows)"
)


def test_what_may_fail_stays_where_the_loop_may_not_run() -> None:
    model = optimized(GATHERING)
    assert operators(model.graph) == ["Loop"]
    x, w = np.ones((8, 16), np.float32), np.ones((16, 16), np.float32)
    wild = np.full(16, 99)
    (y,) = ran(model, x=x, w=w, trips=np.array(0), rows=wild)
    np.testing.assert_array_equal(y, x)


def test_what_may_fail_moves_where_the_loop_runs_for_certain() -> None:
    counted = GATHERING.replace("int64 trips, ", "").replace(
        "yes = Constant", "trips = Constant <value_int = 4> ()\n    yes = Constant"
    )
    assert operators(optimized(counted).graph) == ["Gather", "Mul", "Loop"]


def test_a_condition_that_may_not_hold_keeps_what_may_fail() -> None:
    counted = GATHERING.replace("int64 trips, ", "bool yes, ").replace(
        "yes = Constant <value = bool {1}> ()", "trips = Constant <value_int = 4> ()"
    )
    assert operators(optimized(counted).graph) == ["Loop"]


def test_random_numbers_are_drawn_in_each_iteration() -> None:
    drawing = LOOP.replace("e = Exp (w)", "e = RandomNormalLike (w)")
    result = optimize(parsed(drawing), cost="nodes")
    assert operators(result.model.graph) == ["Loop"]


SCAN = (
    HEAD
    + """
g (float[4] start, float[5, 4] xs, float[4] w) => (float[4] last, float[5, 4] ys) {
    last, ys = Scan <num_scan_inputs = 1, body = b (float[4] s, float[4] x) => (float[4] t, float[4] y) {
        e = Sigmoid (w)
        p = Mul (e, x)
        t = Add (s, p)
        y = Identity (t)
    }> (start, xs)
}
"""
)


def test_a_scan_likewise() -> None:
    model = optimized(SCAN)
    assert operators(model.graph) == ["Sigmoid", "Scan"]
    assert "Sigmoid" not in inside(model.graph)


KEPT = (
    HEAD
    + """
g (float[4] x, float[4] w, int64 trips) => (float[4] y, float[4] v, float[K, 4] seen) {
    yes = Constant <value = bool {1}> ()
    y, v, seen = Loop (trips, yes, x, w) <
        body = b (int64 i, bool c, float[4] s, float[4] k) => (bool d, float[4] t, float[4] l, float[4] k) {
            e = Exp (k)
            t = Mul (s, e)
            l = Identity (k)
            d = Identity (c)
        }
    >
}
"""
)


def test_what_a_loop_carries_along_unchanged_is_not_carried() -> None:
    model = optimized(KEPT)
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    assert (len(loop.input), len(loop.output)) == (3, 2)
    assert operators(model.graph)[0] == "Exp"
    x, w = np.arange(4, dtype=np.float32), np.linspace(-1, 1, 4, dtype=np.float32)
    for trips in (0, 2):
        feeds = {"x": x, "w": w, "trips": np.array(trips)}
        for given, wanted in zip(ran(model, **feeds), ran(parsed(KEPT), **feeds), strict=True):
            np.testing.assert_array_equal(given, wanted)


def test_a_loop_that_changes_nothing_is_none() -> None:
    text = KEPT.replace("t = Mul (s, e)", "t = Identity (s)").replace(", float[K, 4] seen)", ")")
    text = text.replace("y, v, seen =", "y, v =").replace(", float[4] l, float[4] k) {", ", float[4] l) {")
    assert operators(optimized(text).graph) == ["Identity", "Identity"]


NESTED = (
    HEAD
    + """
g (float[8, 16] x, float[16, 16] w) => (float[8, 16] y) {
    yes = Constant <value = bool {1}> ()
    two = Constant <value_int = 2> ()
    y = Loop (two, yes, x) <body = b (int64 i, bool c, float[8, 16] s) => (bool d, float[8, 16] t) {
        t = Loop (two, yes, s) <body = a (int64 j, bool k, float[8, 16] p) => (bool l, float[8, 16] q) {
            e = Exp (w)
            h = Sin (s)
            m = MatMul (p, e)
            q = Add (m, h)
            l = Identity (k)
        }>
        d = Identity (c)
    }>
}
"""
)


def test_work_of_an_inner_loop_goes_as_far_out_as_it_can() -> None:
    model = optimized(NESTED)
    assert operators(model.graph) == ["Exp", "Loop"]
    assert inside(model.graph) == ["Sin", "Loop", "Identity"]


BRANCHES = (
    HEAD
    + """
g (float[8, 16] x, float[16, 16] w, bool c) => (float[8, 16] y, float[16, 16] z) {
    y, z = If (c) <
        then_branch = yes () => (float[8, 16] p, float[16, 16] q) {
            e = Exp (w)
            k = Constant <value = float {3.0}> ()
            q = Mul (e, k)
            p = MatMul (x, q)
        },
        else_branch = no () => (float[8, 16] r, float[16, 16] s) {
            k = Constant <value = float {3.0}> ()
            e = Exp (w)
            s = Mul (e, k)
            m = MatMul (x, s)
            r = Tanh (m)
        }
    >
}
"""
)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
def test_what_both_branches_do_is_done_in_front_of_them(opset: int) -> None:
    model = optimized(BRANCHES.replace('"" : 17', f'"" : {opset}'))
    assert operators(model.graph) == ["Exp", "Mul", "MatMul", "If"]
    assert inside(model.graph, "else_branch") == ["Tanh"]


def test_branches_that_use_other_constants_share_what_is_before() -> None:
    """The first of two constants of one name and another number."""
    model = optimized(BRANCHES.replace("float {3.0}", "float {5.0}", 1))
    assert operators(model.graph) == ["Exp", "If"]
    assert inside(model.graph, "else_branch") == ["Mul", "MatMul", "Tanh"]


def test_what_one_branch_does_stays_in_it() -> None:
    model = optimized(BRANCHES.replace("Exp (w)", "Sin (w)", 1))
    assert operators(model.graph) == ["If"]


ALIKE = (
    HEAD
    + """
g (float[4] x, float[4] w, int64 trips, bool c) => (float[4] y, float[4] z) {
    yes = Constant <value = bool {1}> ()
    y = Loop (trips, yes, x) <body = b (int64 i, bool k, float[4] s) => (bool l, float[4] t) {
        e = Exp (w)
        t = Mul (s, e)
        l = Identity (k)
    }>
    z = Loop (trips, yes, x) <body = b (int64 i, bool k, float[4] s) => (bool l, float[4] t) {
        e = Sin (w)
        t = Add (s, e)
        l = Identity (k)
    }>
}
"""
)


def test_two_loops_that_use_one_name_for_what_moves() -> None:
    assert sorted(operators(optimized(ALIKE).graph)) == ["Exp", "Loop", "Loop", "Sin"]


HANDED = (
    HEAD
    + """
g (float[4] x, float[4] w, bool c, bool d) => (float[4] y) {
    y = If (c) <
        then_branch = t () => (float[4] p) {
            p = If (d) <
                then_branch = tt () => (float[4] e) { e = Exp (w) },
                else_branch = te () => (float[4] e) { f = Exp (w) e = Neg (f) }
            >
        },
        else_branch = e () => (float[4] e) { e = Exp (w) }
    >
}
"""
)


def test_what_is_handed_out_at_two_depths_has_two_names() -> None:
    model = optimized(HANDED)
    assert operators(model.graph)[-1] == "If"
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    for c in (False, True):
        for d in (False, True):
            feeds = {"x": x, "w": x, "c": np.array(c), "d": np.array(d)}
            for given, wanted in zip(ran(model, **feeds), ran(parsed(HANDED), **feeds), strict=True):
                np.testing.assert_array_equal(given, wanted)


def test_texts_that_may_be_no_numbers_are_read_where_the_loop_runs() -> None:
    reading = LOOP.replace("float[16, 16] w,", "string[16, 16] w,").replace(
        "e = Exp (w)", "e = Cast <to = 1> (w)"
    )
    assert operators(optimize(parsed(reading), cost="nodes").model.graph) == ["Loop"]


def test_long_branches_that_are_alike_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 60
    chain = "".join(f"v{k} = Tanh ({f'v{k - 1}' if k else 'w'}) " for k in range(steps))
    text = f"""{HEAD} g (float[4] w, bool c) => (float[4] y) {{
        y = If (c) <
            then_branch = t () => (float[4] p) {{ {chain} p = Neg (v{steps - 1}) }},
            else_branch = e () => (float[4] q) {{ {chain} q = Exp (v{steps - 1}) }}
        >
    }}"""
    asked = 0

    def counted(node: ir.Node) -> str | None:
        nonlocal asked
        asked += 1
        return plain_attributes(node)

    monkeypatch.setattr(code_motion, "plain_attributes", counted)
    assert operators(optimized(text).graph) == ["Tanh"] * steps + ["If"]
    assert asked < 30 * steps
