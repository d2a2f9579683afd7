"""Doubles that are 0, or the next whole number, once they are floats."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import DataType, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, binary, cast, literal, unary

from . import fires_on, of_one, wrong


@hosted()
def is_float(x: Fact) -> bool:
    return x.dtype in (T.FLOAT, T.DOUBLE)


def after_cast(op: str, dtype: int):
    return of_one(lambda x: unary(op, (), cast(x, T.FLOAT)), dtype=dtype)


@wrong(
    "bitwise",
    after_cast("Sign", T.DOUBLE),
    values=(1e-60, 1.0, -1e-50),
    examples=fires_on(after_cast("Sign", T.FLOAT)),
)
def sign_after_cast(x: Tensor):
    """Sign(Cast(x; float)) = Cast(Sign(x); float)

    Wrong of doubles that are 0 as floats.
    """
    yield rewrite(
        unary("Sign", (), cast(x, T.FLOAT)),
        cast(unary("Sign", (), x), T.FLOAT),
        is_float(x),
        because="narrower",
    )


@wrong(
    "bitwise",
    after_cast("Floor", T.DOUBLE),
    values=(1 - 1e-12, 3.5, -2.0),
    examples=fires_on(after_cast("Floor", T.FLOAT)),
)
def floor_after_cast(x: Tensor):
    """Floor(Cast(x; float)) = Cast(Floor(x); float)

    Wrong of doubles that are rounded up to a whole number.
    """
    yield rewrite(
        unary("Floor", (), cast(x, T.FLOAT)),
        cast(unary("Floor", (), x), T.FLOAT),
        is_float(x),
        because="narrower",
    )


def truth(dtype: int, by: int = T.FLOAT):
    return of_one(lambda x: cast(cast(x, by), T.BOOL), dtype=dtype)


@wrong(
    "bitwise",
    truth(T.DOUBLE),
    values=(1e-60, 1.0, 0.0),
    examples=fires_on(truth(T.INT32), truth(T.INT64), truth(T.FLOAT)),
)
def truth_of_float(x: Tensor):
    """Cast(Cast(x; float); bool) = Cast(x; bool)

    Wrong of doubles that are 0 as floats.
    """
    yield rewrite(cast(cast(x, T.FLOAT), T.BOOL), cast(x, T.BOOL), because="once")


@hosted()
def is_nothing(c: Fact) -> bool:
    return c.splat == 0 and c.shape == ()


def beside_zero(op: str, dtype: int, to: int = T.FLOAT):
    kind = np.float32 if to == T.FLOAT else np.float16
    return lambda g: binary(op, cast(g.input((2, 5), dtype), to), g.constant(np.zeros((), kind)))


@wrong(
    "bitwise",
    beside_zero("Equal", T.DOUBLE),
    values=(1e-60, 1.0, 0.0),
    examples=fires_on(
        beside_zero("Equal", T.INT32), beside_zero("Equal", T.INT64), beside_zero("Equal", T.UINT8)
    ),
)
def zero_after_cast(x: Tensor, c: Tensor):
    """Equal(Cast(x; float), 0) = Not(Cast(x; bool))

    Wrong of doubles that are 0 as floats.
    """
    yield rewrite(
        binary("Equal", cast(x, T.FLOAT), c),
        unary("Not", (), cast(x, T.BOOL)),
        is_nothing(c),
        because="one operand",
    )


@hosted()
def zero_of(x: Fact) -> Literal | None:
    return Literal(x.dtype, (), (0.0,)) if x.dtype in (T.FLOAT, T.DOUBLE) else None


@wrong(
    "bitwise",
    beside_zero("Greater", T.DOUBLE),
    values=(1e-60, 1.0, -1.0),
    examples=fires_on(beside_zero("Greater", T.FLOAT)),
)
def above_zero_after_cast(x: Tensor, c: Tensor):
    """Greater(Cast(x; float), 0) = Greater(x, 0)

    Wrong of doubles that are 0 as floats.
    """
    yield rewrite(
        binary("Greater", cast(x, T.FLOAT), c),
        binary("Greater", x, literal(zero_of(x))),
        is_nothing(c),
        because="once",
    )


def sign_in(to: int):
    return of_one(lambda x: unary("Sign", (), cast(x, to)))


@hosted()
def are_floats(x: Fact, to: DataType) -> bool:
    return x.dtype == T.FLOAT and to in (T.FLOAT16, T.DOUBLE)


@wrong("bitwise", sign_in(T.FLOAT16), values=(1e-9, 1.0, -1e-8), examples=fires_on(sign_in(T.DOUBLE)))
def sign_in_another_type(x: Tensor, to: DataType):
    """Sign(Cast(x)) = Cast(Sign(x)) of floats

    Wrong of numbers that are 0 in a narrower type.
    """
    yield rewrite(
        unary("Sign", (), cast(x, to)), cast(unary("Sign", (), x), to), are_floats(x, to), because="later"
    )
