"""An engine has only the rules that can match, and the e-graph is what it would be with all of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from onnx import ModelProto, parser

from egraph_opt.egraph import commands, engines
from egraph_opt.egraph import engine as engine_module
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.engines import engine_for, forget_engines
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


def test_an_engine_goes_on_with_the_tables_of_one_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MOST_ENGINES", 1)
    rulesets = ("transpose", "elementwise", "reshape", "concat")
    forget_engines()
    alone = []
    for ruleset in rulesets:
        forget_engines()
        alone.append(written(saturated(GRAPHS[1], rewrites=[ruleset])[0]))
    forget_engines()
    first = engine_for(select(["transpose"]))
    e_graph = first._owned
    for _ in range(2):
        assert [written(saturated(GRAPHS[1], rewrites=[ruleset])[0]) for ruleset in rulesets] == alone
    last = engine_for(select(["concat"]))
    assert last is not first and last._owned is e_graph
    assert first.is_to_be_loaded_again
    first.load(terms_of(GRAPHS[0]), {})
    assert first._owned is not e_graph


def test_an_e_graph_that_failed_or_has_run_much_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(select(["transpose"]))
    engine.load(terms_of(GRAPHS[1]), {})
    monkeypatch.setattr(engine_module, "MOST_HANDED_ON", 0)
    assert engine.give_up() is None and not engine.is_to_be_loaded_again
    monkeypatch.undo()
    assert engine.give_up() is not None
    assert engine.give_up() is None, "it has none of its own any more"


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
