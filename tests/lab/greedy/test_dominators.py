"""Groups of operators by dominators, as TVM makes them."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.lab.greedy import GreedyModel
from egraph_opt.lab.greedy.dominators import FusionGraph, FusionKind, fusion_groups, post_dominators

KINDS = {
    "e": FusionKind.ELEMENT_WISE,
    "b": FusionKind.BROADCAST,
    "i": FusionKind.INJECTIVE,
    "r": FusionKind.REDUCTION,
    "c": FusionKind.OUT_FUSABLE,
    "o": FusionKind.OPAQUE,
}


def graph(kinds: str, edges: str, outputs: tuple[int, ...] = ()) -> FusionGraph:
    """Node k is of the k-th kind; "01 12" has an edge from 0 to 1 and from 1 to 2."""
    users: dict[int, list[int]] = {k: [] for k in range(len(kinds))}
    for edge in edges.split():
        users[int(edge[0])].append(int(edge[1]))
    kind = {k: KINDS[letter] for k, letter in enumerate(kinds)}
    return FusionGraph(users, kind, lambda user, operand: kind[user], outputs)


def groups(*given: object) -> list[set[int]]:
    found: dict[int, set[int]] = {}
    for node, last in fusion_groups(graph(*given)).items():  # type: ignore[arg-type]
        found.setdefault(last, set()).add(node)
    return sorted(found.values(), key=min)


def test_post_dominators_are_where_all_paths_meet() -> None:
    diamond = post_dominators(graph("eeeee", "01 02 13 23 34"))
    assert [diamond[k].parent for k in range(5)] == [3, 3, 3, 4, None]
    inner = post_dominators(graph("eee", "01 12", (1,)))
    assert [inner[k].parent for k in range(3)] == [1, None, None]


@pytest.mark.parametrize(
    ("kinds", "edges", "outputs", "expected"),
    [
        ("cee", "01 12", (), [{0, 1, 2}]),  # Conv, Relu, Neg
        ("cc", "01", (), [{0}, {1}]),  # two convolutions
        ("ceee", "01 02 13 23", (), [{0, 1, 2, 3}]),  # both branches meet
        ("ceoe", "01 02 13 23", (), [{0}, {1, 3}, {2}]),  # one of them is opaque
        ("cee", "01 12", (1,), [{0, 1}, {2}]),  # a value within is needed outside
        ("ce", "01", (0,), [{0}, {1}]),
        ("ber", "01 12", (), [{0, 1, 2}]),  # a prologue of a reduction
        ("re", "01", (), [{0}, {1}]),  # nothing joins what follows a reduction
        ("iii", "01 12", (), [{0, 1, 2}]),
        ("cie", "01 12", (), [{0}, {1, 2}]),  # a layout change keeps the convolution apart
        ("ec", "01", (), [{0}, {1}]),  # what comes before a convolution
    ],
)
def test_groups(kinds: str, edges: str, outputs: tuple[int, ...], expected: list[set[int]]) -> None:
    assert groups(kinds, edges, outputs) == expected


def test_kernels_by_dominators_cost_no_less_than_those_chosen_by_cost() -> None:
    """The value before a gate is read twice: TVM's rule leaves the product to itself, the target does not."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4, 50, 64] x, float[64, 64] w) => (float[4, 50, 64] y)
    { p = MatMul (x, w) s = Sigmoid (p) y = Mul (p, s) }"""
    gate = GreedyModel(parser.parse_model(text), "ascend")
    assert gate.cost(gate.original) <= gate.grouped_cost(gate.original)
    plain = GreedyModel(parser.parse_model(text.replace("Mul (p, s)", "Neg (s)")), "ascend")
    # A node in ND costs a view more than the same kernel with its conversions written out.
    view = Ascend().soc.view_us
    assert plain.grouped_cost(plain.original) == pytest.approx(plain.cost(plain.original), abs=view * 1.01)
