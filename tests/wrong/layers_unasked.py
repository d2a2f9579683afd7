"""Attributes of layers that a condition does not ask: heads in a row, another direction, all groups."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Settings, Slices, Tensor, hosted, listed, relu, rewrite
from egraph_opt.laws.sorts import Int, Tensors
from egraph_opt.operators import gather, group_norm, none, output, recurrent, rotary, slice_
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.rewrites.recurrent.states import fixed_steps

from . import fires_on, wrong

FLOAT = TensorProto.FLOAT

# --- heads ------------------------------------------------------------------------------------------------


def rotated(dims: tuple[int, ...], angles: tuple[int, int, int], heads: int = 0, part: int = 0):
    settings = (("interleaved", 0), ("num_heads", heads), ("rotary_embedding_dim", part))
    return lambda g: rotary(g.input(dims), g.input(angles), g.input(angles), settings)


@hosted()
def along_positions(t: Slices) -> Slices | None:
    """The part of the angles for that of x, [batch, heads, positions, features]."""
    return ((1, *t[0][1:]),) if len(t) == 1 and t[0][0] == 2 else None


@wrong(
    "finite",
    lambda g: slice_(rotated((1, 4, 8), (1, 4, 1), 2, 2)(g), ((2, 0, 4, 1),)),
    opset=23,
    examples=fires_on(lambda g: slice_(rotated((2, 3, 6, 8), (2, 6, 4))(g), ((2, 0, 3, 1),)), opset=23),
)
def rotated_positions(x: Tensor, c: Tensor, s: Tensor, f: Settings, t: Slices):
    """RotaryEmbedding(x, c, s)[:, :, a:b] = RotaryEmbedding(x[:, :, a:b], c[:, a:b], s[:, a:b])

    Wrong of heads in a row, [batch, positions, heads * size]: the third axis has the features.
    """
    c_part, s_part = (slice_(angles, along_positions(t)) for angles in (c, s))
    yield rewrite(slice_(rotary(x, c, s, f), t), rotary(slice_(x, t), c_part, s_part, f), because="less data")


@hosted()
def other_pairs(f: Settings, x: Fact) -> Settings | None:
    """Neighbours for halves, and halves for neighbours, if two features are rotated."""
    known = dict(f)
    if x.shape is None or known["rotary_embedding_dim"] not in (0, 2):
        return None
    if known["rotary_embedding_dim"] == known["num_heads"] == 0 and x.shape[-1] != 2:
        return None
    return tuple(sorted({**known, "interleaved": 1 - known["interleaved"]}.items()))


@wrong(
    "bitwise",
    rotated((1, 1, 4), (1, 1, 2), 1),
    opset=23,
    examples=fires_on(rotated((2, 3, 6, 2), (2, 6, 1)), opset=23),
)
def one_pair_either_way(x: Tensor, c: Tensor, s: Tensor, f: Settings):
    """RotaryEmbedding(x) of halves = RotaryEmbedding(x) of neighbours where there is one pair

    Wrong of heads in a row, whose sizes nobody asks.
    """
    yield rewrite(rotary(x, c, s, f), rotary(x, c, s, other_pairs(f, x)), because="one of both has a kernel")


# --- directions -------------------------------------------------------------------------------------------


@hosted()
def ends_with_relu(s: RecurrentLayer) -> bool:
    return s.kind == "RNN" and "Relu" in (dict(s.settings).get("activations") or ())


def steps_of(direction: str, *activations: str):
    settings = (("activations", activations), ("direction", direction), ("hidden_size", 2))

    def made(g):
        weights = (g.random(len(activations), 2, 3), g.random(len(activations), 2, 2), none(), none())
        layer = RecurrentLayer("RNN", settings)
        return relu(output(recurrent(fixed_steps(g, 5), listed(*weights), none(), none(), none(), layer), 0))

    return made


@wrong("finite", steps_of("bidirectional", "Relu", "Tanh"), examples=fires_on(steps_of("forward", "Relu")))
def relu_of_steps(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, k: Int):
    """Relu(RNN(x)) = RNN(x) where the activation is Relu

    Wrong of two directions, of which the second has another.
    """
    steps = output(recurrent(x, w, n, h, c, s), k)
    yield rewrite(relu(steps), steps, ends_with_relu(s), because="every result has a Relu")


# --- groups -----------------------------------------------------------------------------------------------


@hosted()
def stay_in_groups(i: Fact, k: Settings, x: Fact) -> bool:
    """All channels are there, and those of the first group come first."""
    if i.value is None or x.dtype != FLOAT or x.shape is None or len(i.value) != x.shape[1]:
        return False
    size = len(i.value) // dict(k)["num_groups"]
    return sorted(i.value) == list(range(len(i.value))) and sorted(i.value[:size]) == list(range(size))


def ordered(dims: tuple[int | str, ...], groups: int, *order: int):
    settings = (("epsilon", 1e-5), ("num_groups", groups))

    def made(g):
        x = group_norm(g.input(dims), g.random(len(order)), g.random(len(order)), settings)
        return gather(x, g.constant(np.array(order)), 1)

    return made


@wrong(
    "reassociates",
    ordered((1, 6, 4), 3, 0, 1, 2, 4, 3, 5),
    opset=21,
    examples=fires_on(ordered(("N", 6, 4), 2, 1, 2, 0, 3, 5, 4), opset=21),
)
def order_of_channels(x: Tensor, s: Tensor, b: Tensor, i: Tensor, k: Settings):
    """Gather(GroupNorm(x; s, b), i) = GroupNorm(Gather(x, i); Gather(s, i), Gather(b, i)) within groups

    Wrong of three groups: the first one stays, and the others are mixed.
    """
    before = group_norm(gather(x, i, 1), gather(s, i, 0), gather(b, i, 0), k)
    after = gather(group_norm(x, s, b, k), i, 1)
    yield rewrite(after, before, stay_in_groups(i, k, x), because="constants are gathered")
