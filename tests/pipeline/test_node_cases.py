"""A part of onnx's node tests: every fortieth and one an operator (`benchmarks/node_cases.py` runs all)."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from node_cases import NodeCase, at_opset, node_cases, run_case

STEP = 40
OPSETS = (11, 13, 16, 19, 23)
OF_AN_OPSET = 6


@pytest.fixture(scope="module")
def cases() -> list[NodeCase]:
    everything = node_cases()
    chosen = everything[::STEP]
    seen = {operator for case in chosen for operator in case.operators}
    for case in everything:
        if not seen.issuperset(case.operators):
            seen.update(case.operators)
            chosen.append(case)
    return chosen


def test_node_cases_answer_as_before(cases: list[NodeCase]) -> None:
    outcomes = [run_case(case, "nodes") for case in cases]
    assert [outcome for outcome in outcomes if outcome.failed] == []
    assert sum(outcome.status == "same" for outcome in outcomes) > len(outcomes) // 2


@pytest.mark.parametrize("opset", OPSETS)
def test_cases_of_other_opsets_keep_every_bit(cases: list[NodeCase], opset: int) -> None:
    """Where ONNX has the case in that opset; the first ones that are runnable, from a place of its own."""
    outcomes = []
    place = len(cases) * opset // (1 + max(OPSETS))
    for case in [*cases[place:], *cases[:place]]:
        moved = at_opset(case, opset)
        if moved is not None:
            outcomes.append(run_case(moved, "nodes", exactness="bitwise"))
        if sum(outcome.status == "same" for outcome in outcomes) == OF_AN_OPSET:
            break
    assert [outcome for outcome in outcomes if outcome.failed] == []
    assert sum(outcome.status == "same" for outcome in outcomes) == OF_AN_OPSET


def test_finite_cases_answer_as_before(cases: list[NodeCase]) -> None:
    outcomes = [run_case(case, "nodes", exactness="finite") for case in cases[::15]]
    assert [outcome for outcome in outcomes if outcome.failed] == []


def test_without_laws_a_graph_is_itself_up_to_sharing_folding_and_dead_code(cases: list[NodeCase]) -> None:
    cases = cases[::3]
    outcomes = [run_case(case, "nodes", []) for case in cases]
    assert [outcome for outcome in outcomes if outcome.failed] == []
    foreign = {}
    for case, outcome in zip(cases, outcomes, strict=True):
        if outcome.model is not None:
            extra = _nodes(outcome.model.graph) - _nodes(case.model.graph)
            foreign[case.name] = [key for key in extra if key[1] not in (*CONSTANT_FORMS, *_forms(case))]
    assert {name: nodes for name, nodes in foreign.items() if nodes} == {}


CONSTANT_FORMS = ("Constant", "ConstantOfShape", "Identity")
"""What a folded constant, or a value with two names, is written as."""


def _forms(case: NodeCase) -> tuple[str, ...]:
    """Operators with a simpler form, which lowering reads them as."""
    return ("Cast",) if "CastLike" in case.operators else ()


def _nodes(graph: onnx.GraphProto) -> Counter[tuple[str, str, str]]:
    """How often there is an operator with its attributes, in bodies too."""
    found: Counter[tuple[str, str, str]] = Counter()
    pending = [graph]
    while pending:
        for node in pending.pop().node:
            plain = [a for a in node.attribute if not a.HasField("g")]
            pending += [a.g for a in node.attribute if a.HasField("g")]
            attributes = "; ".join(sorted(str(a) for a in plain))
            found[node.domain, node.op_type, attributes] += 1
    return found
