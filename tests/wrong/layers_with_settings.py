"""Recurrent layers: what their settings, gates and states change, and is forgotten."""

from typing import Any

import numpy as np

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Int, Settings, Tensor, hosted, listed, rewrite, tanh
from egraph_opt.laws.examples import Operands
from egraph_opt.operators import concat, none, output, recurrent, reshape, slice_, transpose, unary
from egraph_opt.operators.recurrent import GATES, RecurrentLayer

from . import fires_on, wrong

FORGETS = "forgets the setting"


def layer(g: Operands, kind: str, *, hidden: int = 2, bias: Any = None, cell: Any = None, h: Any = None,
          peepholes: Any = None, steps: int = 3, **settings: Any) -> Any:  # fmt: skip
    """A layer on sequences of three features, with the settings given besides."""
    rows, nothing = hidden * GATES[kind], none()
    x = g.input((steps, 2, 3))
    how = {"direction": "forward", "hidden_size": hidden, **settings}
    weights = [g.random(1, rows, 3), g.random(1, rows, hidden), nothing if bias is None else bias]
    return recurrent(
        x,
        listed(*weights, nothing if peepholes is None else peepholes),
        nothing,
        nothing if h is None else h,
        nothing if cell is None else cell,
        RecurrentLayer(kind, tuple(sorted(how.items()))),
    )


def last(made: Any) -> Any:
    return output(made, 1)


# --- settings ----------------------------------------------------------------------------------------------


@hosted()
def without_clip(s: RecurrentLayer) -> RecurrentLayer | None:
    """Sigmoid and Tanh do not change any more beyond 5."""
    how = dict(s.settings)
    if how.get("clip", 0.0) < 5:
        return None
    del how["clip"]
    return RecurrentLayer(s.kind, tuple(sorted(how.items())))


