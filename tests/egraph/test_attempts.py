"""A graph saturated by some laws, then by others: each attempt is as if it were the only one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from onnx import parser

from egraph_opt import saturate
from egraph_opt.egraph import engine as engines
from egraph_opt.egraph.attempts import Attempts
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.selection import select

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3,4] x) => (float[2,12] y) <int64[2] flat = {2, 12}>
{
    a = Transpose <perm = [0, 2, 1]> (x)
    b = Relu (a)
    c = Transpose <perm = [0, 2, 1]> (b)
    d = Relu (c)
    y = Reshape (d, flat)
}
"""
LAWS = select(["transpose", "elementwise", "reshape"])
LIMITS = {"nodes": 1000, "rounds": 20, "seconds": 60.0}


@pytest.fixture(scope="module")
def graph() -> Lowered:
    region = saturate(parser.parse_model(TEXT), rewrites=()).region
    assert region is not None
    return region.lowered


def only(*rulesets: str) -> Callable[[str], bool]:
    return lambda rule: rule.split(".")[0] in rulesets


def content(snapshot: Snapshot | None) -> object:
    assert snapshot is not None
    classes = snapshot.node_class.tolist(), snapshot.child.tolist(), snapshot.made_by.tolist()
    return snapshot.operator, snapshot.attributes, classes


def alone(graph: Lowered, *rulesets: str) -> object:
    return content(saturate_terms(graph, LAWS, {}, active=only(*rulesets), **LIMITS)[0])  # type: ignore[arg-type]


def test_attempts_leave_nothing_to_the_next(graph: Lowered) -> None:
    attempts = Attempts(LAWS, {}, **LIMITS)  # type: ignore[arg-type]
    tried = [("transpose",), ("elementwise",), ("transpose", "elementwise"), (), ("transpose",)]
    found = [content(attempts.saturated(graph, only(*rulesets))) for rulesets in tried]
    assert found == [alone(graph, *rulesets) for rulesets in tried]
    assert len({repr(each) for each in found}) == 3  # no Relu meets the other while Transposes stay


def test_a_graph_is_loaded_once(graph: Lowered, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(LAWS, {}, **LIMITS)  # type: ignore[arg-type]
    loads: list[Any] = []
    load = Engine.load

    def counted(*given: Any) -> None:
        loads.append(given)
        load(*given)

    monkeypatch.setattr(Engine, "load", counted)
    for _ in range(3):
        attempts.saturated(graph, only("transpose"))
    assert len(loads) == 1


def test_laws_that_are_wanted_have_to_match(graph: Lowered) -> None:
    attempts = Attempts(LAWS, {}, **LIMITS)  # type: ignore[arg-type]

    def is_of(ruleset: str) -> Callable[[str], bool]:
        return lambda law: law.startswith(f"{ruleset}.")

    assert attempts.saturated(graph, only("transpose", "reshape"), is_of("transpose")) is not None
    assert attempts.saturated(graph, only("transpose"), is_of("reshape")) is None
    assert attempts.saturated(graph, only("reshape"), is_of("transpose")) is None


def test_where_an_e_graph_cannot_be_dropped_a_graph_is_loaded_again(
    graph: Lowered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "never_drops", lambda: True)
    attempts = Attempts(LAWS, {}, **LIMITS)  # type: ignore[arg-type]
    for rulesets in (("transpose",), ("elementwise",)):
        assert content(attempts.saturated(graph, only(*rulesets))) == alone(graph, *rulesets)
