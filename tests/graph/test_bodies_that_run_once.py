"""Loops of one trip or none, Scans over one element: the body moves out, with what it counts and gathers."""

import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.verification import verify


def _optimized(text: str) -> onnx.ModelProto:
    """A model that computes the same."""
    model = parser.parse_model(text)
    onnx.checker.check_model(model)
    result = optimize(model, cost="nodes", strict=True)
    checked = verify(model, result.model)
    assert checked.status == "passed", checked.detail
    return result.model


def _types(text: str) -> list[str]:
    """The nodes that are left."""
    return sorted(n.op_type for n in _optimized(text).graph.node if n.op_type not in ("Constant", "Identity"))


def _loop(trips: str, condition: str = "", *, scanned: bool = False, opset: int = 17) -> str:
    """x + its index after `trips`, with the sine of each state where that is `scanned`."""
    results, inner = ("y, s", ", float[N] sine") if scanned else ("y", "")
    declared = ", float[T, N] s" if scanned else ""
    return f"""
    <ir_version: 8, opset_import: ["" : {opset}]>
    agraph (float[N] x, int64 t, bool c) => (float[N] y{declared}) {{
        zero = Constant <value = int64 {{0}}> ()
        one = Constant <value = int64 {{1}}> ()
        yes = Constant <value = bool {{1}}> ()
        no = Constant <value = bool {{0}}> ()
        {results} = Loop ({trips}, {condition}, x) <
            body = b (int64 i, bool going, float[N] a) => (bool on, float[N] z{inner}) {{
                on = Not (going)
                k = Cast <to = 1> (i)
                e = Exp (a)
                z = Add (e, k)
                {"sine = Sin (a)" if scanned else ""}
            }}
        >
    }}
    """


@pytest.mark.parametrize(
    ("trips", "condition", "scanned", "left"),
    [
        ("one", "", False, ["Exp"]),
        ("one", "yes", True, ["Exp", "Sin", "Unsqueeze"]),
        ("zero", "", False, []),
        ("t", "no", False, []),
        ("one", "no", False, []),
        ("one", "c", False, ["Loop"]),
        ("t", "yes", False, ["Loop"]),
        ("zero", "", True, ["Loop"]),
    ],
)
def test_loops(trips: str, condition: str, scanned: bool, left: list[str]) -> None:
    assert _types(_loop(trips, condition, scanned=scanned)) == left


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("length", [1, 2])
def test_scans(opset: int, length: int) -> None:
    found = _types(f"""
    <ir_version: 8, opset_import: ["" : {opset}]>
    agraph (float[3] h, float[3, {length}] x) => (float[3] y, float[3, {length}] s) {{
        y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
            body = b (float[3] a, float[3] v) => (float[3] z, float[3] w) {{
                z = Add (a, v)
                w = Sin (z)
            }}
        > (h, x)
    }}
    """)
    assert ("Scan" in found) == (length > 1)
    assert found.count("Sin") == (length == 1)


def test_a_loop_of_one_trip_in_the_body_of_another() -> None:
    model = _optimized("""
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[N] x, int64 t) => (float[N] y) {
        one = Constant <value = int64 {1}> ()
        y = Loop (t, , x) <
            body = b (int64 i, bool going, float[N] a) => (bool on, float[N] z) {
                on = Identity (going)
                z = Loop (one, , a) <
                    body = c (int64 j, bool more, float[N] v) => (bool again, float[N] w) {
                        again = Identity (more)
                        k = Cast <to = 1> (i)
                        u = Exp (v)
                        w = Add (u, k)
                    }
                >
            }
        >
    }
    """)
    (outer,) = (node for node in model.graph.node if node.op_type == "Loop")
    assert "Loop" not in [node.op_type for node in outer.attribute[0].g.node]
