"""What comes out: a model and its report."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import onnx_ir as ir

from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import write_model, write_original
from egraph_opt.report.report import Report


@dataclass(frozen=True)
class Result:
    """An optimized model with an account of it.

    Attributes:
        model: the ONNX model.
        report: what was done, in figures.
    """

    model: onnx.ModelProto
    report: Report
    _loaded: LoadedModel = field(repr=False)
    _graph: ir.Model | None = field(repr=False)

    def save(self, path: str | os.PathLike[str], *, in_place: bool = False) -> Path:
        """Write the model: whole or not at all, weights beside it where the input had them so or above 2 GB.

        Raises:
            OutputError: `path` is the input (without `in_place`) or cannot be written.
        """
        if self._graph is None:
            return write_original(path, like=self._loaded, in_place=in_place)
        return write_model(self._graph, path, like=self._loaded, proto=self.model, in_place=in_place)


def original_proto(loaded: LoadedModel) -> onnx.ModelProto:
    """The model as it came, in a copy of its own."""
    original = loaded.runnable()
    if isinstance(original, Path):
        return onnx.load(str(original))
    proto = onnx.ModelProto()
    proto.CopyFrom(original)
    return proto
