"""Inputs of a model: sizes for its symbolic dims, and elements at which tolerances mean something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

Array = np.ndarray[Any, np.dtype[Any]]


class Sizes:
    """What symbolic dims stand for.  The first two are those that graphs are drawn with."""

    TABLE: tuple[Mapping[str, int], ...] = (
        {"N": 2, "L": 6, "M": 4},
        {"N": 3, "L": 8, "M": 5},
        {"N": 1, "L": 7, "M": 1},
    )
    NOTHING: Mapping[str, int] = {"N": 0, "L": 6, "M": 4}

    @classmethod
    def for_symbols(cls, names: frozenset[str]) -> Iterator[dict[str, int]]:
        """Three choices, and one more where a dim is 0."""
        for sizes in cls.TABLE:
            yield {name: size for name, size in sizes.items() if name in names}
        if "N" in names:
            yield {name: size for name, size in cls.NOTHING.items() if name in names}


def required(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs without a default."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in defaults]


def symbols_of(model: onnx.ModelProto) -> frozenset[str]:
    return frozenset(
        d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param
    )


def elements(rng: np.random.Generator, shape: Any, dtype: Any) -> Array:
    """Multiples of 1/4 for floats, so that sums of products are exact; small integers; truth values."""
    if np.issubdtype(dtype, np.floating):
        return (rng.integers(-8, 9, shape) / 4).astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -5
    return rng.integers(low, 6, shape).astype(dtype)


def feeds_of(model: onnx.ModelProto, sizes: Mapping[str, int], kind: str, seed: int) -> dict[str, Array]:
    """Inputs: "exact" multiples of 1/4, "normal" numbers, or "odd" ones with zeros of both signs.

    Inputs that have a default are given now and then.
    """
    rng = np.random.default_rng([seed, len(kind)])
    needed = {value.name for value in required(model)}
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else sizes[d.dim_param] for d in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        array = elements(rng, shape, dtype.type)
        if np.issubdtype(dtype, np.floating) and kind == "normal":
            array = rng.standard_normal(shape).astype(dtype)
        if np.issubdtype(dtype, np.floating) and kind == "odd":
            array = np.where(rng.random(shape) < 0.2, np.asarray(-0.0, dtype), array).astype(dtype)
        if value.name in needed or kind == "odd":
            feeds[value.name] = array
    return feeds
