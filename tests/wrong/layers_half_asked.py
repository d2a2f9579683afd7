"""Recurrent layers of which half is asked: one of two states, the first length, one direction."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Slices, Tensor, Tensors, hosted, listed, rewrite
from egraph_opt.operators import Literal, concat, literal, none, output, recurrent, reshape, slice_
from egraph_opt.operators.recurrent import GATES, RecurrentLayer

from . import fires_on, wrong


def layer(
    g: Any,
    kind: str,
    x: Any,
    *,
    direction: str = "forward",
    lengths: Any = None,
    hidden: Any = None,
    cell: Any = None,
    settings: tuple[tuple[str, Any], ...] = (),
) -> Any:
    """Of two hidden units, on three features."""
    ways, rows = 1 + (direction == "bidirectional"), 2 * GATES[kind]
    weights = listed(g.random(ways, rows, 3), g.random(ways, rows, 2), g.random(ways, 2 * rows), none())
    rest = [none() if v is None else v for v in (lengths, hidden, cell)]
    given = (("direction", direction), ("hidden_size", 2), *settings)
    return recurrent(x, weights, *rest, RecurrentLayer(kind, given))


# --- one of both directions ------------------------------------------------------------------------------


@hosted()
def part_of_state(t: Slices, s: RecurrentLayer, y: Fact) -> Slices | None:
    """What is taken of the last state by a slice of the step with which the first direction ends."""
    if y.shape is None or not isinstance(y.shape[0], int):
        return None
    entries = {entry[0]: entry for entry in t}
    first = entries.get(1, (1, 0, None, 1))[1]
    back = s.direction == "reverse" or first == 1
    place = 0 if back else y.shape[0] - 1
    if entries.get(0) != (0, place, place + 1, 1):
        return None
    return tuple((axis - 1, *rest) for axis, *rest in t if axis)  # type: ignore[misc]


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape if y.is_symbolic else None


def last_step(kind: str, direction: str, *t: tuple[int, int, int, int]):
    return lambda g: slice_(output(layer(g, kind, g.input((5, 4, 3)), direction=direction), 0), t)


@wrong(
    "bitwise",
    last_step("LSTM", "bidirectional", (0, 4, 5, 1), (2, 0, 2, 1)),
    examples=fires_on(
        last_step("LSTM", "forward", (0, 4, 5, 1), (2, 0, 2, 1)),
        last_step("GRU", "reverse", (0, 0, 1, 1), (2, 1, 3, 1)),
        last_step("GRU", "bidirectional", (0, 0, 1, 1), (1, 1, 2, 1)),
        last_step("LSTM", "bidirectional", (0, 4, 5, 1), (1, 0, 1, 1)),
    ),
)
def step_that_is_a_state(x: Tensor, w: Tensors, h: Tensor, c: Tensor, s: RecurrentLayer, t: Slices):
    """Slice(all steps of RNN(x)) = Slice(last state) for the step with which a direction ends

    Wrong where both directions are taken: the other one ends elsewhere.
    """
    whole = recurrent(x, w, none(), h, c, s)
    cut = slice_(output(whole, 0), t)
    state = slice_(output(whole, 1), part_of_state(t, s, output(whole, 0)))
    yield rewrite(cut, reshape(state, dims_of(cut)), because="forgets the others")


# --- lengths ---------------------------------------------------------------------------------------------


@hosted()
def other_way(s: RecurrentLayer, t: Slices, x: Fact) -> RecurrentLayer | None:
    """The layer of the other direction, where all steps are turned round."""
    other = {"forward": "reverse", "reverse": "forward"}.get(s.direction)
    n = (x.shape or (None,))[0]
    if other is None or not isinstance(n, int) or t != ((0, n - 1, None, -1),):
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**dict(s.settings), "direction": other}.items())))


def turned_steps(kind: str, lengths: list[int], direction: str = "forward"):
    def make(g):
        x = slice_(g.input((5, 4, 3)), ((0, 4, None, -1),))
        some = g.constant(np.array(lengths, np.int32)) if lengths else None
        return output(layer(g, kind, x, direction=direction, lengths=some), 1)

    return make


@wrong(
    "reassociates",
    turned_steps("GRU", [5, 2, 4, 1]),
    examples=fires_on(
        turned_steps("GRU", []), turned_steps("LSTM", [], "reverse"), turned_steps("RNN", [5, 5, 5, 5])
    ),
)
def last_state_of_turned_steps(
    x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, t: Slices
):
    """the last state of RNN(x[::-1]) = that of RNN in the other direction(x)

    Wrong of lengths: short sequences have what is behind them in front.
    """
    found = recurrent(slice_(x, t), w, n, h, c, s)
    other = recurrent(x, w, n, h, c, other_way(s, t, x))
    yield rewrite(output(found, 1), output(other, 1), because="one way")


@hosted()
def has_whole_ones(lengths: Fact, x: Fact) -> bool:
    """The first sequence, which is the longest one, has all steps, and so has the last one."""
    if x.shape is None or lengths.ints is None or not lengths.ints:
        return False
    return lengths.ints[0] == lengths.ints[-1] == x.shape[0]


def of_lengths(kind: str, *lengths: int, direction: str = "forward"):
    def make(g):
        some = g.constant(np.array(lengths, np.int32))
        return output(layer(g, kind, g.input((5, len(lengths), 3)), direction=direction, lengths=some), 0)

    return make


@wrong(
    "bitwise",
    of_lengths("GRU", 5, 3, 5),
    examples=fires_on(of_lengths("GRU", 5, 5, 5), of_lengths("LSTM", 5, 5, direction="reverse")),
)
def sequences_of_all_steps(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer):
    """RNN(x, lengths) = RNN(x) where the first and the last sequence are whole

    Wrong where one between them is not: lengths need not be sorted.
    """
    given, short = recurrent(x, w, n, h, c, s), recurrent(x, w, none(), h, c, s)
    for k in (0, 1):
        yield rewrite(output(given, k), output(short, k), has_whole_ones(n, x), because="forgets n")


# --- states ----------------------------------------------------------------------------------------------


@hosted()
def begins_with_nothing(h: Fact) -> bool:
    return h.splat == 0


def begun(kind: str, cell: bool = False, direction: str = "forward"):
    def make(g):
        ways = 1 + (direction == "bidirectional")
        zeros = g.constant(np.zeros((ways, 4, 2), np.float32))
        c = g.input((ways, 4, 2)) if cell else zeros if kind == "LSTM" else None
        return output(layer(g, kind, g.input((5, 4, 3)), direction=direction, hidden=zeros, cell=c), 1)

    return make


@wrong(
    "finite",
    begun("LSTM", True),
    examples=fires_on(begun("LSTM"), begun("GRU"), begun("LSTM", direction="bidirectional")),
)
def layer_without_states(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer):
    """RNN(x, h, c) = RNN(x) where the state is 0 at first

    Wrong where the cell state is not.
    """
    given, plain = recurrent(x, w, n, h, c, s), recurrent(x, w, n, none(), none(), s)
    for k in (0, 1):
        yield rewrite(output(given, k), output(plain, k), begins_with_nothing(h), because="forgets dims")


# --- biases ----------------------------------------------------------------------------------------------


@hosted()
def half_of(b: Fact, k: int) -> Slices | None:
    """Of the biases of inputs, or of recurrences."""
    if b.shape is None or len(b.shape) != 2 or not isinstance(b.shape[1], int) or not b.const:
        return None
    n = b.shape[1] // 2
    return ((1, k * n, k * n + n, 1),)


@hosted()
def no_bias(b: Fact) -> Literal | None:
    """As many zeros as a half has; where there are some others."""
    if not b.is_static or b.shape is None or b.dtype != T.FLOAT or b.data is None:
        return None
    ways, n = b.shape[0], b.shape[1] // 2  # type: ignore[operator]
    rows = np.array(b.data).reshape(b.shape)  # type: ignore[arg-type]
    if not rows[:, n:].any() or np.abs(rows).max() > 10:
        return None
    return Literal(T.FLOAT, (ways, n), (0.0,) * (ways * n))  # type: ignore[arg-type, operator]


def biased(kind: str, *settings: tuple[str, Any]):
    return lambda g: output(layer(g, kind, g.input((5, 4, 3)), settings=settings), 0)


@wrong(
    "reassociates",
    biased("GRU", ("linear_before_reset", 1)),
    examples=fires_on(biased("GRU", ("linear_before_reset", 0)), biased("LSTM"), biased("RNN")),
)
def biases_in_one(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer
):
    """RNN(x; biases Wb, Rb) = RNN(x; biases Wb + Rb, 0)

    Wrong of a GRU that is linear before it resets: there the reset gate scales Rb.
    """
    both = concat(listed(slice_(b, half_of(b, 0)) + slice_(b, half_of(b, 1)), literal(no_bias(b))), 1)
    one = recurrent(x, listed(w, r, both, p), n, h, c, s)
    given = recurrent(x, listed(w, r, b, p), n, h, c, s)
    for k in (0, 1):
        yield rewrite(output(given, k), output(one, k), because="once")
