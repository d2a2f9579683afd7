"""QuantizeLinear and DequantizeLinear: other parameters, scales for each part of an axis, rounding."""

from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Tensor, hosted, relu, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.sorts import Axes, Axis, DataType, Dims, Flag, Permutation, Slices
from egraph_opt.operators import cast, concat, dequantize, none, quantize, reduce, reshape, slice_, transpose
from egraph_opt.operators.terms import listed

from . import wrong

BYTE = TensorProto.UINT8


def parameters(g: Operands, scales: Any = 0.5, zeros: Any = 3) -> tuple[Any, Any]:
    return g.constant(np.array(scales, np.float32)), g.constant(np.array(zeros, np.uint8))


def by_row(g: Operands) -> tuple[Any, Any]:
    return parameters(g, [0.5, 2.0], [3, 200])


def stored(g: Operands, *shape: int) -> Any:
    """Bytes of which one is each: 8 bits of floats."""
    return quantize(g.input(shape), *parameters(g, 0.1, 7), 0, BYTE)


def again(q: Any, first: tuple[Any, Any], then: tuple[Any, Any], axis: int = 0) -> Any:
    return quantize(dequantize(q, *first, 0), *then, axis, BYTE)


@wrong("bitwise", lambda g: again(stored(g, 2, 5), parameters(g), parameters(g, 2.0)))
def there_and_back_anyhow(q: Tensor, s: Tensor, z: Tensor, t: Tensor, w: Tensor, a: Axis, to: DataType):
    """Q(DQ(q)) = q

    Wrong where the scales differ.
    """
    yield rewrite(quantize(dequantize(q, s, z, a), t, w, a, to), q, because="every q is one")


@wrong("bitwise", lambda g: (lambda p: again(stored(g, 2, 2), p, p, 1))(by_row(g)))
def there_and_back_along_other_axes(q: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axis, to: DataType):
    """Q(DQ(q)) = q, of the same scales

    Wrong where they are of the rows first and of the columns then, and where a scale is odd.
    """
    yield rewrite(quantize(dequantize(q, s, z, a), s, z, b, to), q, because="every q is one")


