"""What surrounds RNN, GRU and LSTM: initial states, lengths, the last step, two directions."""

from collections import Counter

import numpy as np
import onnx
import pytest

from egraph_opt.operators.recurrent import GATES

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome


class Layers(Graph):
    """A graph with recurrent layers of 6 features and 5 hidden units."""

    opset = 17

    def squeezed(self, x: str, axis: int) -> str:
        return (
            self.add("Squeeze", x, axes=[axis])
            if self.opset < 13
            else self.add("Squeeze", x, self.constant([axis]))
        )

    def zeros(self, x: str, directions: int) -> str:
        """An initial state as PyTorch's exporter writes it."""
        batch = self.add("Gather", self.add("Shape", x), self.constant(1), axis=0)
        batch = self.add("Reshape", batch, self.constant([1]))
        dims = self.add("Concat", self.constant([directions]), batch, self.constant([5]), axis=0)
        return self.add("Expand", self.constant(np.zeros((directions, 1, 5), np.float32)), dims)

    def layer(
        self, kind: str, x: str, *states: str, direction: str = "forward", lengths: str = ""
    ) -> list[str]:
        directions, rows = 1 + (direction == "bidirectional"), 5 * GATES[kind]
        weights = (
            self.weight(directions, rows, 6),
            self.weight(directions, rows, 5),
            self.weight(directions, 2 * rows),
        )
        outputs = 3 if kind == "LSTM" else 2
        return self.add_many(
            kind, x, *weights, lengths, *states, outputs=outputs, hidden_size=5, direction=direction
        )


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("kind", GATES)
def test_zero_states_go(kind: str, opset: int) -> None:
    g = Layers(x=["T", "N", 6])
    g.opset = opset
    zero = g.zeros("x", 1)
    steps, *_ = g.layer(kind, "x", *[zero] * (1 + (kind == "LSTM")))
    assert check_settled(g.model(g.squeezed(steps, 1), opset=opset)) == {kind: 1, "Squeeze": 1}


def test_states_that_are_not_zero_stay() -> None:
    g = Layers(x=["T", 3, 6])
    g.input("h", [1, 3, 5])
    check_untouched(g.model(g.layer("LSTM", "x", "h", g.constant(np.full((1, 3, 5), 0.5, np.float32)))[1]))


def test_lengths_of_whole_sequences_go_and_others_stay() -> None:
    for length, kept in ((4, False), (3, True)):
        g = Layers(x=[4, "N", 6])
        batch = g.add("Reshape", g.add("Gather", g.add("Shape", "x"), g.constant(1)), g.constant([1]))
        lengths = g.add("Expand", g.constant(np.array([length], np.int32)), batch)
        made = outcome(g.model(*g.layer("GRU", "x", lengths=lengths)))
        assert made.counts == ({"GRU": 1, "Shape": 1, "Expand": 1} if kept else {"GRU": 1})


@pytest.mark.parametrize("dims", [["N", "T", 6], [2, 7, 6]])
def test_the_last_step_is_the_state(dims: list[int | str]) -> None:
    g = Layers(x=dims)
    steps, *_ = g.layer("LSTM", g.add("Transpose", "x", perm=[1, 0, 2]))
    rows = g.add("Transpose", g.squeezed(steps, 1), perm=[1, 0, 2])
    last = g.add("Gather", rows, g.constant(-1), axis=1)
    counts = check_settled(g.model(g.add("MatMul", last, g.weight(5, 3))))
    assert counts == {"Transpose": 1, "LSTM": 1, "Squeeze": 1, "MatMul": 1}


def test_a_slice_of_steps_that_may_be_none_stays() -> None:
    g = Layers(x=["T", 2, 6])
    steps, *_ = g.layer("LSTM", "x")
    check_untouched(g.model(g.add("Slice", steps, g.constant([-1]), g.constant([2**60]), g.constant([0]))))


