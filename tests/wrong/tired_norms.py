"""Normalisation and recurrent layers: epsilons, ranks, lengths and directions that are forgotten."""

from typing import Any

import numpy as np

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import (
    Axes,
    Dims,
    Float,
    Int,
    Slices,
    Tensor,
    Tensors,
    approximate,
    hosted,
    listed,
    number_like,
    rewrite,
    sqrt,
)
from egraph_opt.operators import (
    batchnorm,
    instance_norm,
    layer_norm,
    none,
    output,
    recurrent,
    reshape,
    rms_norm,
    slice_,
    unary,
)
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong

# --- normalisation ---------------------------------------------------------------------------------------


@hosted()
def normalises_one(x: Fact, axes: Axes, e: Float) -> bool:
    return x.shape is not None and all(x.shape[k] == 1 for k in axes) and 0 < e <= 1e-4


def rms_of_one(e: float):
    return lambda g: rms_norm(g.input((4, 1)), g.random(1), (1,), e)


@wrong(
    approximate(1e-2),
    rms_of_one(1e-5),
    opset=23,
    values=(0.001, -0.002, 0.0005),
    examples=fires_on(rms_of_one(1e-5), rms_of_one(1e-6)),
)
def norm_of_single_elements(x: Tensor, s: Tensor, a: Axes, e: Float):
    """RMSNormalization(x; s) = Sign(x) * s along axes of one element, for a small epsilon

    Wrong of elements that are not large beside it.
    """
    yield rewrite(rms_norm(x, s, a, e), unary("Sign", (), x) * s, normalises_one(x, a, e), because="x / |x|")


@hosted()
def for_each_channel(c: Fact, x: Fact) -> bool:
    """[C, 1, 1], for as many channels as there are."""
    if c.shape is None or x.shape is None or len(c.shape) != 3 or len(x.shape) < 3:
        return False
    return c.shape[1:] == (1, 1) and isinstance(x.shape[1], int) and c.shape[0] == x.shape[1]


def shifted_norm(*shape: int):
    def make(g):
        n = shape[1]
        return instance_norm(g.input(shape), g.random(n), g.random(n), 1e-5) + g.random(n, 1, 1)

    return make


@hosted()
def row_of(c: Fact) -> Dims | None:
    return c.shape[:1] if c.shape is not None else None


@wrong(
    "reassociates",
    shifted_norm(2, 2, 5),
    examples=fires_on(shifted_norm(1, 3, 4, 4), shifted_norm(2, 3, 2, 5)),
)
def bias_behind_instance_norm(x: Tensor, s: Tensor, b: Tensor, e: Float, c: Tensor):
    """InstanceNormalization(x; s, b) + c = InstanceNormalization(x; s, b + c) for a c of [C, 1, 1]

    Wrong of images with one spatial axis, where the numbers are of instances.
    """
    yield rewrite(
        instance_norm(x, s, b, e) + c,
        instance_norm(x, s, b + reshape(c, row_of(c)), e),
        for_each_channel(c, x),
        because="one bias",
    )


def normed_twice(first: float, second: float):
    def make(g):
        def numbers():
            return [g.random(3), g.random(3), g.random(3), g.constant(np.array([0.01, 0.5, 2.0]))]

        return batchnorm(batchnorm(g.input((2, 3, 4)), *numbers(), first), *numbers(), second)

    return make


@wrong(
    "reassociates",
    normed_twice(1e-5, 1e-3),
    examples=fires_on(normed_twice(1e-5, 1e-5), normed_twice(1e-3, 1e-3)),
)
def batchnorms_in_a_row(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float,
    t: Tensor, c: Tensor, n: Tensor, w: Tensor, f: Float,
):  # fmt: skip
    """BatchNormalization(BatchNormalization(x)) = BatchNormalization(x) of another scale and bias

    Wrong where the epsilons differ, of which the second one is forgotten.
    """
    k = t / sqrt(w + number_like(w, e))
    yield rewrite(
        batchnorm(batchnorm(x, s, b, m, v, e), t, c, n, w, f),
        batchnorm(x, s * k, (b - n) * k + c, m, v, e),
        because="one kernel",
    )


