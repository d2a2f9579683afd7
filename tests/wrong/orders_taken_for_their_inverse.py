"""Orders of axes, letters and channels that are taken for their own inverse: three of them go round."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Equation, Permutation, String, Tensor, hosted, listed, rewrite
from egraph_opt.operators import ConvWindow, conv, dequantize, einsum, gather, softmax, transpose

from . import fires_on, of_one, wrong
from .letters_equal_or_in_another_order import lettered
from .scales_along_another_axis import EACH
from .sums_without_their_own_element import length_along


@hosted()
def turned_letters(e: Equation) -> Permutation | None:
    """Where each letter goes."""
    one, _, out = e.partition("->")
    if sorted(one) != sorted(out) or len(set(one)) != len(one) or not one.isalpha():
        return None
    return tuple(out.index(letter) for letter in one)


@wrong(
    "bitwise",
    lettered("abc->bca", (2, 2, 2)),
    examples=fires_on(
        lettered("ab->ba", (2, 3)), lettered("abc->acb", (2, 3, 4)), lettered("abcd->adcb", (2, 3, 4, 5))
    ),
)
def einsum_as_transpose(e: Equation, x: Tensor):
    """Einsum(x; abc->acb) = Transpose(x)

    Wrong where three letters go round.
    """
    yield rewrite(einsum(e, listed(x)), transpose(x, turned_letters(e)), because="no sum")


@hosted()
def place_of(p: Permutation, a: Axis) -> Axis | None:
    return p.index(a) if a < len(p) else None


def turned_softmax(p: tuple[int, ...], a: int, shape: tuple[int, ...] = (3, 3, 3)):
    return of_one(lambda x: softmax("Softmax", transpose(x, p), a), shape)


@wrong(
    "finite",
    turned_softmax((1, 2, 0), 2, (2, 3, 4)),
    examples=fires_on(turned_softmax((0, 2, 1), 2), turned_softmax((2, 1, 0), 0, (2, 3, 4))),
)
def softmax_of_turned(x: Tensor, p: Permutation, a: Axis, f: String):
    """Softmax_a(Transpose(x)) = Transpose(Softmax(x)) along the axis that a was

    Wrong where three axes go round.
    """
    yield rewrite(
        softmax(f, transpose(x, p), a), transpose(softmax(f, x, place_of(p, a)), p), because="later"
    )


@hosted()
def axis_before(p: Permutation, a: Axis, s: Fact) -> Axis | None:
    """The scales' axis of what is transposed."""
    return 0 if s.shape in ((), (1,)) else p.index(a)


def turned_bytes(p: tuple[int, ...], axis: int):
    return lambda g: dequantize(
        transpose(g.input((3, 3, 3), T.UINT8), p),
        g.constant(np.array(EACH["scales"])),
        g.constant(np.array(EACH["zeros"], np.uint8)),
        axis,
    )


@wrong(
    "bitwise",
    turned_bytes((1, 2, 0), 1),
    values=(1, 200, 30, 44),
    examples=fires_on(turned_bytes((0, 2, 1), 2), turned_bytes((2, 1, 0), 0)),
)
def bytes_turned_later(q: Tensor, s: Tensor, z: Tensor, a: Axis, p: Permutation):
    """DQ(Transpose(q)) = Transpose(DQ(q)), the scales along the axis where they are then

    Wrong where three axes go round.
    """
    yield rewrite(
        dequantize(transpose(q, p), s, z, a),
        transpose(dequantize(q, s, z, axis_before(p, a, s)), p),
        because="floats are turned",
    )


@hosted()
def is_order(i: Fact, w: Fact, u: ConvWindow) -> bool:
    return i.ints is not None and u.group == 1 and sorted(i.ints) == list(range(length_along(w, 1)))


def ordered(*i: int):
    def make(g):
        x = gather(g.input((1, len(i), 4, 4)), g.constant(np.array(i)), 1)
        return conv(x, g.random(2, len(i), 2, 2), g.random(2), ConvWindow((1, 1), (0,) * 4, (1, 1)))

    return make


@wrong("reassociates", ordered(1, 2, 0), examples=fires_on(ordered(1, 0), ordered(2, 1, 0), ordered(0, 2, 1)))
def order_into_weights(x: Tensor, i: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x[i], W) = Conv(x, W[i]) of channels in another order

    Wrong where that is not its own inverse.
    """
    yield rewrite(
        conv(gather(x, i, 1), w, b, u), conv(x, gather(w, i, 1), b, u), is_order(i, w, u), because="weights"
    )
