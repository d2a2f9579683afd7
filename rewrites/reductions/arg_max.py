"""The place of the largest element does not move where elements keep their order.

ArgMax(Softmax(x)) -> ArgMax(x) along the same axis, ArgMin(LogSoftmax(x)) likewise
"""

from egraph_opt.laws import hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Flag, String, Tensor
from egraph_opt.operators import arg_reduce, softmax


@hosted()
def keeps_order(kind: str, arg: str) -> bool:
    """Exp, Sigmoid and the like do too, and then answer alike for all that are large.

    So does Softmax for all that are small: they are 0.
    """
    return kind == "LogSoftmax" or (kind == "Softmax" and arg == "ArgMax")


@law(
    "arg_max",
    numerics="reassociates",
    kind="eliminate",
    serves="arithmetic",
    source="onnxoptimizer, eliminate_nop_monotone_argmax",
)
def of_softmax(x: Tensor, arg: String, kind: String, axis: Axis, keepdims: Flag, last: Flag):
    """ArgMax(Softmax(x)) = ArgMax(x) along the same axis, likewise with LogSoftmax, and ArgMin with that
    one"""
    place = arg_reduce(arg, softmax(kind, x, axis), axis, keepdims, last)
    plain = arg_reduce(arg, x, axis, keepdims, last)
    yield rewrite(place, plain, keeps_order(kind, arg), because="the Softmax is work for nothing")
