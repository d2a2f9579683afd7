"""A QuantizeLinear (Q) undoes a DequantizeLinear (DQ) of equal scales and zero points: Q(DQ(q)) -> q.

With d = q - z of at most 8 bits (float32: 16), d * s is rounded once, and divided by s once more: it is off d
by |d| / 2^10 (float32: |d| / 2^23) and little more, which is less than a half, so that it is rounded to d.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, DataType, Tensor
from egraph_opt.operators import dequantize, none, quantize, reshape
from egraph_opt.operators.quantization import QUANTIZED

law = laws_of("quantization", numerics="bitwise", kind="eliminate", serves="traffic")

MAGNITUDES: dict[int, tuple[float, float]] = {
    TensorProto.FLOAT: (2.0**-126, 2.0**110),
    TensorProto.FLOAT16: (2.0**-14, 2.0**8),
}
"""Between which scales no product with a number of the quantized type is subnormal, but 0, or infinite."""


FEW: dict[int, int] = {TensorProto.FLOAT: 2**16, TensorProto.FLOAT16: 2**8}
"""What is less is exact enough in the digits of a scale."""


def positive_scale(s: Fact) -> tuple[float, float] | None:
    """The least and the greatest of scales that are positive and of ordinary size."""
    known = interval_of(s)
    if known is None or known[2] or s.dtype not in MAGNITUDES:
        return None
    least, greatest = MAGNITUDES[s.dtype]
    return known[:2] if least <= known[0] and known[1] <= greatest else None


def zero_of(z: Fact) -> float | int | None:
    """The one zero point, 0 where none is given."""
    return 0 if z == ABSENT else z.splat


def width(dtype: int) -> int:
    """The greatest difference of two numbers of a quantized type."""
    least, greatest = QUANTIZED[dtype]
    return greatest - least


# --- Q of DQ --------------------------------------------------------------------------------------------


@hosted()
def is_exact(q: Fact, s: Fact, to: DataType) -> bool:
    """What was made a float is rounded to what it was."""
    known = q.dtype == to and to in QUANTIZED and s.dtype in FEW
    return known and width(to) < FEW[s.dtype] and positive_scale(s) is not None


@hosted()
def are_alike(s: Fact, z: Fact, t: Fact, w: Fact) -> bool:
    """The scales are one number, and so are the zero points."""
    if s.splat is None or s.splat != t.splat or s.dtype != t.dtype:
        return False
    return zero_of(z) is not None and zero_of(z) == zero_of(w)


def parameters(
    g: Operands, scale: float = 0.05, zero: int = 3, dtype: Any = np.uint8, shape: tuple[int, ...] = ()
) -> tuple[Any, Any]:
    """One scale and one zero point, or one and its multiples for the parts of an axis."""
    scales = scale * np.arange(1, 1 + math.prod(shape)).reshape(shape)
    return g.constant(scales.astype(np.float32)), g.constant(np.full(shape, zero, dtype))


def _there_and_back(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, (s, z), byte = g.input(("N", 4), TensorProto.UINT8), parameters(g), TensorProto.UINT8
    x = dequantize(q, s, z, 0)
    yield g.fires(quantize(x, s, z, 0, byte))
    yield g.fires(quantize(x, reshape(s, (1,)), reshape(z, (1,)), 0, byte))
    scales, zeros = g.constant(np.array([1, 2, 3, 4], np.float32)), g.constant(np.zeros(4, np.uint8))
    yield g.fires(quantize(dequantize(q, scales, zeros, 1), scales, zeros, 1, byte))
    yield g.fires(quantize(dequantize(q, s, none(), 0), s, g.constant(np.array(0, np.uint8)), 0, byte))
    square = dequantize(g.input((4, 4), byte), scales, zeros, 0)
    for why, y, *others in (
        ("two scales", x, g.constant(np.array(0.25, np.float32)), z, 0),
        ("two zero points", x, s, g.constant(np.array(4, np.uint8)), 0),
        ("a zero point that is not 0", x, s, none(), 0),
        ("scales of two axes", square, scales, zeros, 1),
    ):
        yield g.near_miss(quantize(y, *others, byte), why=why)
    runtime = g.input((), TensorProto.FLOAT)
    yield g.near_miss(quantize(dequantize(q, runtime, z, 0), runtime, z, 0, byte), why="it may be 0 or NaN")
    for scale in (1e-45, 3e38, 0.0):
        odd, _ = parameters(g, scale)
        yield g.near_miss(quantize(dequantize(q, odd, z, 0), odd, z, 0, byte), why="a product is not exact")


@law(examples=_there_and_back)
def there_and_back(q: Tensor, s: Tensor, z: Tensor, t: Tensor, w: Tensor, a: Axis, b: Axis, to: DataType):
    """Q(DQ(q)) = q of equal scales and zero points, if the scales are positive and of ordinary size"""
    known, whole = is_exact(q, s, to), "every q is one"
    yield rewrite(quantize(dequantize(q, s, z, a), s, z, a, to), q, known, because=whole)
    other = quantize(dequantize(q, s, z, a), t, w, b, to)
    yield rewrite(other, q, known, are_alike(s, z, t, w), because=whole)
