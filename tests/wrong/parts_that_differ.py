"""What is asked of the first of several numbers, where others differ from it."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    DataType,
    Dims,
    Int,
    Slices,
    Tensor,
    guard,
    hosted,
    is_constant,
    listed,
    number_like,
    relu,
    rewrite,
)
from egraph_opt.operators import concat, none, output, quantize, recurrent, reshape, reverse_sequence, slice_
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.rewrites.recurrent.states import fixed_steps

from . import fires_on, wrong

BYTE = TensorProto.UINT8

# --- scales and zero points -------------------------------------------------------------------------------


def parameters(g, scales, zeros):
    return g.constant(np.array(scales, np.float32)), g.constant(np.array(zeros, np.uint8))


@hosted()
def begins_with_zero(z: Fact, to: DataType) -> bool:
    first = z.splat if z.splat is not None else z.data[0] if z.data else None
    return first == 0 and to == BYTE


@wrong(
    "bitwise",
    lambda g: quantize(relu(g.input((1, 2))), *parameters(g, [0.5, 0.5], [0, 128]), 1, BYTE),
    examples=fires_on(lambda g: quantize(relu(g.input(("N", 4))), *parameters(g, 0.5, 0), 0, BYTE)),
)
def first_zero_point_is_zero(x: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Relu(x)) = Q(x) for a zero point of 0

    Wrong where the first one of several is 0, and others are not.
    """
    bounded = quantize(relu(x), s, z, a, to)
    yield rewrite(bounded, quantize(x, s, z, a, to), begins_with_zero(z, to), because="forgets Relu")


@hosted()
def axis_as_long(x: Fact, s: Fact) -> Axis | None:
    """The first axis of x that has as many parts as there are scales."""
    if s.shape is None or len(s.shape) != 1 or x.shape is None or s.shape[0] not in x.shape:
        return None
    return x.shape.index(s.shape[0])


@wrong(
    "bitwise",
    lambda g: quantize(reshape(g.input((2, 3, 2)), (6, 2)), *parameters(g, [0.01, 1.0], [0, 9]), 1, BYTE),
)
def scales_of_an_axis_as_long(x: Tensor, s: Tensor, z: Tensor, d: Dims, a: Axis, to: DataType):
    """Q(Reshape(x)) = Reshape(Q(x)), along the axis of x that has as many parts

    Wrong where another axis has as many.
    """
    bytes_ = quantize(x, s, z, axis_as_long(x, s), to)
    yield rewrite(quantize(reshape(x, d), s, z, a, to), reshape(bytes_, d), because="bytes are moved")


# --- sequences --------------------------------------------------------------------------------------------


@hosted()
def all_steps_backwards(x: Fact, n: Fact, time: int) -> Slices | None:
    """All steps, where the first sequence has them."""
    if not n.value or x.shape is None or n.value[0] != x.shape[time]:
        return None
    return ((time, x.shape[time] - 1, None, -1),)  # type: ignore[operator]


def sequences(*lengths: int):
    return lambda g: reverse_sequence(g.input((5, len(lengths), 2)), g.constant(np.array(lengths)), 0)


@wrong("bitwise", sequences(5, 2), examples=fires_on(sequences(5, 5, 5, 5)))
def first_sequence_is_whole(x: Tensor, n: Tensor, time: Int):
    """ReverseSequence(x, n) = x[::-1] where n is the number of steps

    Wrong where the first sequence has all steps, and others have not.
    """
    backwards = slice_(x, all_steps_backwards(x, n, time))
    yield rewrite(reverse_sequence(x, n, time), backwards, because="forgets the lengths")


@hosted()
def half(b: Fact, k: int) -> Slices | None:
    """The biases of the input, or those of the states."""
    if b.shape is None or len(b.shape) != 2 or not isinstance(b.shape[1], int):
        return None
    middle = b.shape[1] // 2
    return ((1, k * middle, (k + 1) * middle, 1),)


@hosted()
def are_apart(b: Fact) -> bool:
    """Not all biases are one number, and those of the states are not 0."""
    return b.splat is None and (b.data is None or any(b.data[len(b.data) // 2 :]))


def layer_of(kind: str, **more: int):
    def made(g):
        rows, nothing = 2 * GATES[kind], none()
        weights = listed(g.random(1, rows, 3), g.random(1, rows, 2), g.random(1, 2 * rows), nothing)
        layer = RecurrentLayer(kind, (("direction", "forward"), ("hidden_size", 2), *more.items()))
        return output(recurrent(fixed_steps(g, 3), weights, nothing, nothing, nothing, layer), 0)

    return made


@wrong(
    "reassociates",
    layer_of("GRU", linear_before_reset=1),
    examples=fires_on(layer_of("RNN"), layer_of("GRU"), layer_of("LSTM")),
)
def biases_added_at_once(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor,
    p: Tensor,
    n: Tensor,
    h: Tensor,
    c: Tensor,
    s: RecurrentLayer,
    k: Int,
):
    """RNN(x; b, d) = RNN(x; b + d, 0)

    Wrong of a GRU that multiplies the states by a gate together with d.
    """
    first, last = slice_(b, half(b, 0)), slice_(b, half(b, 1))
    both = concat(listed(first + last, last * number_like(b, 0.0)), 1)
    bounded = guard(are_apart(b), is_constant(b))
    once = recurrent(x, listed(w, r, both, p), n, h, c, s)
    layer = recurrent(x, listed(w, r, b, p), n, h, c, s)
    yield rewrite(output(layer, k), output(once, k), bounded, because="adds once")
