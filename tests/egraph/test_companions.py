"""A rule gets the facts of operands along with the term, and those are the facts that there are."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt.egraph.companions import companions
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.program import rule_text
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import eq, hosted, rewrite, rule, union
from egraph_opt.laws.selection import select
from egraph_opt.laws.sides import statement_rules
from egraph_opt.laws.statements import Equality, Rule
from egraph_opt.operators import concat, reshape
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.expressions import Sort, Tensor, functions, variable
from egraph_opt.operators.sorts import Dims
from egraph_opt.operators.tables import known_with_facts
from egraph_opt.operators.terms import FACTS_OF, cons, nil
from egraph_opt.pipeline import saturate


@hosted()
def are_static(x: Fact, y: Fact) -> bool:
    return x.is_static and y.is_static


@hosted()
def dims_of(x: Fact) -> Dims | None:
    return x.shape


X, Y, Z = (variable(name, Sort("tensor")) for name in "xyz")


def text_of(statement: Equality | Rule) -> str:
    ((_, conditions, actions), *_) = statement_rules(statement, "law#0")
    return rule_text(conditions, actions, ruleset="laws", name="law#0")


def test_facts_of_operands_come_along_with_the_first_term_that_has_them() -> None:
    total: Tensor = X + Y
    found = companions((eq(Z, total * X), are_static(X, Y), are_static(Z, total)), ())
    assert found == {X: (total * X, 1), Y: (total, 1), total: (total * X, 0)}


def test_no_table_of_facts_is_joined_for_an_operand() -> None:
    text = text_of(rewrite(relu(X + Y), relu(Y + X), are_static(X, Y)))
    assert "(fact " not in text
    assert '(known_binary "Add" _x _y t1 f0 f1)' in text


def test_what_only_an_action_asks_for_comes_along_as_well() -> None:
    text = text_of(rewrite(relu(relu(X)), reshape(relu(X), dims_of(X)), because=""))
    assert "(fact " not in text and "(known_unary " in text


def test_lists_are_not_joined_for_two_operands_that_are_written_out() -> None:
    pair = concat(cons(X, cons(Y, nil())), 1)
    text = text_of(rule(eq(Z, pair), are_static(X, Y), then=union(Z, Y)))
    assert "(cons " not in text and "(fact " not in text
    assert "(known_concat_of_2 _x _y (py-object" in text


def test_lists_of_any_length_are_matched_as_they_are() -> None:
    rest = variable("rest", Sort("tensors"))
    for operands in (cons(X, rest), cons(X, cons(Y, cons(Z, nil())))):
        text = text_of(rule(eq(Z, concat(operands, 1)), then=union(Z, Y)))
        assert "(cons " in text and "_of_" not in text


def test_a_relation_of_listed_operands_is_filled_where_a_rule_matches_in_it() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float[2, 3] z) => (float[6, 2] y) {
        c = Concat <axis = 1> (x, z) y = Transpose <perm = [1, 0]> (c) }"""
    )
    region = saturate(model, rewrites=[]).region
    assert region is not None
    for chosen, rows in (("transpose.through_concat_of_two", 1), ("concat.single", 0)):
        engine = Engine(select([chosen]))
        engine.load(region.lowered, {})
        assert len(engine.tables().get("known_concat_of_2", ())) == rows


def test_a_term_that_no_operator_takes_has_its_fact_looked_up() -> None:
    text = text_of(rule(eq(Z, X + Y), dims_of(Z), then=union(Z, Y + X)))
    assert "(fact _z)" in text and '(binary "Add" _x _y)' in text


GRAPHS = (
    """(float[2, 3, 4] x, float[2, 3, 4] z) => (float[3, 4, 2] y) {
        a = Relu (x) s = Add (a, z) t = Transpose <perm = [2, 0, 1]> (s) u = Sigmoid (t) v = Mul (t, u)
        y = Transpose <perm = [2, 0, 1]> (v) }""",
    """(float[1, 8, 6, 6] x, float[1, 8, 6, 6] z) => (float[1, 16, 6, 6] y) {
        c = Concat <axis = 1> (x, z) p = MaxPool <kernel_shape = [1, 1]> (c) q = Neg (p) y = Neg (q) }""",
)


@pytest.mark.parametrize("text", GRAPHS)
def test_every_term_is_known_with_the_facts_that_its_operands_have(text: str) -> None:
    region = saturate(
        parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}'), rewrites=[]
    ).region
    assert region is not None
    engine = Engine(select(None))
    engine.load(region.lowered, {})
    changed = True
    while changed:
        changed = sum(engine.apply(ruleset)[0] for ruleset in engine.rulesets) > 0
        engine.analyse()
    tables = engine.tables()
    known_of = {
        kind: {row.inputs[0]: row.output for row in tables.get(of.name, ())} for kind, of in FACTS_OF.items()
    }
    checked = 0
    for function in functions().values():
        relation = known_with_facts(function)
        if relation is None or not tables.get(function.name):
            continue
        rows = {row.inputs for row in tables[relation.name]}
        for row in tables[function.name]:
            found = (
                known_of[function.parameters[k][1].kind][row.inputs[k]] for k in function.operand_positions
            )
            assert (*row.inputs, row.output, *found) in rows
            checked += 1
    assert checked > 10
