"""An engine has only the rules that can match, and the e-graph is what it would be with all of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from onnx import ModelProto, parser

from egraph_opt.egraph import commands
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.engines import MOST_ENGINES, engine_for, forget_engines
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.relevance import Head, Occurring, Terms, asking, heads_of_graph
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.selection import select
from egraph_opt.pipeline import saturate

GRAPHS = (
    "(float[2, 3, 4] x) => (float[2, 3, 4] y) { a = Relu (x) y = Relu (a) }",
    """(float[2, 3, 4] x, float[2, 3, 4] z) => (float[3, 4, 2] y) {
        a = Relu (x) s = Add (a, z) t = Transpose <perm = [2, 0, 1]> (s) u = Sigmoid (t) v = Mul (t, u)
        y = Transpose <perm = [2, 0, 1]> (v) }""",
    """(float[1, 8, 6, 6] x, float[1, 8, 6, 6] z) => (float[1, 16, 6, 6] y) {
        c = Concat <axis = 1> (x, z) p = MaxPool <kernel_shape = [1, 1]> (c) y = Identity (p) }""",
    """(float[2, 4, 8] q, float[2, 4, 8] k, float[2, 4, 8] v) => (float[2, 4, 8] y) {
        t = Transpose <perm = [0, 2, 1]> (k) s = MatMul (q, t) w = Softmax <axis = -1> (s)
        y = MatMul (w, v) }""",
)


def model_of(text: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')


def terms_of(text: str) -> Lowered:
    region = saturate(model_of(text), rewrites=[]).region
    assert region is not None
    return region.lowered


def saturated(
    text: str, limits: dict[str, int] | None = None, rewrites: list[str] | None = None
) -> tuple[Snapshot, SaturationReport]:
    return saturate_terms(
        terms_of(text), select(rewrites), limits or {}, nodes=10_000, rounds=10, seconds=600, strict=True
    )


def written(snapshot: Snapshot) -> object:
    """All of a snapshot."""
    arrays = (snapshot.node_class, snapshot.child_ptr, snapshot.child, snapshot.made_by, snapshot.term_node)
    return (
        snapshot.operator,
        repr(snapshot.attributes),
        snapshot.facts,
        *(array.tolist() for array in arrays),
    )


class Everything(Occurring):
    """Takes every rule to match from the start."""

    def __init__(self, rules: dict[str, Terms]) -> None:
        super().__init__(rules, asking(rules))
        self._pending = list(rules)

    def add(self, heads: Iterable[Head]) -> list[str]:
        pending, self._pending = self._pending, []
        return pending


@pytest.mark.parametrize("text", GRAPHS)
@pytest.mark.parametrize("limits", [{}, {"conv_kernel": 255, "pool_kernel": 255, "lift_conv1d": 1}])
def test_no_rule_is_left_out_that_matches(
    text: str, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_engines()
    some, report = saturated(text, limits)
    forget_engines()
    monkeypatch.setattr(commands.Program, "always", ())
    monkeypatch.setattr(commands.Program, "found", lambda program: Everything(program._terms))
    every, full_report = saturated(text, limits)
    assert (some.n_nodes, some.n_classes, report.rounds) == (
        every.n_nodes,
        every.n_classes,
        full_report.rounds,
    )
    assert {rule: n for rule, n in report.rule_matches.items() if n} == {
        rule: n for rule, n in full_report.rule_matches.items() if n
    }
    assert sorted(map(repr, some.facts)) == sorted(map(repr, every.facts))


def test_an_e_graph_does_not_depend_on_what_came_before() -> None:
    alone = []
    for text in GRAPHS:
        forget_engines()
        alone.append(written(saturated(text)[0]))
    for _ in range(2):
        assert [written(saturated(text)[0]) for text in GRAPHS] == alone
    assert [written(saturated(text)[0]) for text in reversed(GRAPHS)] == alone[::-1]


def test_an_engine_has_the_tables_that_its_rules_and_its_graph_name() -> None:
    engine = Engine(select(["transpose"]))
    engine.load(terms_of(GRAPHS[1]), {})
    tables = engine.program.tables.keys()
    there = engine._present & tables
    assert {"node", "fact", "transpose"} <= there, "what a graph is loaded into, and what is in it"
    assert len(there) < len(tables) / 3
    texts = [engine.program.rules[rule].text for rule in engine.rules]
    assert engine.program.tables_in(*texts) <= there


def test_a_graph_of_few_operators_has_few_rules() -> None:
    forget_engines()
    saturated(GRAPHS[0])
    engine = engine_for(select(None), heads=frozenset(heads_of_graph(terms_of(GRAPHS[0]), ())))
    assert 0 < len(engine.rules) < len(engine.program.rules) / 4
    assert not any(rule.startswith(("convolution.", "attention.")) for rule in engine.rules)


def test_engines_are_kept_and_a_graph_gets_its_own_where_that_has_paid_off() -> None:
    forget_engines()
    laws = select(None)
    program = commands.program_of(laws)
    program.needed.clear()
    program.spent.clear()
    small, large = (frozenset(heads_of_graph(terms_of(text), ())) for text in (GRAPHS[0], GRAPHS[1]))
    saturated(GRAPHS[0])
    first = engine_for(laws, heads=small)
    saturated(GRAPHS[1])
    assert engine_for(laws, heads=large) is first, "rules are added to the engine that there is"
    saturated(GRAPHS[0])
    assert engine_for(laws, heads=small) is first, "a few more rules are copied sooner than an engine is made"
    for _ in range(100):
        other = engine_for(laws, heads=small)
        if other is not first:
            break
    other.load(terms_of(GRAPHS[0]), {})
    assert other is not first and len(other.rules) < len(first.rules) / 2
    assert engine_for(laws, heads=small) is other
    assert engine_for(laws, heads=large) is first


def test_terms_are_told_apart_by_the_names_that_they_apply() -> None:
    rules = {
        "of_relu": Terms(frozenset({("unary", "Relu")}), frozenset({("binary", "Add")})),
        "of_any": Terms(frozenset({("binary", "?")}), frozenset({("binary", "?")})),
        "of_mul": Terms(frozenset({("binary", "Mul")}), frozenset({("unary", "*")})),
        "of_both": Terms(frozenset({("binary", "Mul"), ("unary", "Erf")}), frozenset()),
    }
    found = Occurring(rules, asking(rules))
    assert found.add([("unary", "Exp")]) == []
    assert found.add([("unary", "Relu")]) == ["of_relu"]
    assert found.add_written("of_relu") == ["of_any"]
    assert found.add_written("of_any") == [], "a name that occurs nowhere is not written"
    assert found.add([("pool", "Mul")]) == ["of_mul"], "one that occurs anywhere may be"
    assert found.add_written("of_mul") == ["of_both"]


def test_a_graph_of_a_new_kind_is_put_to_the_engine_with_the_most_rules() -> None:
    forget_engines()
    laws = select(None)
    small, large = (frozenset(heads_of_graph(terms_of(graph), ())) for graph in (GRAPHS[0], GRAPHS[1]))
    commands.program_of(laws).needed.clear()
    first = engine_for(laws, heads=large)
    first.load(terms_of(GRAPHS[1]), {})
    assert engine_for(laws, heads=small) is first


def test_so_many_engines_are_kept() -> None:
    forget_engines()
    chosen = [select([name]) for name in sorted({law.ruleset for law in select(None)})[: MOST_ENGINES + 1]]
    made = [engine_for(laws) for laws in chosen]
    assert all(engine_for(laws) is engine for laws, engine in zip(chosen[1:], made[1:], strict=True))
    assert engine_for(chosen[0]) is not made[0]
