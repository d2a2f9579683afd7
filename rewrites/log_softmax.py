"""Softmax and its logarithm.

Log(Softmax(x)) = LogSoftmax(x)
Exp(LogSoftmax(x)) = Softmax(x)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from egglog import PyObject

from egraph_opt.law import Example, law, rewrite
from egraph_opt.law_testing import Operands
from egraph_opt.operators import softmax
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.terms import Tensor


def _log_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for shape, axis in (((7,), 0), (("N", 5), 1), ((2, "L", 3, 4), 1)):
        yield g.fires(apply_unary("Log", softmax("Softmax", g.input(shape), axis)))
    yield g.near_miss(apply_unary("Exp", softmax("Softmax", g.input((2, 3)), 1)), why="Exp is no logarithm")


@law("log_softmax", numerics="reassociates", examples=_log_examples)
def log_of_softmax(x: Tensor, axis: PyObject) -> Iterator[Any]:
    """Log(Softmax(x)) = LogSoftmax(x)

    Source: onnxoptimizer, fuse_consecutive_log_softmax.
    """
    yield rewrite(apply_unary("Log", softmax("Softmax", x, axis)), softmax("LogSoftmax", x, axis))


def _exp_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for shape, axis in (((7,), 0), (("N", 5), 1), ((2, "L", 3, 4), 1)):
        yield g.fires(apply_unary("Exp", softmax("LogSoftmax", g.input(shape), axis)))
    yield g.near_miss(apply_unary("Log", softmax("LogSoftmax", g.input((2, 3)), 1)), why="Log undoes nothing")


@law("log_softmax", numerics="reassociates", examples=_exp_examples)
def exp_of_log_softmax(x: Tensor, axis: PyObject) -> Iterator[Any]:
    """Exp(LogSoftmax(x)) = Softmax(x)

    Source: algebra.
    """
    yield rewrite(apply_unary("Exp", softmax("LogSoftmax", x, axis)), softmax("Softmax", x, axis))
