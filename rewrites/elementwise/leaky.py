"""A slope that all elements share is a number: PRelu(x, c) = LeakyRelu(x; c)."""

import numpy as np

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted, law, rewrite
from egraph_opt.laws.sorts import Settings, Tensor
from egraph_opt.operators import binary, unary
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.elementwise.identities import beside_number


@hosted()
def one_slope(c: Fact, x: Fact) -> Settings | None:
    """The settings of the LeakyRelu that has the slope of every element; an attribute is a float32.

    PRelu takes integers, too.
    """
    if x.dtype not in KERNEL_FLOATS or x.const or c.splat is None or not broadcasts_into(c.shape, x.shape):
        return None
    slope = float(c.splat)
    return (("alpha", slope),) if float(np.float32(slope)) == slope else None


@law(
    "elementwise",
    numerics="bitwise",
    kind="replace",
    serves="traffic",
    source="ONNX, LeakyRelu and PRelu",
    examples=beside_number(lambda x, c: binary("PRelu", x, c), 0.25),
)
def one_slope_for_all(x: Tensor, c: Tensor):
    """PRelu(x, c) = LeakyRelu(x; c) where all of c is one number"""
    leaky = unary("LeakyRelu", one_slope(c, x), x)
    yield rewrite(binary("PRelu", x, c), leaky, because="runtimes have faster kernels for one slope")
