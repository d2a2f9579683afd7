"""What comes out: a model and its report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import onnx_ir as ir

from egraph_opt.certificates.certificate import Certificate
from egraph_opt.forking import cached_property
from egraph_opt.model.reading import LoadedModel, read_model
from egraph_opt.model.writing import (
    in_one_file,
    original_in_one_file,
    to_original_proto,
    to_proto,
    write_model,
    write_original,
)
from egraph_opt.pipeline.certifying import certificate_of_unchanged
from egraph_opt.pipeline.derivation import Derivation
from egraph_opt.pipeline.explaining import explanation_of
from egraph_opt.pipeline.restarts import Iteration
from egraph_opt.report.explanation import Explanation
from egraph_opt.report.optimization import Report


@dataclass(frozen=True)
class Result:
    """An optimized model with an account of it.

    Attributes:
        report: what was done, in figures.
    """

    report: Report
    _loaded: LoadedModel = field(repr=False)
    _graph: ir.Model | None = field(repr=False)
    _proto: onnx.ModelProto | None = field(default=None, repr=False)
    """The model, where all of its weights are in it."""
    _derivation: Derivation | None = field(default=None, repr=False, compare=False)

    _certifying: Callable[[LoadedModel, float | None], Certificate] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        return f"<Result of {self._loaded.source}: {self.report!r}>"

    @property
    def iterations(self) -> Sequence[Iteration]:
        """What led to it, one saturation after the other; nothing where it is the original."""
        return () if self._derivation is None else self._derivation.iterations

    def _repr_html_(self) -> str:
        return self.report.as_html()

    def explain(self, node: str | None = None) -> Explanation:
        """Where the result differs from the model, by which laws, and what each difference saves.

        Args:
            node: the name of a node or a tensor of either; only what it is part of.

        Raises:
            UnknownTensorError: neither has that name; suggests the nearest.
        """
        if self._derivation is None:
            return self.report.unexplained()
        return explanation_of(self._derivation, self.report, node)

    def certificate(self, *, bound_seconds: float | None = None) -> Certificate:
        """Why the result is equal to the model, for `egraph_opt.certificates` to check without any engine.

        Also what it costs, and why no graph of its e-graph is cheaper, or than what none is.

        Args:
            bound_seconds: how long that may take to be shown: 20 unless said; with 0 nothing is said of cost.

        Raises:
            CertificateError: the optimisation was not asked to record what laws did, or that is not enough.
        """
        if self._graph is None or self._certifying is None:
            return certificate_of_unchanged(self._loaded)
        return self._certifying(read_model(self.model), bound_seconds)

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The ONNX model: made when it is asked for, as weights that are in files are loaded into it.

        With more than 2 GB of them they stay in their files, by absolute locations.
        """
        if self._proto is not None:
            return self._proto
        if self._graph is None:
            return to_original_proto(self._loaded)
        return to_proto(self._graph, self._loaded)

    def save(self, path: str | os.PathLike[str], *, in_place: bool = False) -> Path:
        """Write the model: whole or not at all, weights beside it where the input had them so or above 2 GB.

        Raises:
            OutputError: `path` is the input (without `in_place`) or cannot be written.
        """
        if self._graph is None:
            return write_original(path, like=self._loaded, in_place=in_place)
        return write_model(self._graph, path, like=self._loaded, proto=self._proto, in_place=in_place)

    def to_bytes(self) -> bytes:
        """The model in one file, for a pipe or a network.

        Raises:
            OutputError: it has more than 2 GB of weights.
        """
        if self._graph is None:
            return original_in_one_file(self._loaded)
        return in_one_file(self._graph, self._loaded, self._proto)