@hosted()
def is_plain(s: Fact, e: Float, f: Float) -> bool:
    return s.splat == 1 and e <= 1e-5 and f <= 1e-5


def normed_again(e: float):
    def make(g):
        return layer_norm(layer_norm(g.input((2, 5)), g.constant(np.ones(5)), (1,), e), g.random(5), (1,), e)

    return make


@wrong(
    approximate(1e-2),
    normed_again(1e-5),
    values=(1.0, 1.001, 1.002, 0.999, 1.0005),
    examples=fires_on(normed_again(1e-5), normed_again(1e-6)),
)
def layer_norm_twice(x: Tensor, s: Tensor, t: Tensor, a: Axes, e: Float, f: Float):
    """LayerNormalization(LayerNormalization(x; 1); t) = LayerNormalization(x; t) for small epsilons

    Wrong of rows that hardly vary, of which the first one makes less than 1.
    """
    yield rewrite(
        layer_norm(layer_norm(x, s, a, e), t, a, f), layer_norm(x, t, a, f), is_plain(s, e, f), because="once"
    )


# --- recurrent layers ------------------------------------------------------------------------------------


@hosted()
def without_states(h: Fact, c: Fact, t: Slices) -> bool:
    return h == ABSENT and c == ABSENT and len(t) == 1 and t[0][0] == 2


@hosted()
def of_sequences(t: Slices) -> Slices:
    return ((1, *t[0][1:]),)


def some_sequences(kind: str, lengths: Any = None):
    def make(g):
        n, nothing = {"GRU": 6, "LSTM": 8, "RNN": 2}[kind], none()
        how = (("direction", "forward"), ("hidden_size", 2))
        weights = listed(g.random(1, n, 3), g.random(1, n, 2), nothing, nothing)
        rows = nothing if lengths is None else g.constant(np.array(lengths, np.int32))
        made = recurrent(g.input((3, 2, 3)), weights, rows, nothing, nothing, RecurrentLayer(kind, how))
        return slice_(output(made, 0), ((2, 0, 1, 1),))

    return make


@wrong(
    "finite", some_sequences("GRU", [3, 2]), examples=fires_on(some_sequences("GRU"), some_sequences("LSTM"))
)
def some_sequences_first(
    x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, t: Slices
):
    """RNN(x)[:, :, a:b] = RNN(x[:, a:b]) of sequences that begin with nothing

    Wrong where each has a length, of which there are too many then.
    """
    before = slice_(output(recurrent(x, w, n, h, c, s), 0), t)
    after = output(recurrent(slice_(x, of_sequences(t)), w, n, h, c, s), 0)
    yield rewrite(before, after, without_states(h, c, t), because="fewer sequences")


@hosted()
def ahead(x: Fact, s: RecurrentLayer) -> RecurrentLayer | None:
    """One step is one step, in whatever direction."""
    if x.shape is None or x.shape[0] != 1 or s.direction == "forward":
        return None
    return RecurrentLayer(s.kind, tuple(sorted({**dict(s.settings), "direction": "forward"}.items())))


def one_step(kind: str, direction: str):
    def make(g):
        n, nothing, d = {"GRU": 6, "RNN": 2}[kind], none(), 2 if direction == "bidirectional" else 1
        how = (("direction", direction), ("hidden_size", 2))
        weights = listed(g.random(d, n, 3), g.random(d, n, 2), nothing, nothing)
        return output(
            recurrent(g.input((1, 2, 3)), weights, nothing, nothing, nothing, RecurrentLayer(kind, how)), 1
        )

    return make


@wrong(
    "finite",
    one_step("RNN", "bidirectional"),
    examples=fires_on(one_step("GRU", "reverse"), one_step("RNN", "reverse")),
)
def one_step_in_any_direction(
    x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, k: Int
):
    """RNN(x; in any direction) = RNN(x) of one step

    Wrong of a layer that goes both ways, which has two of everything.
    """
    yield rewrite(
        output(recurrent(x, w, n, h, c, s), k),
        output(recurrent(x, w, n, h, c, ahead(x, s)), k),
        because="one way",
    )
