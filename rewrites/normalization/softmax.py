"""Softmax and its logarithm, spelled with exponentials and sums.

Exp(x) / ReduceSum(Exp(x)) = Softmax(x)
x - Log(ReduceSum(Exp(x))) = LogSoftmax(x)      likewise x - ReduceLogSumExp(x)
Log(Softmax(x)) = LogSoftmax(x)                 Exp(LogSoftmax(x)) = Softmax(x)
Softmax(x - m) = Softmax(x)                     m is the same along the axis; likewise LogSoftmax
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, reduce, softmax, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact
from egraph_opt.rewrites.elementwise.identities import broadcasts_into

KEPT = PyObject(1)
"""keepdims of reductions that are taken apart along the axis again."""


@hosted()
def one_axis(axes: tuple[int, ...], x: Fact) -> int | None:
    """The axis of a sum over one axis."""
    return axes[0] if len(axes) == 1 and x.dtype in KERNEL_FLOATS and not x.const else None


def _sum(x: Any, axis: int = 2, keepdims: int = 1) -> Any:
    return reduce("ReduceSum", x, (axis,), keepdims)


def _softmax_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3, "L")), g.input(("N", 3, "L"))
    e = unary("Exp", (), x)
    for axis in (1, 2):
        yield g.fires(binary("Div", e, _sum(e, axis)))
        yield g.fires(binary("Mul", e, unary("Reciprocal", (), _sum(e, axis))))
        yield g.fires(binary("Mul", unary("Reciprocal", (), _sum(e, axis)), e))
    yield g.near_miss(binary("Div", e, reduce("ReduceSum", e, (1, 2), 1)), why="a sum over two axes")
    yield g.near_miss(binary("Div", e, reduce("ReduceMean", e, (2,), 1)), why="a mean")
    yield g.near_miss(binary("Div", unary("Exp", (), z), _sum(e)), why="the sum is another tensor's")
    g = Operands(rng)
    e = unary("Exp", (), g.input((4, 4)))
    yield g.near_miss(binary("Div", e, _sum(e, 1, 0)), why="sums of rows divide columns")


@law("softmax", numerics="reassociates", examples=_softmax_examples)
def softmax_of_exponentials(x: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """Exp(x) / ReduceSum(Exp(x)) = Softmax(x)

    Source: ONNX, Softmax, which does not overflow where Exp does.
    """
    e = unary("Exp", (), x)
    total = reduce("ReduceSum", e, a, KEPT)
    inverse = unary("Reciprocal", (), total)
    for spelled in (binary("Div", e, total), binary("Mul", e, inverse), binary("Mul", inverse, e)):
        yield rewrite(spelled, softmax("Softmax", x, k), let(k, one_axis, a, fact(x)))


def _log_sum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3, "L")), g.input(("N", 3, "L"))
    total = unary("Log", (), _sum(unary("Exp", (), x)))
    yield g.fires(binary("Sub", x, total))
    yield g.fires(binary("Sub", x, reduce("ReduceLogSumExp", x, (1,), 1)))
    yield g.near_miss(binary("Sub", z, total), why="the sum is another tensor's")
    yield g.near_miss(binary("Sub", total, x), why="the other way round")
    yield g.near_miss(binary("Sub", x, reduce("ReduceLogSumExp", x, (0, 1), 1)), why="two axes")


@law("softmax", numerics="reassociates", examples=_log_sum_examples)
def logarithm_of_sum(x: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """x - Log(ReduceSum(Exp(x))) = LogSoftmax(x), x - ReduceLogSumExp(x) = LogSoftmax(x)

    Source: ONNX, LogSoftmax.
    """
    spelled = unary("Log", (), reduce("ReduceSum", unary("Exp", (), x), a, KEPT))
    for total in (spelled, reduce("ReduceLogSumExp", x, a, KEPT)):
        soft = softmax("LogSoftmax", x, k)
        yield rewrite(binary("Sub", x, total), soft, let(k, one_axis, a, fact(x)))


def _logarithm_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    yield g.fires(unary("Log", (), softmax("Softmax", x, 1)))
    yield g.fires(unary("Exp", (), softmax("LogSoftmax", x, 1)))
    yield g.near_miss(unary("Log", (), softmax("LogSoftmax", x, 1)), why="a second logarithm")
    yield g.near_miss(unary("Exp", (), softmax("Softmax", x, 1)), why="an exponential of Softmax")


@law("softmax", numerics="reassociates", examples=_logarithm_examples)
def logarithm(x: Tensor, k: PyObject) -> Iterator[Any]:
    """Log(Softmax(x)) = LogSoftmax(x), Exp(LogSoftmax(x)) = Softmax(x)

    Source: ONNX, LogSoftmax, which does not underflow where Softmax does.
    """
    yield rewrite(unary("Log", (), softmax("Softmax", x, k)), softmax("LogSoftmax", x, k))
    yield rewrite(unary("Exp", (), softmax("LogSoftmax", x, k)), softmax("Softmax", x, k))


@hosted(default=False)
def is_level(kind: str, x: Fact, m: Fact, axis: int) -> bool:
    """m is the same for all elements along the axis, and x - m has the shape of x."""
    if kind not in ("Softmax", "LogSoftmax") or m.shape is None or x.shape is None:
        return False
    from_end = len(x.shape) - axis
    same = from_end > len(m.shape) or m.shape[-from_end] == 1
    return same and broadcasts_into(m.shape, x.shape)


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    for kind in ("Softmax", "LogSoftmax"):
        yield g.fires(softmax(kind, binary("Sub", x, reduce("ReduceMax", x, (2,), 1)), 2))
        yield g.fires(softmax(kind, binary("Sub", x, g.input((3, 1))), 2))
        yield g.fires(softmax(kind, binary("Sub", x, g.input(())), 2))
    yield g.near_miss(softmax("Softmax", binary("Sub", x, g.input((3, "L"))), 2), why="the shift varies")
    yield g.near_miss(
        softmax("Softmax", binary("Sub", x, reduce("ReduceMax", x, (1,), 1)), 2), why="another axis"
    )
    yield g.near_miss(softmax("Hardmax", binary("Sub", x, g.input((3, 1))), 2), why="rounding decides")
    narrow = g.input((1, 3, "L"))
    wide = binary("Sub", narrow, g.input((2, 3, 1)))
    yield g.near_miss(softmax("Softmax", wide, 2), why="broadcasting makes more rows")


@law("softmax", numerics="reassociates", examples=_shift_examples)
def level_shift(kind: String, x: Tensor, m: Tensor, k: PyObject) -> Iterator[Any]:
    """Softmax(x - m) = Softmax(x), LogSoftmax(x - m) = LogSoftmax(x) where m is the same along the axis

    Source: algebra; m is the maximum, which the operator subtracts by itself.
    """
    shifted = softmax(kind, binary("Sub", x, m), k)
    yield rewrite(shifted, softmax(kind, x, k), holds(is_level, kind, fact(x), fact(m), k))