@wrong(
    "finite", lambda g: (lambda p: dequantize(quantize(g.input((2, 5)), *p, 0, BYTE), *p, 0))(parameters(g))
)
def forth_and_back(x: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """DQ(Q(x)) = x

    Wrong: what is between two steps is rounded, and what is beyond them cut off.
    """
    yield rewrite(dequantize(quantize(x, s, z, a, to), s, z, a), x, because="every x would be one")


@wrong("finite", lambda g: quantize(relu(g.input((2, 5))), *parameters(g), 0, BYTE))
def bounds_are_bounds(x: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(Relu(x)) = Q(x), since what is negative is cut off

    Wrong where the zero point is not the least number of the type.
    """
    yield rewrite(quantize(relu(x), s, z, a, to), quantize(x, s, z, a, to), because="any x would be positive")


@wrong("bitwise", lambda g: dequantize(transpose(stored(g, 2, 2), (1, 0)), *by_row(g), 0))
def transposed_scales(q: Tensor, s: Tensor, z: Tensor, p: Permutation, a: Axis):
    """DQ(Transpose(q)) = Transpose(DQ(q))

    Wrong where there is a scale for each part of an axis, which is another one then.
    """
    yield rewrite(
        dequantize(transpose(q, p), s, z, a), transpose(dequantize(q, s, z, a), p), because="p moves down"
    )


@wrong("bitwise", lambda g: reshape(dequantize(stored(g, 2, 2, 3), *by_row(g), 1), (2, 2, 3, 1)[::-1]))
def viewed_scales(q: Tensor, s: Tensor, z: Tensor, a: Axis, d: Dims):
    """Reshape(DQ(q)) = DQ(Reshape(q))

    Wrong where there is a scale for each part of an axis that moves.
    """
    yield rewrite(
        reshape(dequantize(q, s, z, a), d), dequantize(reshape(q, d), s, z, a), because="views move down"
    )


@wrong("bitwise", lambda g: slice_(dequantize(stored(g, 2, 3), *by_row(g), 0), ((0, 1, 2, 1),)))
def sliced_scales(q: Tensor, s: Tensor, z: Tensor, a: Axis, t: Slices):
    """Slice(DQ(q)) = DQ(Slice(q))

    Wrong where there is a scale for each part of the axis that is sliced.
    """
    yield rewrite(
        slice_(dequantize(q, s, z, a), t), dequantize(slice_(q, t), s, z, a), because="slices move down"
    )


def two_scales(g: Operands, scale: Any, zero: Any) -> Any:
    other = g.constant(np.array(2, np.float32))
    return concat(listed(*(dequantize(stored(g, 2, 3), s, zero, 0) for s in (scale, other))), 1)


@wrong("bitwise", lambda g: two_scales(g, *parameters(g)))
def scales_of_the_first(q: Tensor, r: Tensor, s: Tensor, z: Tensor, t: Tensor, a: Axis, b: Axis):
    """Concat(DQ(q), DQ(r)) = DQ(Concat(q, r)) of one zero point

    Wrong where the scales differ.
    """
    two = concat(listed(dequantize(q, s, z, a), dequantize(r, t, z, a)), b)
    yield rewrite(two, dequantize(concat(listed(q, r), b), s, z, a), because="forgets t")


@wrong("bitwise", lambda g: (lambda p: concat(listed(
    dequantize(stored(g, 2, 3), *p, 0), dequantize(stored(g, 2, 3), *p, 0)), 0))(by_row(g)))  # fmt: skip
def joined_parts(q: Tensor, r: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axis):
    """Concat(DQ(q), DQ(r)) = DQ(Concat(q, r)) of one scale

    Wrong where there is a scale for each part of the axis that they are joined along.
    """
    two = concat(listed(dequantize(q, s, z, a), dequantize(r, s, z, a)), b)
    yield rewrite(two, dequantize(concat(listed(q, r), b), s, z, a), because="bytes are joined")


@wrong(
    "bitwise", lambda g: reduce("ReduceMax", dequantize(stored(g, 2, 5), *parameters(g, -0.5), 0), (1,), 1)
)
def greatest_byte(q: Tensor, s: Tensor, z: Tensor, r: Axes, k: Flag):
    """ReduceMax(DQ(q)) = DQ(ReduceMax(q))

    Wrong where the scale is negative.
    """
    zero: Axis = 0
    of_floats = reduce("ReduceMax", dequantize(q, s, z, zero), r, k)
    yield rewrite(of_floats, dequantize(reduce("ReduceMax", q, r, k), s, z, zero), because="bytes are fewer")


@wrong("finite", lambda g: dequantize(stored(g, 2, 5), *parameters(g), 0))
def bytes_times_scale(q: Tensor, s: Tensor, z: Tensor, a: Axis):
    """DQ(q) = q * scale

    Wrong where the zero point is not 0.
    """
    yield rewrite(dequantize(q, s, z, a), cast(q, TensorProto.FLOAT) * s, because="forgets z")


@hosted()
def is_byte(t: DataType) -> bool:
    return bool(t == BYTE)


@wrong("finite", lambda g: quantize(g.input((2, 5)), g.constant(np.array(0.3, np.float32)), none(), 0, BYTE))
def cut_off(x: Tensor, s: Tensor, a: Axis, t: DataType):
    """Q(x) = x / scale as a byte

    Wrong: a Cast cuts digits off, and large numbers wrap around.
    """
    yield rewrite(
        quantize(x, s, none(), a, t), cast(x / s, t), is_byte(t), because="a cast has no parameters"
    )


@wrong("reassociates", lambda g: dequantize(stored(g, 2, 5), *parameters(g), 0)
       * g.constant(np.array([[2.0], [3.0]], np.float32)))  # fmt: skip
def scaled_scale(q: Tensor, s: Tensor, z: Tensor, c: Tensor, a: Axis):
    """DQ(q, s) * c = DQ(q, s * c)

    Wrong where c has more elements than the scales.
    """
    yield rewrite(dequantize(q, s, z, a) * c, dequantize(q, s * c, z, a), because="forgets c")
