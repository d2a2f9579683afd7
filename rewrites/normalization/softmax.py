"""Softmax and its logarithm, spelled with exponentials and sums.

Exp(x) / ReduceSum(Exp(x)) -> Softmax(x)
x - Log(ReduceSum(Exp(x))) -> LogSoftmax(x)      likewise x - ReduceLogSumExp(x)
Log(Softmax(x)) -> LogSoftmax(x)                 Exp(LogSoftmax(x)) = Softmax(x)
Softmax(x - m) -> Softmax(x)                     m is the same along the axis; likewise LogSoftmax

`composites.primitives` writes them out again.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, kernel, law, rewrite
from egraph_opt.laws.algebra import exp, log, varies
from egraph_opt.laws.sorts import Axes, Axis, Int, String, Tensor
from egraph_opt.operators import reduce, softmax
from egraph_opt.rewrites.conditions.channels import is_moderate, known_elements
from egraph_opt.rewrites.conditions.operands import either_side
from egraph_opt.rewrites.conditions.values import fits, is_kernel_float
from egraph_opt.rewrites.elementwise.identities import quotients
from egraph_opt.rewrites.normalization.layer_norm import KEPT

PARTS = "composites.primitives.softmax_parts"


@hosted()
def single_axis(axes: Axes) -> Axis | None:
    """The axis of a sum over one axis."""
    return axes[0] if len(axes) == 1 else None


@law(
    "softmax",
    numerics="reassociates",
    kind="composite",
    serves="accuracy",
    source="ONNX, Softmax",
    uses=(either_side,),
)
def softmax_of_exponentials(x: Tensor, a: Axes, i: Int):
    """Exp(x) / ReduceSum(Exp(x)) = Softmax(x)

    Softmax does not overflow where Exp does.
    """
    e = exp(x)
    for spelled in quotients(e, reduce("ReduceSum", e, a, KEPT), i):
        whole = softmax("Softmax", x, single_axis(a))
        yield rewrite(spelled, whole, kernel(is_kernel_float(x)), guard(varies(x)), inverse=PARTS)


@law("softmax", numerics="reassociates", kind="composite", serves="accuracy", source="ONNX, LogSoftmax")
def logarithm_of_sum(x: Tensor, a: Axes):
    """x - Log(ReduceSum(Exp(x))) = LogSoftmax(x), x - ReduceLogSumExp(x) = LogSoftmax(x)

    Likewise (x - Log(ReduceSum(Exp(x - m)))) - m where m is the greatest along the axis.
    """
    whole, floats = softmax("LogSoftmax", x, single_axis(a)), is_kernel_float(x)
    for total, known in (
        (log(reduce("ReduceSum", exp(x), a, KEPT)), kernel(floats)),
        (reduce("ReduceLogSumExp", x, a, KEPT), floats),
    ):
        yield rewrite(x - total, whole, known, guard(varies(x)), inverse=PARTS)
    greatest = reduce("ReduceMax", x, a, KEPT)
    rest = x - log(reduce("ReduceSum", exp(x - greatest), a, KEPT))
    yield rewrite(rest - greatest, whole, kernel(floats), guard(varies(x)), because="forgets the greatest")


@law("softmax", numerics="reassociates", kind="fuse", serves="accuracy", source="ONNX, LogSoftmax")
def logarithm(x: Tensor, k: Axis):
    """Log(Softmax(x)) = LogSoftmax(x), Exp(LogSoftmax(x)) = Softmax(x)"""
    soft, logarithmic = softmax("Softmax", x, k), softmax("LogSoftmax", x, k)
    yield rewrite(log(soft), logarithmic, because="Softmax underflows where LogSoftmax does not")
    yield equal(exp(logarithmic), soft)


@hosted()
def is_softmax(kind: str) -> bool:
    """Rounding decides what Hardmax answers."""
    return kind in ("Softmax", "LogSoftmax")


@hosted()
def is_level(m: Fact, x: Fact, axis: Axis) -> bool:
    """m, broadcast against x, is the same for all elements along the axis."""
    if m.shape is None or x.shape is None:
        return False
    from_end = len(x.shape) - axis
    return from_end > len(m.shape) or m.shape[-from_end] == 1


@hosted()
def is_no_mask(m: Fact) -> bool:
    """Whether something is left of what m is subtracted from, as far as a constant m is known.

    In float64 as much as in float32: its larger numbers have no finer steps there.
    """
    dtype = TensorProto.FLOAT if m.dtype == TensorProto.DOUBLE else m.dtype
    return is_moderate(dtype, *(known_elements(m) or ()))


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((1, 4))
    yield g.near_miss(softmax("Softmax", x - g.input((3, 1)), 1), why="the shift makes x bigger")
    yield g.near_miss(softmax("Softmax", x - g.input((4,)), 1), why="it is another one along the axis")
    yield g.near_miss(softmax("Softmax", x - g.constant(3e38), 1), why="nothing is left of x")


@law("softmax", numerics="reassociates", kind="eliminate", examples=_shift_examples)
def level_shift(kind: String, x: Tensor, m: Tensor, k: Axis):
    """Softmax(x - m) = Softmax(x), LogSoftmax(x - m) = LogSoftmax(x) where m is the same along the axis

    As a rule m is the maximum, which the operator subtracts by itself.
    """
    level = (is_softmax(kind), is_level(m, x, k), fits(m, x), is_no_mask(m))
    yield rewrite(softmax(kind, x - m, k), softmax(kind, x, k), *level, because="forgets m")
