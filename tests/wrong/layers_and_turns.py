"""Layers and sums of steps, which are taken in another order, or in parts."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Float,
    Int,
    Number,
    Settings,
    Slices,
    Tensor,
    Tensors,
    hosted,
    listed,
    number_like,
    rewrite,
)
from egraph_opt.operators import (
    attention,
    concat,
    cumsum,
    gather_elements,
    none,
    output,
    recurrent,
    reduce,
    reverse_sequence,
    rotary,
    slice_,
    top,
    unary,
)
from egraph_opt.operators.recurrent import RecurrentLayer
from egraph_opt.operators.rotary import settings_of
from egraph_opt.rewrites.recurrent.states import example_layer, fixed_steps

from . import fires_on, of_one, wrong
from .resized_images import whole_backwards

# --- layers ----------------------------------------------------------------------------------------------


def of_lengths(*counts):
    def made(g):
        x = fixed_steps(g, 5)
        return output(example_layer(g, "GRU", x, lengths=g.constant(np.array(counts, np.int32))), 1)

    return made


@hosted()
def longest_is_whole(n: Fact, x: Fact) -> bool:
    return n.ints is not None and x.rank == 3 and max(n.ints, default=0) == x.shape[0]  # type: ignore[index]


@wrong("bitwise", of_lengths(5, 3, 5, 1), examples=fires_on(of_lengths(5, 5, 5, 5)))
def sequences_of_greatest_length(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer,
                                 k: Int):  # fmt: skip
    """RNN(x, lengths) = RNN(x) where the longest sequence has all steps

    Wrong where others have not.
    """
    short, whole = (output(recurrent(x, w, m, h, c, s), k) for m in (n, none()))
    yield rewrite(short, whole, longest_is_whole(n, x), because="forgets the lengths")


def best(largest, in_order):
    return (("largest", largest), ("sorted", in_order))


def first(in_order):
    return of_one(lambda x: slice_(output(top(x, 4, 1, best(1, in_order)), 0), ((1, 0, 1, 1),)), (3, 7))


def two_halves(kind):
    def made(g):
        first = example_layer(g, kind, fixed_steps(g, 2))
        weights, settings = first.arguments[1], first.arguments[-1]
        second = recurrent(fixed_steps(g, 3), weights, none(), output(first, 1), none(), settings.head.value)
        return output(second, 1)

    return made


@hosted()
def is_forwards(s: RecurrentLayer) -> bool:
    return s.direction == "forward"


@wrong("reassociates", two_halves("LSTM"), examples=fires_on(two_halves("GRU"), two_halves("RNN")))
def second_half_of_sequences(x: Tensor, y: Tensor, w: Tensors, s: RecurrentLayer):
    """The last state of RNN(y; the last state of RNN(x)) = the last state of RNN([x, y])

    Wrong of an LSTM, which begins y with no cell state.
    """
    first = recurrent(x, w, none(), none(), none(), s)
    second = recurrent(y, w, none(), output(first, 1), none(), s)
    whole = recurrent(concat(listed(x, y), 0), w, none(), none(), none(), s)
    yield rewrite(output(second, 1), output(whole, 1), is_forwards(s), because="forgets the halves")


@hosted()
def has_sequences_or_steps(axes: Axes) -> bool:
    return axes[0] < 2


def turned_rows(g):
    return reverse_sequence(g.input((2, 4, 3)), g.constant(np.array([4, 2])), 1)


@wrong("reassociates", lambda g: reduce("ReduceSum", turned_rows(g), (0,), 0))
def total_of_reversed_sequences(x: Tensor, n: Tensor, t: Int, a: Axes, k: Flag):
    """ReduceSum(ReverseSequence(x)) = ReduceSum(x) where steps are summed up, in any order

    Wrong where the first axis has the batch, and is summed up alone.
    """
    whole = reduce("ReduceSum", reverse_sequence(x, n, t), a, k)
    yield rewrite(whole, reduce("ReduceSum", x, a, k), has_sequences_or_steps(a), because="forgets n")


@hosted()
def is_bounded(s: Settings, r: RecurrentLayer, k: int) -> bool:
    """The bounds are -1 and 1, or beyond, and activations are the usual ones."""
    low, high = dict(s)["min"], dict(s)["max"]
    usual = k < 2 and not any(name.startswith("activation") for name, _ in r.settings)
    return usual and (low is None or low <= -1) and (high is None or high >= 1)


def bounded(kind, state=None):
    def made(g):
        hidden = none() if state is None else g.constant(np.full((1, 4, 2), state, np.float32))
        steps = output(example_layer(g, kind, fixed_steps(g, 2), hidden=hidden), 0)
        return unary("Clip", (("max", 1.0), ("min", -1.0)), steps)

    return made


@wrong("bitwise", bounded("GRU", 3.0), examples=fires_on(*(bounded(kind) for kind in ("GRU", "LSTM", "RNN"))))
def states_within_one(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, r: RecurrentLayer, k: Int,
                      s: Settings):  # fmt: skip
    """Clip(RNN(x)) = RNN(x) for bounds of -1 and 1 and beyond, since a hyperbolic tangent is within them

    Wrong of a GRU that begins with a greater state, of which it keeps a part.
    """
    states = output(recurrent(x, w, n, h, c, r), k)
    yield rewrite(unary("Clip", s, states), states, is_bounded(s, r, k), because="forgets the bounds")


# --- what is turned --------------------------------------------------------------------------------------


@hosted()
def turned(s: Settings) -> Settings:
    return tuple((name, 1 - value if name == "reverse" else value) for name, value in s)


@hosted()
def is_turn(x: Fact, t: Slices) -> bool:
    return len(t) == 1 and t == whole_backwards(x, (t[0][0],))


def both_ways(g):
    x, turn, axis = g.input((3, 3)), ((0, 2, None, -1),), g.constant(np.int64(1))
    return slice_(cumsum(slice_(x, turn), axis, (("exclusive", 1), ("reverse", 0))), turn)


@wrong("reassociates", both_ways)
def sums_between_turns(x: Tensor, a: Tensor, s: Settings, t: Slices):
    """CumSum(x[::-1])[::-1] = CumSum(x) from the other end

    Wrong where another axis is turned.
    """
    between = slice_(cumsum(slice_(x, t), a, s), t)
    yield rewrite(between, cumsum(x, a, turned(s)), is_turn(x, t), because="forgets t")


@hosted()
def place_from_the_end(x: Fact, t: Slices, a: Axis) -> Number | None:
    """The last place along the axis, which alone is turned."""
    whole = whole_backwards(x, (a,)) if x.rank is not None and a < x.rank else None
    return whole[0][1] if whole and t == whole else None


@wrong(
    "bitwise",
    lambda g: gather_elements(
        slice_(g.input((2, 3)), ((1, 2, None, -1),)), g.constant(np.array([[-1], [0]])), 1
    ),
)
def elements_of_turned(x: Tensor, i: Tensor, t: Slices, a: Axis):
    """GatherElements(x[::-1], i) = GatherElements(x, d - 1 - i) for the length d

    Wrong where i is counted from the end.
    """
    other = gather_elements(x, number_like(i, place_from_the_end(x, t, a)) - i, a)
    yield rewrite(gather_elements(slice_(x, t), i, a), other, because="forgets t")


def heads_turned(g):
    q, *rest = (g.input((1, 2, n, 4)) for n in (3, 5, 5))
    return attention(q, *(slice_(v, ((1, 1, None, -1),)) for v in rest), 0.5, 0)


@hosted()
def are_turned(k: Fact, t: Slices) -> bool:
    return bool(t) and t == whole_backwards(k, tuple(entry[0] for entry in t)) and t[-1][0] < 3


@wrong("reassociates", heads_turned, opset=23)
def keys_in_other_order(q: Tensor, k: Tensor, v: Tensor, t: Slices, s: Float, w: Flag):
    """Attention(q, k[::-1], v[::-1]) = Attention(q, k, v)

    Wrong where it is the heads that are turned, and those of q are not.
    """
    found = attention(q, slice_(k, t), slice_(v, t), s, w)
    yield rewrite(found, attention(q, k, v, s, w), are_turned(k, t), because="forgets t")


@hosted()
def only(a: Axis) -> Axes:
    return (a,)


@hosted()
def cosine(c: Fact, z: Fact) -> Float | None:
    return float(c.splat) if c.splat is not None and z.splat == 0 else None


def turned_by(part):
    def made(g):
        count = (part or 4) // 2
        angles = (g.constant(np.full((2, 3, count), v, np.float32)) for v in (-1.0, 0.0))
        return rotary(g.input((2, 2, 3, 4)), *angles, settings_of(0, 0, part))

    return made


def whole_turns(rng):
    return fires_on(turned_by(0), opset=23)(rng)


@wrong("finite", turned_by(2), opset=23, examples=lambda rng: whole_turns(rng))
def rotation_by_a_number(x: Tensor, c: Tensor, z: Tensor, s: Settings):
    """RotaryEmbedding(x, c, 0) = x * c for cosines that are all c

    Wrong where only a part of the features is rotated.
    """
    yield rewrite(rotary(x, c, z, s), x * number_like(x, cosine(c, z)), because="forgets the pairs")
