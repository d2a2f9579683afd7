"""Right sides that an older opset cannot say, or for types that onnxruntime has no kernel for."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Flag, Name, String, Tensor, hosted, listed, number_like, relu, rewrite
from egraph_opt.operators import binary, cast, reduce, unary, variadic, where
from egraph_opt.rewrites.conditions.values import all_are, fits, is_integer

from . import of_one, of_two, wrong

NEGATED = {"Less": "GreaterOrEqual", "Greater": "LessOrEqual"}


@hosted()
def negation_of(f: str) -> Name | None:
    return NEGATED.get(f)


@wrong("bitwise", of_two(lambda x, y: unary("Not", (), binary("Less", x, y)), dtype=T.INT32), opset=11)
def negated_comparison(f: String, x: Tensor, y: Tensor):
    """Not(x < y) = x >= y for integers, Not(x > y) = x <= y

    Wrong before opset 12, which has no GreaterOrEqual.
    """
    negated = unary("Not", (), binary(f, x, y))
    yield rewrite(negated, binary(negation_of(f), x, y), is_integer(x), because="one node")


@hosted()
def is_power_of_two(c: Fact) -> bool:
    return c.splat is not None and c.splat > 0 and int(c.splat) & (int(c.splat) - 1) == 0


@wrong("bitwise", lambda g: binary("Mod", g.input((2, 5), T.INT64), g.constant(np.int64(8))), opset=17)
def remainder_as_mask(x: Tensor, c: Tensor):
    """Mod(x, c) = BitwiseAnd(x, c - 1) for a power of 2

    Wrong before opset 18, which has no BitwiseAnd.
    """
    mask = binary("BitwiseAnd", x, c - number_like(c, 1))
    yield rewrite(binary("Mod", x, c), mask, is_power_of_two(c), is_integer(x), because="Mod is slow")


@hosted()
def has_kernel(x: Fact) -> bool:
    return x.dtype in (T.INT8, T.INT32, T.FLOAT)


@wrong(
    "finite", lambda g: variadic("Max", listed(g.input((2, 5), T.INT32), g.constant(np.int32(0)))), opset=13
)
def maximum_of_integers(x: Tensor, c: Tensor):
    """Max(x, 0) = Relu(x) for types that onnxruntime has a kernel for

    Wrong before opset 14, which has it for floats only.
    """
    yield rewrite(variadic("Max", listed(x, c)), relu(x), all_are(c, 0), has_kernel(x), because="one operand")


@wrong(
    "bitwise",
    of_one(lambda x: cast(reduce("ReduceMax", cast(x, T.INT32), (1,), 1), T.BOOL), (2, 5), T.BOOL),
    opset=18,
)
def any_of_bools(x: Tensor, a: Axes, k: Flag):
    """Cast_bool(ReduceMax(Cast_int32(x))) = ReduceMax(x) for bools

    Wrong before opset 20, which has it for numbers only.
    """
    spelled = cast(reduce("ReduceMax", cast(x, T.INT32), a, k), T.BOOL)
    yield rewrite(spelled, reduce("ReduceMax", x, a, k), is_bool(x), because="no casts")


@hosted()
def is_bool(x: Fact) -> bool:
    return x.dtype == T.BOOL


@wrong("bitwise", of_two(lambda x, y: where(binary("Less", x, y), x, y), dtype=T.INT32), opset=11)
def least_of_integers(x: Tensor, y: Tensor):
    """Where(x < y, x, y) = Min(x, y) for integers

    Wrong before opset 12, which has Min of floats only.
    """
    least = variadic("Min", listed(x, y))
    yield rewrite(where(binary("Less", x, y), x, y), least, is_integer(x), because="one node")


@wrong("bitwise", lambda g: g.input((2, 5), T.UINT8) * g.constant(np.uint8(1)))
def product_with_one(x: Tensor, c: Tensor):
    """x * 1 = -(-x)

    Wrong of unsigned integers, which have no Neg.
    """
    negated = -x
    yield rewrite(x * c, -negated, all_are(c, 1), fits(c, x), because="signs cancel")


@wrong("reassociates", of_two(lambda x, y: x + y, dtype=T.INT64))
def sum_of_any_two(x: Tensor, y: Tensor):
    """x + y = Sum(x, y)

    Wrong of integers: Sum is of floats only.
    """
    yield rewrite(x + y, variadic("Sum", listed(x, y)), because="sums of several are one node")


@hosted()
def is_one_element(c: Fact) -> bool:
    return c.shape == ()


@wrong("bitwise", of_two(lambda x, y: binary("LessOrEqual", x, y), dtype=T.FLOAT), opset=12)
def not_greater(x: Tensor, y: Tensor):
    """x <= y = Not(x > y)

    Wrong of NaN.
    """
    yield rewrite(
        binary("LessOrEqual", x, y), unary("Not", (), binary("Greater", x, y)), because="old opsets"
    )