def test_the_first_step_is_no_state() -> None:
    g = Layers(x=[7, 2, 6])
    steps, *_ = g.layer("GRU", "x")
    assert outcome(g.model(g.add("Gather", steps, g.constant(0), axis=0))).counts == {"GRU": 1, "Gather": 1}


def test_steps_beside_lengths_are_no_state() -> None:
    g = Layers(x=[7, 2, 6])
    steps, *_ = g.layer("GRU", "x", lengths=g.constant(np.array([7, 2], np.int32)))
    assert outcome(g.model(g.add("Gather", steps, g.constant(-1), axis=0))).counts == {"GRU": 1, "Gather": 1}


def test_steps_backwards_are_not_the_last_one() -> None:
    g = Layers(x=["T", 2, 6])
    steps, *_ = g.layer("GRU", "x")
    backwards = g.add("Slice", g.squeezed(steps, 1), *(g.constant([v]) for v in (-1, -(2**60), 0, -1)))
    model = g.model(g.add("Reshape", backwards, g.constant([-1, 10])))
    assert outcome(model).counts["Slice"] == 1


def _both_directions(*, reversal: bool, steps: int | str = 7) -> onnx.ModelProto:
    """Two layers, batch first; the second reads and writes its steps backwards, or is one in reverse."""
    g = Layers(x=[2, steps, 6])
    x = g.add("Transpose", "x", perm=[1, 0, 2])

    def backwards(x: str) -> str:
        bounds = (g.constant([v]) for v in (-1, -(2**60), 0, -1))
        return g.add("Slice", x, *bounds)

    ahead, *_ = g.layer("LSTM", x)
    if reversal:
        back = backwards(g.squeezed(g.layer("LSTM", backwards(x))[0], 1))
    else:
        back = g.squeezed(g.layer("LSTM", x, direction="reverse")[0], 1)
    both = g.add("Concat", g.squeezed(ahead, 1), back, axis=2)
    return g.model(g.add("Transpose", both, perm=[1, 0, 2]))


@pytest.mark.parametrize("reversal", [False, True])
def test_two_directions_are_one_layer(reversal: bool) -> None:
    model = _both_directions(reversal=reversal)
    assert check_settled(model) == {"Transpose": 2, "LSTM": 1, "Reshape": 1}
    assert outcome(model, "ascend").report.cost.after < 13.2


def test_two_directions_of_any_length_are_one_layer() -> None:
    assert check_settled(_both_directions(reversal=True, steps="T")) == {
        "Transpose": 2,
        "LSTM": 1,
        "Reshape": 1,
    }


def test_states_of_two_directions_are_one_state() -> None:
    g = Layers(x=["T", 3, 6])
    states = [g.layer("GRU", "x", direction=d)[1] for d in ("forward", "reverse")]
    assert check_settled(g.model(g.add("Concat", *states, axis=0))) == {"GRU": 1}


def test_two_layers_ahead_stay_two() -> None:
    g = Layers(x=["T", 3, 6])
    check_untouched(g.model(g.add("Concat", *(g.layer("GRU", "x")[1] for _ in "ab"), axis=0)))


def test_a_bidirectional_layer_of_pytorch() -> None:
    g = Layers(x=["N", "T", 6])
    x = g.add("Transpose", "x", perm=[1, 0, 2])
    zero = g.zeros(x, 2)
    steps, *_ = g.layer("LSTM", x, zero, zero, direction="bidirectional")
    joined = g.add("Reshape", g.add("Transpose", steps, perm=[0, 2, 1, 3]), g.constant([0, 0, -1]))
    model = g.model(g.add("Transpose", joined, perm=[1, 0, 2]))
    result = outcome(model, "ascend")
    assert result.counts == Counter({"Transpose": 2, "LSTM": 1, "Reshape": 1})
    assert result.report.cost.after < 14  # with three transposes 18.3, and 26.3 before


def test_one_step_is_the_state() -> None:
    g = Layers(x=[1, 3, 6])
    g.input("h", [1, 3, 5])
    steps, state = g.layer("GRU", "x", "h")
    results = (g.add("Relu", x) for x in (g.squeezed(steps, 0), state))
    assert outcome(g.model(*results)).counts["Relu"] == 1


