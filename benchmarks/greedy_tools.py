"""The greedy optimizers that figures are set beside, of those that `egraph_opt.lab.comparison` names.

Each runs in a process of its own.  One that is not installed, fails or hangs has a result that says so;
`make bench` installs them (the extra `compare`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import onnx

from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.lab.comparison.running import Contender, contender_of
from egraph_opt.lab.comparison.tools import TOOLS as KNOWN
from egraph_opt.lab.comparison.tools import Tool
from egraph_opt.verification.execution import Session, load

TOOLS: dict[str, Tool] = {
    "onnxsim": KNOWN["onnxsim"],
    "OnnxSlim": KNOWN["onnxslim"],
    "onnxscript": KNOWN["onnxscript"],
    "ORT basic": KNOWN["ort-basic"],
}
"""By the name that tables have: those whose results any runtime takes."""


@dataclass(frozen=True)
class GreedyResult:
    """Nodes that run, and nodes in the file (see `node_counts`); None where it failed, with the reason."""

    tool: str
    nodes: int | None
    file: int | None
    reason: str = ""


def run_tools(path: Path) -> list[GreedyResult]:
    """Every tool on one model; what onnxruntime does not load afterwards counts as a failure."""
    with tempfile.TemporaryDirectory() as folder:
        return [_result(title, path, Path(folder) / f"{title}.onnx") for title in TOOLS]


def _result(title: str, path: Path, target: Path) -> GreedyResult:
    row = contender_of(Contender(path.stem, title), TOOLS[title], (path, target))
    if row.problem:
        return GreedyResult(title, None, None, row.problem)
    try:
        model = onnx.load(target)
        Session(load(model))
    except Exception as error:  # other people's models
        lines = str(error).strip().splitlines() or [""]
        return GreedyResult(title, None, None, f"{type(error).__name__}: {lines[0]}")
    count = nodes_of(model)
    return GreedyResult(title, count.runtime, count.file)
