"""Whether a difference is one of rounding at all.

Where an original moves with the last place of its inputs, differences are excused: equal graphs round
otherwise.  But both sides of a comparison may be equal without any rounding, as where an input *is* the
number that it is compared with, and then nothing excuses another answer.  So the tensors that an output is
computed from are computed again in float64, in both models: where all of them are the same numbers, neither
has rounded anything, and what differs, differs.

Constants that are folded were rounded before: only those of the original count as exact, and short ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from egraph_opt.forking import cached_property
from egraph_opt.model.encoding import bodies_of, tensors_of
from egraph_opt.model.external_data import external_tensors
from egraph_opt.model.in_float64 import in_float64
from egraph_opt.verification.budget import BudgetError
from egraph_opt.verification.comparison import TOLERANCES, Array, Value, name_of, widened
from egraph_opt.verification.execution import ExecutionError, RunnableModel, load
from egraph_opt.verification.inside import MOST_BYTES, Inside, Tensors, Watched
from egraph_opt.verification.moving import moves

NARROW = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})

SHORT_BITS = 12
"""Products and sums of numbers of so few binary places are exact in float32."""


@dataclass
class Unrounded:
    """Two models, and which of their tensors neither of them rounds.

    Attributes:
        before, after: the models, whole.
    """

    before: RunnableModel
    after: RunnableModel

    def __call__(self, feeds: Mapping[str, Value], path: str) -> bool:
        """Whether what an output is computed from is exact in both; False where that cannot be told."""
        if self._both is None or self._wide is None:
            return False
        if any(isinstance(value, list) for value in feeds.values()):
            return False
        name = name_of(path)
        wide_feeds = {key: _wide(value) for key, value in feeds.items()}
        pairs = zip((self._both.original, self._both.optimized), self._wide, strict=True)
        try:
            return all(_is_exact(one, wide, feeds, wide_feeds, name) for one, wide in pairs)
        except (ExecutionError, BudgetError):
            return False

    @cached_property
    def _both(self) -> Inside | None:
        models = (self.before.proto, self.after.proto)
        if any(map(external_tensors, models)) or not _constants_are_exact(*models):
            return None
        return Inside.of(self.before, self.after, names=False)

    @cached_property
    def _wide(self) -> tuple[Watched, Watched] | None:
        if 2 * max(self.before.bytes, self.after.bytes) > MOST_BYTES:
            return None
        try:
            one, other = (
                Watched.of(load(in_float64(m.proto, NARROW), folder=m.folder))
                for m in (self.before, self.after)
            )
        except (ExecutionError, BudgetError):  # a kernel that there is not
            return None
        return one, other


def _is_exact(
    narrow: Watched, wide: Watched, feeds: Mapping[str, Value], wide_feeds: Mapping[str, Value], name: str
) -> bool:
    """Whether the tensors that one is computed from, and itself, are the same in float64."""
    needed = {name}
    for node, read in reversed(narrow.reads):
        if not needed.isdisjoint(node.output):
            if any(bodies_of(node)):
                return False  # what is inside is not seen
            needed |= read
    found, again = _arrays(narrow.tensors(feeds)), wide.tensors(wide_feeds)
    return all(_same(found[each], again.get(each)) for each in sorted(needed & set(found)))


def _arrays(tensors: Tensors) -> Tensors:
    return {name: value for name, value in tensors.items() if isinstance(value, np.ndarray)}


def _same(a: Array, b: Any) -> bool:
    if not isinstance(b, np.ndarray) or a.shape != b.shape:
        return False
    if a.dtype not in TOLERANCES:
        return bool(np.array_equal(a, b))
    return bool(np.array_equal(widened(a), widened(b), equal_nan=True))


def _wide(value: Value) -> Value:
    return widened(value) if moves(value) and value.dtype.kind != "c" else value


def _constants_are_exact(before: onnx.ModelProto, after: onnx.ModelProto) -> bool:
    """Whether each float constant of the second is one of the first, or of few binary places."""
    known: set[float] = set()
    for array in _float_constants(before):
        known.update(np.unique(array).tolist())
    return all(
        value in known or _is_short(value) for array in _float_constants(after) for value in np.unique(array)
    )


def _float_constants(model: onnx.ModelProto) -> list[Array]:
    tensors = [t for t in tensors_of(model) if t.data_type in (*NARROW, TensorProto.DOUBLE)]
    found = [widened(numpy_helper.to_array(tensor)).reshape(-1) for tensor in tensors]
    values = [a.f for node in model.graph.node for a in node.attribute if a.name == "value_float"]
    return [*found, np.array(values, np.float64)]


def _is_short(value: float) -> bool:
    if not np.isfinite(value):
        return True
    fraction, _ = np.frexp(value)
    return bool(float(fraction) * 2.0**SHORT_BITS % 1 == 0)
