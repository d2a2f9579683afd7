"""What goes into the outputs of a term and is computed on the way, by which rounding is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from egraph_opt.forking import cached_property

Array = npt.NDArray[Any]

LARGE = 1e6
"""Constants from here on are large for what they are multiplied with."""


class Computed:
    """What goes into outputs and is computed on the way, which is found when outputs differ at all.

    Args:
        arrays: finds it.
    """

    def __init__(self, arrays: Callable[[], Iterable[Array]]) -> None:
        self._find = arrays

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(self._find())

    @cached_property
    def scale(self) -> float:
        """The greatest finite magnitude."""
        return max(map(scale_of, self.arrays), default=0.0)


def scale_of(x: Array) -> float:
    """The greatest finite magnitude; 0 of what is no float."""
    if x.dtype.kind != "f":
        return 0.0
    return float(np.abs(x[np.isfinite(x)]).max(initial=0))


def computed_from(given: Sequence[Array], constants: Sequence[Array]) -> Iterator[Array]:
    """Constants, and of a large one also a product with what is given: sums that cancel are of such."""
    yield from constants
    known, other = (max(map(scale_of, arrays), default=0.0) for arrays in (constants, given))
    if known > LARGE:
        yield np.array(known * other)


def before_subtracted(model: onnx.ModelProto, values: Mapping[str, Array]) -> Iterator[Array]:
    """What onnxruntime's InstanceNormalization subtracts the mean from: images that are divided already,
    which of one that hardly varies are far greater than the result.

    Args:
        values: all that is in the model, by name.
    """
    for node in model.graph.node:
        if node.op_type == "InstanceNormalization":
            x, scale = (values[name].astype(np.float64) for name in node.input[:2])
            epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
            spatial = tuple(range(2, x.ndim))
            if x.size:
                divided = np.abs(x).max(spatial) * scale / np.sqrt(x.var(spatial) + epsilon)
                yield np.where(np.isfinite(divided), divided, 0)


def finite_throughout(a: Array, computed: Iterable[Array]) -> npt.NDArray[np.bool_]:
    """Where an array is finite, and so is what it is computed from, as far as that has its shape."""
    sound = np.isfinite(a)
    for other in computed:
        if other.dtype.kind != "f":
            continue
        try:
            sound = sound & np.broadcast_to(np.isfinite(other), a.shape)
        except ValueError:
            sound = sound & bool(np.isfinite(other).all())
    return np.asarray(sound)