@wrong(
    "reassociates",
    lambda g: last(layer(g, "RNN", activations=("Relu",), clip=5.0)),
    values=(11.0, -12.0, 30.0),
    examples=fires_on(
        lambda g: last(layer(g, "LSTM", clip=20.0)), lambda g: last(layer(g, "RNN", clip=50.0))
    ),
)
def clip_of_large_sums(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x; clipped at 5 and more) = RNN(x)

    Wrong of a Relu, which has no bound.
    """
    how = listed(w, r, b, p)
    left = output(recurrent(x, how, none(), none(), none(), s), k)
    yield rewrite(
        left, output(recurrent(x, how, none(), none(), none(), without_clip(s)), k), because=FORGETS
    )


@hosted()
def reset_before(s: RecurrentLayer, b: Fact) -> RecurrentLayer | None:
    """A GRU without bias: nothing is added between the reset and the product."""
    how = dict(s.settings)
    if s.kind != "GRU" or how.get("linear_before_reset") != 1 or b != ABSENT:
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**how, "linear_before_reset": 0}.items())))


@wrong(
    "reassociates",
    lambda g: last(layer(g, "GRU", linear_before_reset=1)),
    examples=fires_on(lambda g: last(layer(g, "GRU", hidden=1, linear_before_reset=1))),
)
def reset_either_way(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """GRU(x; reset behind the product) = GRU(x; reset before it), without bias

    Wrong of several hidden units, each of which is reset by its own gate.
    """
    how = listed(w, r, b, p)
    left = output(recurrent(x, how, none(), none(), none(), s), k)
    yield rewrite(
        left, output(recurrent(x, how, none(), none(), none(), reset_before(s, b)), k), because=FORGETS
    )


@hosted()
def plain_gates(s: RecurrentLayer) -> RecurrentLayer | None:
    """An LSTM whose gates are not coupled."""
    how = dict(s.settings)
    if s.kind != "LSTM" or how.get("input_forget") != 1:
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**how, "input_forget": 0}.items())))


@wrong("reassociates", lambda g: last(layer(g, "LSTM", input_forget=1)))
def gates_are_coupled(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """LSTM(x; input and forget gate coupled) = LSTM(x)

    Wrong from the second step on, where there is something to forget, and at the first where coupling means
    that the input gate is another.
    """
    how = listed(w, r, b, p)
    left = output(recurrent(x, how, none(), none(), none(), s), k)
    yield rewrite(left, output(recurrent(x, how, none(), none(), none(), plain_gates(s)), k), because=FORGETS)


@hosted()
def usual_slope(s: RecurrentLayer) -> RecurrentLayer | None:
    """Without the parameters of activations, where the first of them is the default."""
    how = dict(s.settings)
    alphas = how.get("activation_alpha")
    if not alphas or abs(alphas[0] - 0.01) > 1e-7 or set(how.get("activations", ())) != {"LeakyRelu"}:
        return None
    del how["activation_alpha"]
    return RecurrentLayer(s.kind, tuple(sorted(how.items())))


def _leaky(*alphas: float):
    def witness(g):
        return last(layer(g, "GRU", activations=("LeakyRelu", "LeakyRelu"), activation_alpha=alphas))

    return witness


@wrong("reassociates", _leaky(0.01, 0.75), examples=fires_on(_leaky(0.01, 0.01)))
def slopes_by_default(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """GRU(x; slopes of 0.01) = GRU(x)

    Wrong where the second activation has another slope than the first.
    """
    how = listed(w, r, b, p)
    left = output(recurrent(x, how, none(), none(), none(), s), k)
    yield rewrite(left, output(recurrent(x, how, none(), none(), none(), usual_slope(s)), k), because=FORGETS)


@hosted()
def is_between_minus_one_and_one(s: RecurrentLayer, bounds: Settings, k: int) -> bool:
    """States are products of Tanh and Sigmoid, or means of such."""
    found = dict(bounds)
    low, high = found.get("min"), found.get("max")
    usual = set(dict(s.settings).get("activations", ())) <= {"Sigmoid", "Tanh", "HardSigmoid", "Softsign"}
    return usual and low is not None and low <= -1 and high is not None and high >= 1


def clip(x, bound: float):
    return unary("Clip", (("max", bound), ("min", -bound)), x)


@wrong(
    "finite",
    lambda g: clip(output(layer(g, "LSTM", cell=g.input((1, 2, 2))), 2), 1.0),
    examples=fires_on(
        lambda g: clip(last(layer(g, "GRU")), 1.0), lambda g: clip(last(layer(g, "LSTM")), 1.5)
    ),
)
def states_are_bounded(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, c: Tensor, s: RecurrentLayer,
                       t: Settings, k: Int):  # fmt: skip
    """Clip(RNN(x); -1, 1) = RNN(x) of bounded activations

    Wrong of the cell state of an LSTM, which adds up.
    """
    y = output(recurrent(x, listed(w, r, b, p), none(), none(), c, s), k)
    yield rewrite(unary("Clip", t, y), y, is_between_minus_one_and_one(s, t, k), because="forgets the bounds")


# --- states and gates --------------------------------------------------------------------------------------


@hosted()
def are_zeros(h: Fact) -> bool:
    return h != ABSENT and h.splat == 0


def _states(zero: bool):
    def witness(g):
        cells = np.zeros((1, 2, 2)) if zero else np.full((1, 2, 2), 0.75)
        return last(layer(g, "LSTM", h=g.constant(np.zeros((1, 2, 2))), cell=g.constant(cells)))

    return witness


@wrong("finite", _states(False), examples=fires_on(_states(True)))
def state_of_zeros(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, h: Tensor, c: Tensor,
                   s: RecurrentLayer, k: Int):  # fmt: skip
    """LSTM(x; h, c) = LSTM(x) where the initial state is 0

    Wrong where the cell state is not.
    """
    how = listed(w, r, b, p)
    left = output(recurrent(x, how, none(), h, c, s), k)
    yield rewrite(
        left, output(recurrent(x, how, none(), none(), none(), s), k), are_zeros(h), because="forgets both"
    )


@hosted()
def both_biases(s: RecurrentLayer, b: Fact) -> tuple[Any, Any] | None:
    """The slices of both biases, which are added."""
    rows = b.shape[1] if b.rank == 2 and b.is_static else None  # type: ignore[index]
    if s.kind not in ("GRU", "LSTM", "RNN") or rows is None or s.direction == "bidirectional":
        return None
    return ((1, 0, rows // 2, 1),), ((1, rows // 2, rows, 1),)  # type: ignore[operator]


def _biased(before: int):
    return lambda g: last(layer(g, "GRU", bias=g.random(1, 12), linear_before_reset=before))


@wrong("reassociates", _biased(1), examples=fires_on(_biased(0)))
def biases_of_gates_together(
    x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int
):
    """RNN(x; [b, c]) = RNN(x; [b + c, 0])

    Wrong of a GRU that resets behind its product: the second bias is reset as well.
    """
    parts = both_biases(s, b)
    first, second = slice_(b, parts[0]), slice_(b, parts[1])
    whole = concat(listed(first + second, second - second), 1)
    left = output(recurrent(x, listed(w, r, b, p), none(), none(), none(), s), k)
    right = output(recurrent(x, listed(w, r, whole, p), none(), none(), none(), s), k)
    yield rewrite(left, right, because="sums of biases would have parts again")


@hosted()
def one_step(s: RecurrentLayer, x: Fact, b: Fact) -> tuple[Any, Any] | None:
    """The dims of the only step, and of what comes of it."""
    if s.kind != "RNN" or not x.is_static or x.shape[0] != 1 or b != ABSENT or s.direction == "bidirectional":  # type: ignore[index]
        return None
    return (x.shape[1], x.shape[2]), (1, x.shape[1], dict(s.settings)["hidden_size"])  # type: ignore[index]


@hosted()
def rows_of(w: Fact) -> tuple[Any, ...] | None:
    return w.shape[1:] if w.is_static and w.rank == 3 else None  # type: ignore[index]


@wrong(
    "reassociates",
    lambda g: last(layer(g, "RNN", steps=1, activations=("Sigmoid",))),
    examples=fires_on(lambda g: last(layer(g, "RNN", steps=1))),
)
def step_as_product(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer):
    """The state of RNN(x) of one step = Tanh(x @ W'), without a bias or a state

    Wrong of another activation.
    """
    dims = one_step(s, x, b)
    product = reshape(x, dims[0]) @ transpose(reshape(w, rows_of(w)), (1, 0))
    left = output(recurrent(x, listed(w, r, b, p), none(), none(), none(), s), 1)
    yield rewrite(left, reshape(tanh(product), dims[1]), because="forgets R")


@hosted()
def is_nothing(c: Fact) -> bool:
    return c == ABSENT or c.splat == 0


@wrong(
    "reassociates",
    lambda g: last(layer(g, "LSTM", peepholes=g.random(1, 6))),
    examples=fires_on(lambda g: last(layer(g, "LSTM", peepholes=g.constant(np.zeros((1, 6)))))),
)
def peepholes_of_no_cell(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, c: Tensor, s: RecurrentLayer,
                         k: Int):  # fmt: skip
    """LSTM(x; peepholes) = LSTM(x) where the initial cell state is 0

    Wrong from the second step on, and of the output gate at the first.
    """
    left = output(recurrent(x, listed(w, r, b, p), none(), none(), c, s), k)
    right = output(recurrent(x, listed(w, r, b, none()), none(), none(), c, s), k)
    yield rewrite(left, right, is_nothing(c), because="forgets the peepholes")
