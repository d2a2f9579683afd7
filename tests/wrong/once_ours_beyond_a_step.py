"""What laws of this project said where a step on the way overflows, underflows, or is not there."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Tensor, exp, hosted, log, rewrite

from . import is_single, of_one, wrong

HUGE = 3e38


@wrong("reassociates", of_one(lambda x: log(exp(x)), (3,)), values=(-100.0, -101.0, -102.5))
def logarithm_of_any_exponential(x: Tensor):
    """Log(Exp(x)) = x

    Wrong below -88, where Exp has few digits, or none.
    """
    yield rewrite(log(exp(x)), x, is_single(x), because="every x would be a logarithm")


@hosted()
def are_alike(x: Fact, c: Fact) -> bool:
    return x.dtype == c.dtype == T.FLOAT and x.rank == 2 and x.shape == c.shape


def _shifted(g):
    shift, weight = np.full((2, 2), -1.0, np.float32), np.full((2, 2), HUGE, np.float32)
    return (g.input((2, 2)) + g.constant(shift)) @ g.constant(weight)


@wrong("reassociates", _shifted, values=(1.1,))
def product_of_any_sum(x: Tensor, c: Tensor, w: Tensor):
    """(x + c) @ W = x @ W + c @ W

    Wrong where the product of two constants is infinite.
    """
    yield rewrite((x + c) @ w, x @ w + c @ w, are_alike(x, c), because="apart")
