"""What is asked of types of floats: which of them has the numbers of another, or of a constant.

No laws here.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto as T
from onnx.helper import tensor_dtype_to_np_dtype

from egraph_opt.facts.dtypes import ALL_FLOATS, FLOATS, HOLDS, KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted
from egraph_opt.laws.sorts import DataType, Settings, String, Tensor
from egraph_opt.operators import cast


def is_wider(dtype: int, to: int) -> bool:
    """Two types of floats of which the second has every number of the first, and more."""
    return dtype in FLOATS and to != dtype and to in HOLDS[dtype]


@hosted()
def widens(x: Fact, to: DataType) -> bool:
    """A cast to a wider type of floats."""
    return is_wider(x.dtype, to)


@hosted()
def is_kernel_type(dtype: DataType) -> bool:
    """Of a float type that onnxruntime has kernels for."""
    return dtype in KERNEL_FLOATS


BYTE_FLOATS = ALL_FLOATS - FLOATS
"""Floats of 8 bits, which opset 19 brought, and other operators than Cast take since later ones, or never."""


@hosted()
def is_viewed(to: DataType) -> bool:
    """Reshape and all that it is written as take the type in each opset that has it, in onnxruntime, too."""
    return to not in BYTE_FLOATS and to != T.FLOAT8E8M0


@hosted()
def is_turned(to: DataType, version: int) -> bool:
    """Transpose takes the type: floats of 8 bits since opset 21."""
    return to != T.FLOAT8E8M0 and (to not in BYTE_FLOATS or version >= 21)


@hosted()
def is_taken_from(settings: Settings, op: String) -> bool:
    """What a function answers may be taken from, or repeated: of some types, to which a Cast goes, not."""
    to: Any = settings  # a Cast has its type for settings
    return op != "Cast" or to == T.STRING or (to in HOLDS and to != T.BFLOAT16)


def has_number(dtype: int, number: float) -> bool:
    """A float type has this number."""
    if dtype not in FLOATS:
        return False
    with np.errstate(over="ignore"):
        rounded = float(np.asarray(number, tensor_dtype_to_np_dtype(dtype)))
    return rounded == number or (math.isnan(rounded) and math.isnan(number))


@hosted()
def has_numbers(x: Fact, c: Fact) -> bool:
    """Every element of a constant, of a wider type than x, is a number of x's type."""
    return bool(type_has_numbers.function(x.dtype, c))


@hosted()
def type_has_numbers(dtype: DataType, c: Fact) -> bool:
    """Every element of a constant of a wider type is a number of this type."""
    numbers = c.data if c.splat is None else (c.splat,)
    known = is_wider(dtype, c.dtype) and c.const and numbers is not None
    return known and all(has_number(dtype, float(v)) for v in numbers or ())


# --- operands of examples ---------------------------------------------------------------------------------


def in_double(g: Operands) -> tuple[Tensor, Tensor, Any]:
    """A float32 value, the same in double, and one of double."""
    x = g.input(("N", 4))
    return x, cast(x, T.DOUBLE), g.input(("N", 4), T.DOUBLE)


def constants_in_double(g: Operands) -> tuple[Any, Any]:
    """One of numbers that float32 has, and one that it has not."""
    known = g.constant(np.array([0.5, 2.0, -np.inf, 0.0]), T.DOUBLE)
    return known, g.constant(np.array(0.1), T.DOUBLE)


def in_8_bits(make: Callable[[Any], Any], why: str) -> Callable[[np.random.Generator], Iterator[Example]]:
    """The near-miss of what is cast to floats of 8 bits, before operators took these."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        byte = cast(make(g.input((3, 1))), T.FLOAT8E4M3FN)
        yield replace(g.near_miss(cast(byte, T.FLOAT), why=why), opset=19)

    return examples
