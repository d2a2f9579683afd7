"""Other values for inputs that have a default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import numpy_helper

from egraph_opt.verification.comparison import TOLERANCES, Array
from egraph_opt.verification.execution import RunnableModel
from egraph_opt.verification.inputs import WORDS
from egraph_opt.verification.interface import Interface

SINGLE = 8
"""So many defaults that are no floats are overridden one at a time, if all at once does not run."""


def overrides(model: RunnableModel, interface: Interface, seed: int) -> Iterator[dict[str, Array]]:
    """Sets of overriding values to try: all defaults at once, then the floats, then others one by one."""
    values = {
        tensor.name: _other(_array(model, tensor), np.random.default_rng([seed, k]))
        for k, tensor in enumerate(model.proto.graph.initializer)
        if tensor.name in interface.overridable
    }
    yield values
    floats = {name: value for name, value in values.items() if value.dtype in TOLERANCES}
    if floats and len(floats) < len(values):
        yield floats
    for name in [name for name in values if name not in floats][:SINGLE]:
        if len(values) > 1:
            yield {name: values[name]}


def _array(model: RunnableModel, tensor: Any) -> Array:
    array: Array = numpy_helper.to_array(tensor, base_dir=model.folder or "")
    return array


def _other(default: Array, generator: np.random.Generator) -> Array:
    """Values like the default: floats keep their sign (variances), integers stay close (axes, sizes)."""
    if default.dtype in TOLERANCES:
        factor = generator.uniform(0.5, 1.5, default.shape)
        small = generator.uniform(0.0, 0.1, default.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = default if default.dtype.kind == "c" else default.astype(np.float64)
            other = np.where(wide == 0, small, wide * factor)
        return np.asarray(other).astype(default.dtype).reshape(default.shape)
    if default.dtype == np.bool_:
        return np.asarray(~default)
    if default.dtype.kind in "iu":
        if default.size > 1 and len(np.unique(default)) > 1:
            return np.asarray(default.reshape(-1)[::-1].reshape(default.shape))
        return np.asarray(default + np.asarray(1, default.dtype), default.dtype).reshape(default.shape)
    if default.dtype.kind in "OU":
        words = np.array(WORDS, dtype=object)
        return np.asarray(words[generator.integers(0, len(WORDS), default.shape)], object).reshape(
            default.shape
        )
    return default
