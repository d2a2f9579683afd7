"""What greedy optimizers make of a model, counted like our own results; for those that are installed."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime

from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.verification.execution import Session, load


@dataclass(frozen=True)
class GreedyResult:
    """Nodes that run, and nodes in the file (see `node_counts`); None where it failed, with the reason."""

    tool: str
    nodes: int | None
    file: int | None
    reason: str = ""


def _onnxsim(path: Path, folder: Path) -> onnx.ModelProto:
    simplified: onnx.ModelProto
    simplified, same = importlib.import_module("onnxsim").simplify(onnx.load(path))
    if not same:
        raise ValueError("its own check says the outputs differ")
    return simplified


def _onnxslim(path: Path, folder: Path) -> onnx.ModelProto:
    slimmed: onnx.ModelProto = importlib.import_module("onnxslim").slim(onnx.load(path))
    return slimmed


def _ort_basic(path: Path, folder: Path) -> onnx.ModelProto:
    """onnxruntime's graph optimisations that stay within standard operators."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "basic.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "basic.onnx")


TOOLS: dict[str, tuple[str, Callable[[Path, Path], onnx.ModelProto]]] = {
    "onnxsim": ("onnxsim", _onnxsim),
    "OnnxSlim": ("onnxslim", _onnxslim),
    "ORT basic": ("onnxruntime", _ort_basic),
}
"""The package that a tool needs, and what runs it."""


def run_tools(path: Path) -> list[GreedyResult]:
    """Every installed tool on one model; what onnxruntime does not load afterwards counts as a failure."""
    results = []
    for tool, (package, run) in TOOLS.items():
        if importlib.util.find_spec(package) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                model = run(path, Path(folder))
                Session(load(model))
            except Exception as error:  # these tools raise anything
                lines = str(error).strip().splitlines() or [""]
                results.append(GreedyResult(tool, None, None, f"{type(error).__name__}: {lines[0]}"))
            else:
                count = nodes_of(model)
                results.append(GreedyResult(tool, count.runtime, count.file))
    return results
