"""The place of the largest element does not move where elements keep their order.

ArgMax(Softmax(x)) = ArgMax(x) along the same axis, likewise LogSoftmax and ArgMin
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, holds, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import arg_reduce, softmax
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor


@hosted(default=False)
def keeps_order(kind: str) -> bool:
    """Exp, Sigmoid and the like do too, and then answer alike for all that are large."""
    return kind in ("Softmax", "LogSoftmax")


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for shape, axis in (((7,), 0), (("N", 5), 1), ((2, "L", 3, 4), 1)):
        for kind, arg, last in (("Softmax", "ArgMax", 0), ("LogSoftmax", "ArgMin", 1)):
            yield g.fires(arg_reduce(arg, softmax(kind, g.input(shape), axis), axis, 1 - last, last))
    x = g.input((2, 3, 4))
    yield g.near_miss(arg_reduce("ArgMax", softmax("Softmax", x, 2), 1, 1, 0), why="another axis")
    yield g.near_miss(arg_reduce("ArgMax", softmax("Hardmax", x, 2), 2, 1, 0), why="order is lost")
    yield g.near_miss(arg_reduce("ArgMax", apply_unary("Sigmoid", x), 2, 1, 0), why="Sigmoid saturates")


@law("arg_max", numerics="reassociates", examples=_examples)
def of_softmax(
    x: Tensor, arg: String, kind: String, axis: PyObject, keepdims: PyObject, last: PyObject
) -> Iterator[Any]:
    """ArgMax(Softmax(x)) = ArgMax(x) along the same axis, likewise LogSoftmax and ArgMin

    Source: onnxoptimizer, eliminate_nop_monotone_argmax.
    """
    yield rewrite(
        arg_reduce(arg, softmax(kind, x, axis), axis, keepdims, last),
        arg_reduce(arg, x, axis, keepdims, last),
        holds(keeps_order, kind),
    )