@pytest.mark.parametrize("opset", [11, 17])
def test_a_state_that_the_node_left_out_is_an_output_then(opset: int) -> None:
    g = Graph(x=[7, 3, 6])
    steps = g.add("RNN", "x", g.weight(1, 5, 6), g.weight(1, 5, 5), hidden_size=5)
    last = g.add("Slice", steps, *(g.constant([k]) for k in (6, 7, 0)))
    result = outcome(g.model(g.add("Relu", last), opset=opset), "ascend")
    (layer,) = (node for node in result.model.graph.node if node.op_type == "RNN")
    assert len(layer.output) == 2 and layer.output[1]


@pytest.mark.parametrize(("kind", "dims", "opset"), [("LSTM", [3, 7, 6], 17), ("GRU", ["N", "T", 6], 11)])
def test_where_directions_end_are_their_states(kind: str, dims: list[int | str], opset: int) -> None:
    """out[:, -1, :5] and out[:, 0, 5:], batch first, of a bidirectional layer."""
    g = Layers(x=dims)
    g.opset = opset
    steps, *_ = g.layer(kind, g.add("Transpose", "x", perm=[1, 0, 2]), direction="bidirectional")
    joined = g.add("Reshape", g.add("Transpose", steps, perm=[0, 2, 1, 3]), g.constant([0, 0, 10]))
    rows = g.add("Transpose", joined, perm=[1, 0, 2])
    ends = []
    for step, start in ((-1, 0), (0, 5)):
        end = g.add("Gather", rows, g.constant(step), axis=1)
        ends.append(g.add("Slice", end, *(g.constant([k]) for k in (start, start + 5, 1))))
    model = g.model(g.add("MatMul", g.add("Concat", *ends, axis=1), g.weight(10, 3)), opset=opset)
    counts = check_settled(model)
    assert counts == {kind: 1, "Transpose": 2, "Reshape": 1, "MatMul": 1}
    assert outcome(model, "ascend").report.cost.after < 20  # 36 before


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_sequences_of_several_lengths_in_both_directions_are_one_layer(kind: str) -> None:
    g = Layers(x=[7, 3, 6])
    lengths = g.input("lengths", [3], onnx.TensorProto.INT32)
    wide = g.add("Cast", lengths, to=onnx.TensorProto.INT64)
    turned = {"batch_axis": 1, "time_axis": 0}
    ahead, *_ = g.layer(kind, "x", lengths=lengths)
    back, *_ = g.layer(kind, g.add("ReverseSequence", "x", wide, **turned), lengths=lengths)
    back = g.add("ReverseSequence", g.squeezed(back, 1), wide, **turned)
    counts = check_settled(g.model(g.add("Concat", g.squeezed(ahead, 1), back, axis=2)))
    assert counts == {kind: 1, "Transpose": 1, "Reshape": 1}


@pytest.mark.parametrize(("lengths", "nodes"), [([7, 7, 7], 1), ([1, 1, 1], 2), ([7, 6, 7], 3)])
def test_sequences_of_known_lengths_backwards(lengths: list[int], nodes: int) -> None:
    g = Layers(x=[7, 3, 6])
    turned = g.add("ReverseSequence", "x", g.constant(lengths), batch_axis=1, time_axis=0)
    ends = (g.constant([-1]), g.constant([-100]), g.constant([0]), g.constant([-1]))
    counts = check_settled(g.model(g.add("Sin", g.add("Slice", turned, *ends))))
    assert sum(counts.values()) == nodes


def test_full_lengths_around_a_layer_are_a_layer_in_reverse() -> None:
    g = Layers(x=[7, 3, 6])
    turned = g.add("ReverseSequence", "x", g.constant([7, 7, 7]), batch_axis=1, time_axis=0)
    _, state, *_ = g.layer("GRU", turned)
    assert check_settled(g.model(state)) == {"GRU": 1}
