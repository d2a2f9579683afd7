"""Softmax and its logarithm, spelled with exponentials and sums.

Exp(x) / ReduceSum(Exp(x)) -> Softmax(x)
x - Log(ReduceSum(Exp(x))) -> LogSoftmax(x)      likewise x - ReduceLogSumExp(x)
Log(Softmax(x)) -> LogSoftmax(x)                 Exp(LogSoftmax(x)) = Softmax(x)
Softmax(x + m) -> Softmax(x)                     m is the same along the axis; likewise x - m, LogSoftmax
Softmax(LogSoftmax(x)) -> Softmax(x)             likewise LogSoftmax
Softmax(x) -> 1                                  along an axis of one element

`composites.primitives` writes them out again.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, kernel, law, number_like, rewrite
from egraph_opt.laws.algebra import exp, log, varies
from egraph_opt.laws.sorts import Axes, Axis, Float, Int, String, Tensor
from egraph_opt.operators import cast, expand, reduce, softmax
from egraph_opt.rewrites.conditions.channels import is_moderate, known_elements, static_dims
from egraph_opt.rewrites.conditions.operands import beside, either_side
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
    """Whether something is left of what m is added to, or subtracted from, as far as m is known.

    In float64 as much as in float32: its larger numbers have no finer steps there.
    """
    dtype = TensorProto.FLOAT if m.dtype == TensorProto.DOUBLE else m.dtype
    return is_moderate(dtype, *(known_elements(m) or ()))


@hosted()
def masks_nothing(m: Fact) -> bool:
    """m is no mask that the model computes: (1 - mask) * -3e38 lies below 0, and who knows where it ends.

    Of an input nothing is known.  A maximum is subtracted, whether or not it is one of numbers above 0.
    """
    ends = () if m.const or m.interval is None else m.interval[:2]
    return bool(is_moderate(m.dtype, *ends))


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((1, 4))
    yield g.near_miss(softmax("Softmax", x - g.input((3, 1)), 1), why="the shift makes x bigger")
    yield g.near_miss(softmax("Softmax", x + g.input((3, 1)), 1), why="the shift makes x bigger")
    yield g.near_miss(softmax("Softmax", x - g.input((4,)), 1), why="it is another one along the axis")
    yield g.near_miss(softmax("Softmax", x - g.constant(3e38), 1), why="nothing is left of x")
    yield g.near_miss(softmax("Softmax", x + g.constant(-3e38), 1), why="nothing is left of x")
    mask = cast(g.input((1, 1), TensorProto.BOOL), TensorProto.FLOAT) * g.constant(-3e38)
    yield g.near_miss(softmax("Softmax", x + mask, 1), why="nothing may be left of x")
    rows = g.input(("N", 3, 4))
    for m in (g.constant(5.0), g.input(("N", 3, 1)), g.random(3, 1)):
        yield g.fires(softmax("Softmax", rows + m, 2))
        yield g.fires(softmax("LogSoftmax", m + rows, 2))


@law("softmax", numerics="reassociates", kind="eliminate", examples=_shift_examples, uses=(either_side,))
def level_shift(kind: String, x: Tensor, m: Tensor, k: Axis, i: Int):
    """Softmax(x + m) = Softmax(x), LogSoftmax(x + m) = LogSoftmax(x) where m is the same along the axis

    Likewise x - m.  As a rule m is the maximum, which the operator subtracts by itself.
    """
    level = (is_softmax(kind), is_level(m, x, k), fits(m, x), is_no_mask(m))
    for shifted, *known in ((x - m,), (beside("Add", x, m, i), masks_nothing(m))):
        yield rewrite(softmax(kind, shifted, k), softmax(kind, x, k), *level, *known, because="forgets m")


@law("softmax", numerics="reassociates", kind="eliminate")
def of_logarithm(kind: String, x: Tensor, k: Axis):
    """Softmax(LogSoftmax(x)) = Softmax(x), LogSoftmax(LogSoftmax(x)) = LogSoftmax(x)

    The inner one subtracts a number that is the same along the axis.
    """
    twice = softmax(kind, softmax("LogSoftmax", x, k), k)
    yield rewrite(twice, softmax(kind, x, k), is_softmax(kind), because="LogSoftmax could be repeated")


@hosted()
def of_one_element(kind: str, x: Fact, axis: Axis) -> Float | None:
    """What an axis of one element has: all there is, as a logarithm 0."""
    if x.shape is None or x.shape[axis] != 1:
        return None
    return 0.0 if kind == "LogSoftmax" else 1.0


def _lone_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 1, 4))
    yield from g.all_fire(softmax("Softmax", x, 1), softmax("LogSoftmax", x, 1))
    yield g.near_miss(softmax("Softmax", x, 2), why="there are four")
    yield g.near_miss(softmax("Softmax", g.input(("N", 4)), 0), why="there may be several")


@law("softmax", numerics="finite", kind="replace", source="attention of one token", examples=_lone_examples)
def of_one(kind: String, x: Tensor, k: Axis):
    """Softmax(x) = 1, LogSoftmax(x) = 0 along an axis of one element"""
    level = expand(number_like(x, of_one_element(kind, x, k)), static_dims(x))
    yield rewrite(softmax(kind, x, k), level, guard(varies(x)), because="forgets x")
