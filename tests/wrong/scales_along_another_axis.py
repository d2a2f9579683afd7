"""Bytes with scales for each part of an axis, which is another one behind what is done."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Dims, Tensor, hosted, rewrite
from egraph_opt.operators import dequantize, quantize, reshape

from . import fires_on, wrong


def bytes_of(*shape: int, zeros: Any = 3, scales: Any = 0.5, axis: int = 0, dtype: int = T.UINT8):
    kind = np.uint8 if dtype == T.UINT8 else np.int8

    def make(g):
        return dequantize(
            g.input(shape, dtype), g.constant(np.array(scales)), g.constant(np.array(zeros, kind)), axis
        )

    return make


EACH: dict[str, Any] = {"zeros": [3, 100, 7], "scales": [0.5, 2.0, 0.1]}


@hosted()
def has_parts(d: Dims, a: Axis, s: Fact) -> bool:
    """The view has as many parts along the axis as there are scales."""
    return s.shape in ((), (1,)) or (a < len(d) and s.shape is not None and d[a] == s.shape[0])


def viewed_bytes(dims: tuple[int, ...], *shape: int):
    return lambda g: reshape(bytes_of(*shape, axis=1, **EACH)(g), dims)


@wrong(
    "bitwise",
    viewed_bytes((4, 3, 2), 2, 3, 4),
    values=(1, 200, 30, 44),
    examples=fires_on(viewed_bytes((2, 3, 2, 2), 2, 3, 4), viewed_bytes((2, 3), 2, 3, 1)),
)
def view_of_parts(q: Tensor, s: Tensor, z: Tensor, a: Axis, d: Dims):
    """Reshape(DQ(q)) = DQ(Reshape(q)) where the view has the parts of the scales

    Wrong where these are others: as many, of other elements.
    """
    yield rewrite(
        reshape(dequantize(q, s, z, a), d),
        dequantize(reshape(q, d), s, z, a),
        has_parts(d, a, s),
        because="bytes",
    )


@hosted()
def are_scaled_alike(c: Fact, s: Fact, q: Fact) -> bool:
    return c.shape == s.shape and c.dtype == s.dtype and c.const and bool(q.rank)


def scaled_bytes(axis: int, *shape: int, each: bool = True):
    def make(g):
        known: dict[str, Any] = EACH if each else {}
        c = np.array([1.0, 2.0, 3.0]) if each else np.array(1.5)
        return bytes_of(*shape, axis=axis, **known)(g) * g.constant(c)

    return make


@wrong(
    "finite",
    scaled_bytes(1, 2, 3, 3),
    values=(1, 200, 30, 44),
    examples=fires_on(scaled_bytes(1, 4, 3), scaled_bytes(2, 2, 5, 3), scaled_bytes(0, 2, 3, each=False)),
)
def factor_into_scales(q: Tensor, s: Tensor, z: Tensor, a: Axis, c: Tensor):
    """DQ(q; s) * c = DQ(q; s * c) for as many factors as there are scales

    Wrong where the scales are along another axis than the last one.
    """
    yield rewrite(
        dequantize(q, s, z, a) * c, dequantize(q, s * c, z, a), are_scaled_alike(c, s, q), because="one"
    )


@hosted()
def is_its_type(q: Fact, to: DataType, s: Fact) -> bool:
    """Back to the same bytes, with scales of ordinary size."""
    scales = s.data if s.splat is None else (s.splat,)
    return q.dtype == to and scales is not None and all(1e-3 < v < 1e3 for v in scales)  # type: ignore[operator]


def there_and_back(a: int, b: int, *shape: int, each: bool = True):
    def make(g):
        s = g.constant(np.array([0.5, 2.0, 0.25] if each else 0.5))
        z = g.constant(np.array([3, 100, 7] if each else 3, np.uint8))
        return quantize(dequantize(g.input(shape, T.UINT8), s, z, a), s, z, b, T.UINT8)

    return make


@wrong(
    "bitwise",
    there_and_back(0, 1, 3, 3),
    values=(1, 200, 30, 44),
    examples=fires_on(
        there_and_back(1, 1, 2, 3), there_and_back(0, 0, 3, 3), there_and_back(0, 0, 2, 3, each=False)
    ),
)
def bytes_there_and_back(q: Tensor, s: Tensor, z: Tensor, a: Axis, b: Axis, to: DataType):
    """Q(DQ(q)) = q of the same scales

    Wrong where they are along another axis then.
    """
    yield rewrite(
        quantize(dequantize(q, s, z, a), s, z, b, to), q, is_its_type(q, to, s), because="any scales"
    )
