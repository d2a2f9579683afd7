"""The adapter to egglog: terms go in, rows come out, and one graph leaves nothing behind for the next."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest
from onnx import TensorProto

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.readout import take_snapshot
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.selection import select

FLOATS = Fact(TensorProto.FLOAT, (2, 3))


@pytest.fixture(scope="module")
def engine() -> Engine:
    """Without laws: what is in the tables was put there, or is a fact."""
    return Engine(())


def graph_of(*terms: tuple[Term, Fact | None]) -> Lowered:
    """Terms without any ONNX around them; the last one is the output."""
    lowered = Lowered(ir.Graph([], [], nodes=[]), 17)
    for term, fact in terms:
        lowered.terms.append(term)
        lowered.facts.append(fact)
        lowered.names.append([])
    lowered.outputs = [len(terms) - 1]
    return lowered


def leaves(count: int) -> list[tuple[Term, Fact | None]]:
    return [(Term("leaf", (k,), ()), FLOATS) for k in range(count)]


def loaded(engine: Engine, lowered: Lowered, **limits: int) -> Snapshot:
    engine.load(lowered, limits)
    return take_snapshot(engine, lowered)


def as_written(snapshot: Snapshot, term: int) -> tuple[str, str, list[int]]:
    """The e-node of a term: operator, attributes, and the terms of its operands."""
    node = int(snapshot.term_node[term])
    terms = {int(c): k for k, c in reversed(list(enumerate(snapshot.term_classes)))}
    operands = [terms[c] for c in snapshot.children(node)]
    return snapshot.operator[node], repr(snapshot.attributes[node]), operands


def padded(value: Any) -> tuple[Term, Fact | None]:
    return Term("pad", ("constant", (0, 0, 0, 1), value), (0,)), Fact(TensorProto.FLOAT, (2, 4))


def test_every_kind_of_attribute_and_operand_comes_back(engine: Engine) -> None:
    lowered = graph_of(
        *leaves(2),
        (Term("binary", ("Sub",), (1, 0)), FLOATS),
        (Term("transpose", ((1, 0),), (2,)), Fact(TensorProto.FLOAT, (3, 2))),
        (Term("split", (0, (1, 2)), (3,)), None),
        (Term("output", (1,), (4,)), Fact(TensorProto.FLOAT, (2, 2))),
        (Term("opaque", (0,), ((0, 5),)), None),
        (Term("output", (0,), (6,)), FLOATS),
    )
    snapshot = loaded(engine, lowered)
    assert snapshot.n_nodes == snapshot.n_classes == len(lowered.terms) == engine.size()
    for k, term in enumerate(lowered.terms):
        flat = [i for item in term.operands for i in (item if isinstance(item, tuple) else (item,))]
        assert as_written(snapshot, k) == (term.operator, repr(term.attributes), flat)
        assert snapshot.made_by[snapshot.term_node[k]] == 0


def test_facts_come_back_and_the_analysis_adds_those_that_follow(engine: Engine) -> None:
    lowered = graph_of(
        *leaves(1), (Term("split", (1, (1, 2)), (0,)), None), (Term("output", (1,), (1,)), Fact())
    )
    snapshot = loaded(engine, lowered)
    facts = [snapshot.facts[c] for c in snapshot.term_classes]
    assert facts == [FLOATS, Fact(), Fact(TensorProto.FLOAT, (2, 2))]


@pytest.mark.parametrize("length", [0, 1, 2, 300])
def test_lists_keep_their_elements_and_order(engine: Engine, length: int) -> None:
    items = tuple((7 * k) % 5 for k in range(length))
    lowered = graph_of(*leaves(5), (Term("opaque", (0,), (items,)), None))
    assert as_written(loaded(engine, lowered), 5)[2] == list(items)


def test_lists_of_what_lists_made(engine: Engine) -> None:
    lowered = graph_of(
        *leaves(3),
        (Term("concat", (1,), ((0, 1, 2),)), Fact(TensorProto.FLOAT, (2, 9))),
        (Term("concat", (1,), ((1, 2),)), Fact(TensorProto.FLOAT, (2, 6))),
        (Term("concat", (1,), ((4, 3, 4),)), Fact(TensorProto.FLOAT, (2, 21))),
    )
    snapshot = loaded(engine, lowered)
    assert [as_written(snapshot, k)[2] for k in (3, 4, 5)] == [[0, 1, 2], [1, 2], [4, 3, 4]]


def test_two_lists_share_their_common_end(engine: Engine) -> None:
    tail = tuple(range(1, 200))
    lowered = graph_of(
        *leaves(200), (Term("opaque", (0,), (tail,)), None), (Term("opaque", (0,), ((0, *tail),)), None)
    )
    loaded(engine, lowered)
    assert len(engine.tables()["cons"]) == 200


def test_objects_that_are_written_alike_are_one(engine: Engine) -> None:
    def settings() -> tuple[Any, ...]:
        name = "".join(["al", "pha"])  # not the same object each time
        return (name, (name, float("0.5"), None), (1000 + len(name), -1))

    first, second = ((Term("unary", ("Relu", (settings(),)), (0,)), FLOATS) for _ in range(2))
    snapshot = loaded(engine, graph_of(*leaves(1), first, second))
    assert snapshot.term_classes[1] == snapshot.term_classes[2]
    assert snapshot.n_nodes == 2


def test_numbers_that_are_equal_and_not_the_same_stay_apart(engine: Engine) -> None:
    values = [0.0, -0.0, 0, False, 1, True, 1.0, float("nan")]
    lowered = graph_of(*leaves(1), *(padded(value) for value in values))
    snapshot = loaded(engine, lowered)
    assert len(set(snapshot.term_classes.tolist())) == 1 + len(values)
    for k, value in enumerate(values, start=1):
        assert repr(snapshot.attributes[int(snapshot.term_node[k])][2]) == repr(value)


def test_a_graph_leaves_nothing_behind(engine: Engine) -> None:
    first = graph_of(*leaves(2), (Term("binary", ("Add",), (0, 1)), FLOATS), padded(2.0))
    second = graph_of(*leaves(1), (Term("opaque", (0,), ((),)), None))
    before = loaded(engine, first, pool_kernel=255)
    assert len(engine.tables()["limit"]) == 1
    other = loaded(engine, second)
    assert sorted(other.operator) == ["leaf", "opaque"]
    assert engine.tables()["limit"] == []
    again = loaded(engine, first, pool_kernel=255)
    assert again.operator == before.operator and again.attributes == before.attributes
    assert again.facts == before.facts
    assert again.node_class.tolist() == before.node_class.tolist()
    assert again.child.tolist() == before.child.tolist()


def test_two_engines_do_not_see_each_other(engine: Engine) -> None:
    other = Engine(())
    lowered, larger = graph_of(*leaves(1)), graph_of(*leaves(3), padded(0.0))
    loaded(engine, lowered)
    loaded(other, larger)
    assert (engine.size(), other.size()) == (1, 4)


def test_opset_and_limits_are_what_was_given(engine: Engine) -> None:
    engine.load(graph_of(*leaves(1)), {"pool_kernel": 255, "pool_stride": 63})
    tables = engine.tables()
    (opset,) = tables["opset"]
    assert engine.decode("int", opset.output) == 17
    rows = {engine.decode("string", r.inputs[0]): engine.decode("int", r.output) for r in tables["limit"]}
    assert rows == {"pool_kernel": 255, "pool_stride": 63}


def test_laws_are_applied_once_a_call_until_nothing_changes() -> None:
    laws = tuple(entry for entry in select(["transpose"]) if entry.name == "compose_transposes")
    engine = Engine(laws)
    x, turned = Fact(TensorProto.FLOAT, (2, 3, 4)), Fact(TensorProto.FLOAT, (4, 2, 3))
    lowered = graph_of(
        (Term("leaf", (0,), ()), x),
        (Term("transpose", ((2, 0, 1),), (0,)), turned),
        (Term("transpose", ((2, 0, 1),), (1,)), Fact(TensorProto.FLOAT, (3, 4, 2))),
    )
    engine.load(lowered, {})
    assert engine.rulesets == ("laws.transpose",)
    size = engine.size()
    changed, matches = engine.apply("laws.transpose")
    assert changed and matches == {"transpose.compose_transposes#0": 1, "transpose.compose_transposes#1": 0}
    engine.analyse()
    snapshot = take_snapshot(engine, lowered)
    made = [k for k in range(snapshot.n_nodes) if snapshot.made_by[k]]
    assert [(snapshot.operator[k], snapshot.attributes[k]) for k in made] == [("transpose", ((1, 2, 0),))]
    assert snapshot.laws[snapshot.made_by[made[0]] - 1] == "transpose.compose_transposes"
    assert snapshot.node_class[made[0]] == snapshot.term_classes[2]
    assert engine.size() == size + 1
    for _ in range(3):
        if not engine.apply("laws.transpose")[0]:
            break
    assert engine.apply("laws.transpose")[0] is False
