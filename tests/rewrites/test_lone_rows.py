"""Of rows that nothing reads, nothing is computed: the head of a transformer that reads one token."""

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome


def normalised(g: Graph, x: str) -> str:
    return g.add("LayerNormalization", x, g.weight(8, positive=True), g.weight(8), axis=-1)


def block(g: Graph, x: str) -> str:
    """A residual perceptron of each token."""
    inner = g.add("Relu", g.add("Add", g.add("MatMul", normalised(g, x), g.weight(8, 16)), g.weight(16)))
    return g.add("Add", x, g.add("MatMul", inner, g.weight(16, 8)))


@pytest.mark.parametrize(("opset", "index"), [(17, 0), (21, -1)])
def test_the_last_block_computes_the_token_that_is_read(opset: int, index: int) -> None:
    g = Graph(x=["N", 9, 8])
    token = g.add("Gather", normalised(g, block(g, "x")), g.constant(index), axis=1)
    made = g.model(g.add("MatMul", token, g.weight(8, 3)), opset=opset)
    cost = outcome(made, "flops").report.cost
    assert cost.after < 0.15 * cost.before
    check_settled(made, "flops")


def test_what_reads_two_parts_has_all_computed() -> None:
    g = Graph(x=["N", 9, 8])
    y = normalised(g, block(g, "x"))
    parts = [g.add("Slice", y, *(g.constant([n]) for n in (k, k + 6, 1))) for k in (0, 3)]
    cost = outcome(g.model(g.add("Sub", *parts), opset=17), "flops").report.cost
    assert cost.after >= 0.9 * cost.before
