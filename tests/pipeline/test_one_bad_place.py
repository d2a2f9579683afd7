"""One place that spoils the result stays as it came, with a warning that names it; the rest is optimized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.errors import InternalError, VerificationError
from egraph_opt.laws import law, rewrite
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import declaration, unary
from egraph_opt.pipeline.places import needed, places_of
from egraph_opt.pipeline.saturating import Asked, read_as, saturated_as

pytestmark = pytest.mark.usefixtures("restored_laws")


def model(
    body: str, head: str = "float[2, 3] x", out: str = "float[?, ?] y", opset: int = 17
) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({head}) => ({out}) {{ {body} }}'
    )


def operators(made: onnx.ModelProto) -> list[str]:
    return sorted(node.op_type for node in made.graph.node)


TWICE = "t = Transpose <perm = [1, 0]> ({x}) {y} = Transpose <perm = [1, 0]> (t)"
"""Two nodes that go whatever is the matter elsewhere."""


def _ours_is_wrong() -> None:
    """A law of this package that holds where nothing is negative, and does not ask."""

    def bottom(x: Tensor) -> Any:
        """Abs(Floor(x)) = Floor(x)"""
        yield rewrite(unary("Abs", (), unary("Floor", (), x)), unary("Floor", (), x), because="wrong")

    bottom.__module__ = "egraph_opt.rewrites.elementwise.identities"
    law("elementwise", numerics="bitwise")(bottom)


PLACES = "s = Exp (x) f = Floor (s) p = Abs (f) g = Floor (x) q = Abs (g) r = Mul (p, q) " + TWICE.format(
    x="r", y="y"
)


def test_a_law_of_ours_that_does_not_fit_one_place_is_left_out_there() -> None:
    _ours_is_wrong()
    result = optimize(model(PLACES), "nodes")
    (warning,) = result.report.warnings
    assert result.report.verification.status == "passed"
    assert operators(result.model) == ["Abs", "Exp", "Floor", "Floor", "Mul"]
    assert (
        "law elementwise.bottom (bitwise) makes the outputs wrong at 'g', and was left out there" in warning
    )
    with pytest.raises(VerificationError, match=r"elementwise\.bottom"):
        optimize(model(PLACES), "nodes", strict=True)


@pytest.mark.parametrize("where", ["graph", "body"])
def test_what_meets_a_mistake_of_ours_stays_and_the_rest_is_optimized(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(node: object) -> None:
        raise KeyError("a mistake")

    lowering_of = declaration.lowering_of
    monkeypatch.setattr(
        "egraph_opt.egraph.lowering.lowering_of",
        lambda op_type: mistaken if op_type == "Softsign" else lowering_of(op_type),
    )
    if where == "graph":
        given = model("s = Softsign (x) " + TWICE.format(x="s", y="y"))
        kept = ["Softsign"]
    else:
        branches = """then_branch = a () => (float[2, 3] p) { p = Softsign (x) },
            else_branch = b () => (float[2, 3] q) { n = Neg (x) q = Neg (n) }"""
        body = f"s = If (c) <{branches}> " + TWICE.format(x="s", y="y")
        given, kept = model(body, "float[2, 3] x, bool c"), ["If"]
    result = optimize(given, "nodes")
    (warning,) = result.report.warnings
    assert result.report.status == "optimized" and operators(result.model) == kept
    name = "'s'" if where == "graph" else "'p'"
    assert f"what makes {name} stays as it came: an internal error" in warning and "KeyError" in warning
    with pytest.raises(InternalError, match="KeyError"):
        optimize(given, "nodes", strict=True)


def test_a_loop_of_no_iterations_has_the_shape_that_onnxruntime_gives_it() -> None:
    """It makes dims that it does not know 0: a body of which more is known gives another shape."""
    body = """a, s = Loop (n, , x) <body = b (int64 i, bool k, float[] v) => (bool l, float[] w, int64[] d) {
            l = Identity (k) w = Neg (v) d = Shape (v) }>
        y = Transpose <perm = [1, 0]> (s) u = Neg (a) z = Neg (u)"""
    given = model(body, "float[2, 3] x, int64 n", "int64[?, ?] y, float[?, ?] z")
    result = optimize(given, "nodes")
    assert result.report.verification.status == "passed" and result.report.status == "optimized"
    assert operators(result.model) == ["Loop", "Transpose"]


def test_as_few_places_as_do_are_found() -> None:
    asked: list[frozenset[str]] = []

    def is_right(names: Sequence[str]) -> bool:
        asked.append(frozenset(names))
        return {"e", "k"} <= set(names)

    assert needed([], list("abcdefghijklmnop"), is_right) == ["e", "k"]  # type: ignore[arg-type]
    assert len(asked) <= 2 * 2 * 4 + 2


def test_places_are_the_tensors_of_nodes_in_bodies_too() -> None:
    body = """c0 = Constant <value = float[1] {2}> () m = Mul (x, c0)
        y = If (c) <then_branch = a () => (float[2, 3] p) { p = Neg (m) },
            else_branch = b () => (float[2, 3] q) { q = Abs (m) }>"""
    given = read_as(model(body, "float[2, 3] x, bool c"), Asked())
    assert sorted(places_of(given.model)) == ["m", "p", "q", "y"]


def test_folded_constants_and_what_is_inlined_stay_as_well() -> None:
    """A place is left as it came by every stage."""
    text = """k = Neg (w) m = Add (x, k)
        y = If (t) <then_branch = a () => (float[2, 3] p) { p = Neg (m) },
            else_branch = b () => (float[2, 3] q) { q = Abs (m) }>"""
    given = model(text)
    for name, array in (("w", np.ones(3, np.float32)), ("t", np.array(True))):
        given.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    free = saturated_as(given, Asked()).extract("nodes").model
    kept = saturated_as(given, Asked(untouched=frozenset({"k", "y"}))).extract("nodes").model
    assert operators(free) == ["Add", "Neg"] and operators(kept) == ["Add", "If", "Neg"]
