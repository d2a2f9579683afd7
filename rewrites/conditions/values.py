"""What laws ask of a value or two: its type, one number in every element, what broadcasting does to it.

No laws here.
"""

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import FLOATS, INTEGERS, KERNEL_FLOATS
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import hosted
from egraph_opt.laws.algebra import is_uniform
from egraph_opt.laws.sorts import DataType


@hosted()
def is_float(x: Fact) -> bool:
    return x.dtype in FLOATS


@hosted()
def is_integer(x: Fact) -> bool:
    return x.dtype in INTEGERS


@hosted()
def is_kernel_float(x: Fact) -> bool:
    """Of a float type that onnxruntime has kernels for."""
    return x.dtype in KERNEL_FLOATS


@hosted()
def is_of_type(x: Fact, dtype: DataType) -> bool:
    return x.dtype > 0 and x.dtype == dtype


@hosted()
def dtype_of(x: Fact) -> DataType | None:
    return x.dtype if x.dtype > 0 else None


@hosted()
def of_one_type(x: Fact, y: Fact) -> bool:
    return x.dtype > 0 and x.dtype == y.dtype


@hosted()
def all_are(c: Fact, number: float) -> bool:
    """Every element of c is this number."""
    return c.splat is not None and c.splat == number


@hosted()
def is_true(c: Fact) -> bool:
    return c.splat is not None and bool(c.splat)


def last_places(dtype: int) -> float:
    """By how much, for its size, a number may be off that was rounded to a type."""
    return 2.0**-50 if dtype == TensorProto.DOUBLE else 2.0**-22


@hosted()
def are_reciprocal(a: Fact, b: Fact) -> bool:
    """Two numbers above 0 whose product is 1."""
    if a.splat is None or b.splat is None or a.splat <= 0:
        return False
    return abs(a.splat * b.splat - 1) <= last_places(a.dtype)


@hosted()
def is_false(c: Fact) -> bool:
    return c.splat is not None and not c.splat


@hosted()
def any_varies(*operands: Fact) -> bool:
    """Not all of them are constants."""
    return not all(x.const for x in operands)


@hosted()
def all_vary(*operands: Fact) -> bool:
    """None is constant, or one number throughout: these have laws of their own."""
    return not any(x.const or is_uniform(x) for x in operands)


def broadcasts_into(shape: Shape | None, target: Shape | None) -> bool:
    """Whether a tensor of `shape`, broadcast against one of `target`, leaves its shape alone."""
    if shape is None or target is None or len(shape) > len(target):
        return False
    aligned = target[len(target) - len(shape) :]
    return all(a == 1 or symbolic.known_equal(a, b) for a, b in zip(shape, aligned, strict=True))


@hosted()
def fits(c: Fact, x: Fact) -> bool:
    """Broadcast against x, c leaves the shape of x alone."""
    return broadcasts_into(c.shape, x.shape)
