"""The place of the largest element does not move where elements keep their order.

ArgMax(Softmax(x)) -> ArgMax(x) along the same axis, likewise LogSoftmax and ArgMin
"""

from egraph_opt.laws import hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Flag, String, Tensor
from egraph_opt.operators import arg_reduce, softmax


@hosted()
def keeps_order(kind: str) -> bool:
    """Exp, Sigmoid and the like do too, and then answer alike for all that are large."""
    return kind in ("Softmax", "LogSoftmax")


@law(
    "arg_max",
    numerics="reassociates",
    kind="eliminate",
    serves="arithmetic",
    source="onnxoptimizer, eliminate_nop_monotone_argmax",
)
def of_softmax(x: Tensor, arg: String, kind: String, axis: Axis, keepdims: Flag, last: Flag):
    """ArgMax(Softmax(x)) = ArgMax(x) along the same axis, likewise LogSoftmax and ArgMin"""
    place = arg_reduce(arg, softmax(kind, x, axis), axis, keepdims, last)
    plain = arg_reduce(arg, x, axis, keepdims, last)
    yield rewrite(place, plain, keeps_order(kind), because="the Softmax is work for nothing")
