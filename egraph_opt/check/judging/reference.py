"""What ONNX's reference evaluator computes, with floats in float64."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from egraph_opt.check.feeds.inputs import Feeds
from egraph_opt.check.feeds.roles import MOST_COUNTED
from egraph_opt.forking import cached_property
from egraph_opt.model.in_float64 import in_float64
from egraph_opt.rebuild.conv_transpose import ConvTranspose

Outputs = list[npt.NDArray[Any]]


class BatchNormalization(OpRun):
    """As it is at run time: onnx's, before opset 14, takes any model to be in training."""

    op_domain = ""

    def _run(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any, **settings: Any) -> tuple[Any]:
        dims = (-1, *(1,) * (x.ndim - 2))
        scale, bias, mean, var = (given.reshape(dims) for given in (scale, bias, mean, var))
        return ((scale * (x - mean) / np.sqrt(var + settings["epsilon"]) + bias).astype(x.dtype),)


class LogSoftmax(OpRun):
    """Without the logarithm of 0 that onnx's takes of what is far below the greatest element."""

    op_domain = ""

    def _run(self, x: Any, axis: int = -1) -> tuple[Any]:
        below = x - np.max(x, axis, keepdims=True, initial=-np.inf)
        return ((below - np.log(np.sum(np.exp(below), axis, keepdims=True))).astype(x.dtype),)


class LRN(OpRun):
    """Of all channels: onnx's leaves as many as there are images, and has no others than of four axes."""

    op_domain = ""

    def _run(self, x: Any, alpha: Any = None, beta: Any = None, bias: Any = None, size: Any = None) -> Any:
        before, behind = (size - 1) // 2, size // 2
        padded = np.pad(x * x, [(0, 0), (before, behind), *[(0, 0)] * (x.ndim - 2)])
        total = sum(padded[:, k : k + x.shape[1]] for k in range(size))
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class MeanVarianceNormalization(OpRun):
    """In one step: onnx's is a function with constants in float32."""

    op_domain = ""

    def _run(self, x: Any, axes: Any = None) -> tuple[Any]:
        along = (0, 2, 3) if axes is None else tuple(axes)
        away = x - x.mean(axis=along, keepdims=True)
        return ((away / (x.std(axis=along, keepdims=True) + 1e-9)).astype(x.dtype),)


class Range(OpRun):
    """As long as a machine has room for; in float64, whatever type the steps of halves are to be added in."""

    op_domain = ""

    def _run(self, starts: Any, ends: Any, steps: Any, stash_type: int | None = None) -> tuple[Any]:
        with np.errstate(all="ignore"):
            count = (np.float64(ends) - np.float64(starts)) / np.float64(steps)
        if not count <= MOST_COUNTED:
            raise MemoryError("a range that is too long")
        return (np.arange(starts.item(), ends.item(), steps.item()).astype(starts.dtype),)


NEW = [BatchNormalization, ConvTranspose, LogSoftmax, LRN, MeanVarianceNormalization, Range]


class Reference:
    """A model in ONNX's reference evaluator; errors come from `run`.

    Args:
        wide: with float64 instead of float32.
    """

    def __init__(self, model: onnx.ModelProto, *, wide: bool = True) -> None:
        self.model, self._wide = model, wide

    @cached_property
    def _evaluator(self) -> ReferenceEvaluator:
        model = in_float64(self.model) if self._wide else self.model
        return ReferenceEvaluator(model, new_ops=NEW)

    def run(self, feeds: Feeds) -> Outputs:
        return [np.asarray(output) for output in self._results(feeds, on_the_way=False)]

    def on_the_way(self, feeds: Feeds) -> dict[str, Any]:
        """All that is computed by name, inputs and outputs as well."""
        results = self._results(feeds, on_the_way=True)
        return {name: np.asarray(found) for name, found in results.items() if found is not None}

    def _results(self, feeds: Feeds, *, on_the_way: bool) -> Any:
        if any(map(_is_mean_of_partial_windows, self.model.graph.node)):
            raise RuntimeError("its AveragePool counts what is beyond the pads of a partial window")
        if any(node.op_type == "Resize" for node in self.model.graph.node) and not _are_finite(feeds):
            raise RuntimeError("its Resize adds up all elements, most of them times 0, which a NaN is not")
        floats = np.float64 if self._wide else np.float32
        # Some of its operators write into their operands.
        wide = {k: v.astype(floats) if v.dtype == np.float32 else v.copy() for k, v in feeds.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a mean of nothing
            return self._evaluator.run(None, wide, intermediate=on_the_way)


def _are_finite(feeds: Feeds) -> bool:
    return all(bool(np.isfinite(array).all()) for array in feeds.values() if array.dtype.kind == "f")


def _is_mean_of_partial_windows(node: onnx.NodeProto) -> bool:
    rounds_up = any(attribute.name == "ceil_mode" and attribute.i for attribute in node.attribute)
    return rounds_up and node.op_type == "AveragePool"
