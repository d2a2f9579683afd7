"""Linear layers in front of RNN, GRU and LSTM go into their weights."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from egraph_opt.operators.recurrent import GATES

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome

Dims = list[int | str]
HIDDEN = 5


class Layers(Graph):
    """A graph with recurrent layers."""

    def linear(self, x: str, before: int, after: int) -> str:
        return self.add("Add", self.add("MatMul", x, self.weight(before, after)), self.weight(after))

    def layer(self, kind: str, x: str, features: int, *, both: bool = False, biased: bool = True) -> str:
        directions, rows = 1 + both, HIDDEN * GATES[kind]
        weights = [self.weight(directions, rows, features), self.weight(directions, rows, HIDDEN)]
        bias = [self.weight(directions, 2 * rows)] if biased else []
        direction = "bidirectional" if both else "forward"
        outputs = 3 if kind == "LSTM" else 2
        made = self.add_many(
            kind, x, *weights, *bias, outputs=outputs, hidden_size=HIDDEN, direction=direction
        )
        return made[0]


IN_FRONT: dict[str, Callable[[Layers, str], str]] = {
    "a product": lambda g, x: g.add("MatMul", x, g.weight(7, 4)),
    "a linear layer": lambda g, x: g.linear(x, 7, 4),
    "two of them": lambda g, x: g.linear(g.linear(x, 7, 9), 9, 4),
    "standardised features": lambda g, x: g.add(
        "MatMul", g.add("Div", g.add("Sub", x, g.weight(7)), g.weight(7, positive=True)), g.weight(7, 4)
    ),
}


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("name", IN_FRONT)
def test_what_is_in_front_goes_into_the_weights(name: str, opset: int) -> None:
    for kind in GATES:
        g = Layers(x=["T", "N", 7])
        y = g.layer(kind, IN_FRONT[name](g, "x"), 4, both=kind == "GRU", biased=kind != "RNN")
        assert check_settled(g.model(y, opset=opset)) == {kind: 1}
        assert outcome(g.model(y, opset=opset), "ascend").counts == {kind: 1}


@pytest.mark.parametrize("dims", [["N", "T", 7], [2, 6, 7]])
def test_behind_a_transpose_as_well(dims: Dims) -> None:
    g = Layers(x=dims)
    y = g.layer("LSTM", g.add("Transpose", g.linear("x", 7, 4), perm=[1, 0, 2]), 4)
    assert check_settled(g.model(y)) == {"Transpose": 1, "LSTM": 1}


def test_a_narrow_layer_in_front_of_a_wide_one_stays() -> None:
    g = Layers(x=["T", 2, 9000])
    y = g.layer("GRU", g.add("MatMul", "x", g.weight(9000, 3)), 3)
    check_untouched(g.model(y))


def test_what_varies_along_other_axes_stays() -> None:
    for dims in ([1, 2, 1], [6, 1, 1]):
        g = Layers(x=[6, 2, 4])
        check_untouched(g.model(g.layer("GRU", g.add("Mul", "x", g.weight(*dims)), 4)))
    g = Layers(x=[6, 2, 4])
    y = g.add("MatMul", "x", g.weight(4, 4))
    assert optimized(g.model(g.layer("RNN", y, 4), y)) == {"MatMul": 1, "RNN": 1}


def test_a_layer_that_is_shared_is_computed_once() -> None:
    g = Layers(x=["T", "N", 7])
    y = g.linear("x", 7, 4)
    made = g.model(g.layer("GRU", y, 4), g.layer("LSTM", y, 4))
    assert outcome(made).counts == {"GRU": 1, "LSTM": 1}
