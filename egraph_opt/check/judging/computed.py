"""What goes into the outputs of a term and is computed on the way, by which rounding is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from egraph_opt.forking import cached_property

Array = npt.NDArray[Any]

EPSILON = {"InstanceNormalization": 1e-5, "LayerNormalization": 1e-5, "MeanVarianceNormalization": 1e-18}
"""What is added to a variance, where no attribute says it; of the last one it is added to the deviation."""

NORMALIZATIONS = frozenset(EPSILON)

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
    """What normalizations divide before they subtract the mean, or might as well: the error of an operand
    grows like that, and where it hardly varies, this is far greater than the result.

    Args:
        values: all that is in the model, by name.
    """
    for node in model.graph.node:
        if node.op_type not in NORMALIZATIONS or not values[node.input[0]].size:
            continue
        x = values[node.input[0]].astype(np.float64)
        scale = values[node.input[1]].astype(np.float64) if len(node.input) > 1 else np.ones(1)
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        axes = _normalized_axes(node.op_type, given, x.ndim)
        spread = np.sqrt(x.var(axes) + given.get("epsilon", EPSILON[node.op_type]))
        divided = np.abs(x).max(axes) * np.abs(scale).max(initial=0) / spread
        yield np.where(np.isfinite(divided), divided, 0)


def _normalized_axes(op_type: str, given: Mapping[str, Any], rank: int) -> tuple[int, ...]:
    if op_type == "MeanVarianceNormalization":
        return tuple(given.get("axes", (0, 2, 3)))
    first = 2 if op_type == "InstanceNormalization" else given.get("axis", -1) % rank
    return tuple(range(first, rank))


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
