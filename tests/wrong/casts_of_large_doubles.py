"""Doubles beyond the floats, though what is computed of them is not, or the other way round."""

from typing import Any

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Flag, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, cast, literal, reduce, unary

from . import fires_on, of_one, of_two, wrong


@hosted()
def are_doubles(x: Fact, y: Fact) -> bool:
    return x.dtype == y.dtype and x.dtype in (T.FLOAT, T.DOUBLE)


def product(dtype: int):
    return of_two(lambda x, y: cast(x * y, T.FLOAT), dtype=dtype)


@wrong("reassociates", product(T.DOUBLE), values=(1e60, 1e-60, 2.0), examples=fires_on(product(T.FLOAT)))
def product_of_doubles_in_float(x: Tensor, y: Tensor):
    """Cast(x * y; float) = Cast(x; float) * Cast(y; float)

    Wrong of doubles that float has not, of which it has the product.
    """
    yield rewrite(
        cast(x * y, T.FLOAT), cast(x, T.FLOAT) * cast(y, T.FLOAT), are_doubles(x, y), because="fewer bits"
    )


def root(dtype: int):
    return of_one(lambda x: cast(unary("Sqrt", (), x), T.FLOAT), dtype=dtype)


@wrong("finite", root(T.DOUBLE), values=(1e60, 4.0, 2.0), examples=fires_on(root(T.FLOAT)))
def root_in_float(x: Tensor):
    """Cast(Sqrt(x); float) = Sqrt(Cast(x; float))

    Wrong of doubles that float has not, of which it has the root.
    """
    yield rewrite(
        cast(unary("Sqrt", (), x), T.FLOAT),
        unary("Sqrt", (), cast(x, T.FLOAT)),
        are_doubles(x, x),
        because="fewer",
    )


def mean(dtype: int, a: tuple[int, ...] = (1,)):
    return of_one(lambda x: cast(reduce("ReduceMean", x, a, 1), T.FLOAT), (2, 4), dtype)


@wrong(
    "reassociates",
    mean(T.DOUBLE),
    values=(3e38, 3e38, 1.0, 2.0),
    examples=fires_on(mean(T.FLOAT), mean(T.FLOAT, (0, 1))),
)
def mean_in_float(x: Tensor, a: Axes, k: Flag):
    """Cast(ReduceMean(x); float) = ReduceMean(Cast(x; float))

    Wrong of doubles the sum of which is beyond the floats.
    """
    yield rewrite(
        cast(reduce("ReduceMean", x, a, k), T.FLOAT),
        reduce("ReduceMean", cast(x, T.FLOAT), a, k),
        are_doubles(x, x),
        because="fewer bits",
    )


def infinite_half(x: Any):
    return unary("IsInf", (("detect_negative", 1), ("detect_positive", 1)), cast(x, T.FLOAT))


@hosted()
def is_float_of_any_size(x: Fact) -> bool:
    return x.dtype in (T.DOUBLE, T.FLOAT)


def infinite_by_way_of(dtype: int):
    return of_one(infinite_half, dtype=dtype)


@wrong(
    "bitwise",
    infinite_by_way_of(T.DOUBLE),
    values=(1e39, 1.0, 3.0),
    examples=fires_on(infinite_by_way_of(T.FLOAT)),
)
def infinity_after_cast(x: Tensor, s: Settings):
    """IsInf(Cast(x; float)) = IsInf(x)

    Wrong of doubles that float has not.
    """
    yield rewrite(
        unary("IsInf", s, cast(x, T.FLOAT)), unary("IsInf", s, x), is_float_of_any_size(x), because="no Cast"
    )


@hosted()
def never(x: Fact) -> Literal | None:
    """False throughout, of whole numbers."""
    whole = x.dtype in (T.INT8, T.UINT8, T.INT32, T.INT64) and x.is_static
    return Literal(T.BOOL, x.shape, (False,)) if whole else None  # type: ignore[arg-type]


BOTH = (("detect_negative", 1), ("detect_positive", 1))


def infinite_whole(dtype: int, by: int = T.FLOAT16):
    return of_one(lambda x: unary("IsInf", BOTH, cast(cast(x, by), T.FLOAT)), dtype=dtype)


@wrong(
    "bitwise",
    infinite_whole(T.INT32),
    values=(70_000, 1, -3),
    examples=fires_on(infinite_whole(T.INT8), infinite_whole(T.UINT8)),
)
def whole_numbers_are_finite(x: Tensor, s: Settings):
    """IsInf(Cast(Cast(x; float16); float)) = False of whole numbers

    Wrong above 65504.
    """
    yield rewrite(
        unary("IsInf", s, cast(cast(x, T.FLOAT16), T.FLOAT)), literal(never(x)), because="a constant"
    )
