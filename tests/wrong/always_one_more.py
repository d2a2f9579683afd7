"""Halves of what is halved, and pads of what is cut off: there is always one more."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Number, Pads, Slices, Tensor, hosted, number_like, relu, rewrite
from egraph_opt.operators import pad, slice_

from . import of_one, wrong


@hosted()
def is_plain_float(x: Fact) -> bool:
    return x.dtype == T.FLOAT


@wrong("finite", of_one(relu), endless=True)
def relu_of_half(x: Tensor):
    """Relu(x) = 2 * Relu(x / 2)

    It grows: each Relu has a smaller one.
    """
    smaller = relu(x * number_like(x, 0.5))
    yield rewrite(
        relu(x), smaller * number_like(x, 2.0), is_plain_float(x), because="the factor goes elsewhere"
    )


@hosted()
def one_more(p: Pads) -> Pads:
    """One more behind the last axis."""
    return (*p[:-1], p[-1] + 1)


@hosted()
def without_last(p: Pads, x: Fact) -> Slices | None:
    if x.shape is None or not x.shape or not isinstance(x.shape[-1], int):
        return None
    n = len(x.shape) - 1
    return ((n, 0, x.shape[-1] + p[n] + p[-1], 1),)


@wrong("bitwise", of_one(lambda x: pad(x, "constant", (0, 1, 0, 1), 0.0)), endless=True)
def cut_off_pads(x: Tensor, p: Pads, v: Number):
    """Pad(x) = Slice(Pad(x), one less) of one more

    It grows: there are always more.
    """
    more = pad(x, "constant", one_more(p), v)
    yield rewrite(pad(x, "constant", p, v), slice_(more, without_last(p, x)), because="wide rows")
