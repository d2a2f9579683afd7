"""The optimisers that are compared, and the steps of a comparison: a run, an assessment, several timed.

A tool takes a model's path and writes what it made of it.  A step runs in a process of its own, where it may
crash, hang or take all memory.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from egraph_opt.errors import UnknownToolError
from egraph_opt.imports import onnxruntime
from egraph_opt.measurement.worker import Say

if TYPE_CHECKING:
    from egraph_opt.lab.greedy.managers import GreedyResult
    from egraph_opt.lab.greedy.model import GreedyModel


Make = Callable[[Path, Path], None]
"""From the model at one path to the one at another."""


@dataclass(frozen=True)
class Tool:
    """An optimiser.

    Attributes:
        name: what it is called on the command line.
        package: the installed package that it needs; "" for ours.
        make: what runs it, handed the name of a cost model first if it has one.
        priced: whether it makes another graph for every cost model.
        orders: whether it is handed a number of random orders next.
    """

    name: str
    package: str
    make: Callable[..., None]
    priced: bool = False
    orders: bool = False

    @property
    def missing(self) -> str:
        """That it is not installed, and how to; "" where it is."""
        if not self.package or importlib.util.find_spec(self.package.replace("-", "_")) is not None:
            return ""
        return f"not installed: pip install {self.package}"


def _saved(source: Path, target: Path, change: Callable[[onnx.ModelProto], Any]) -> None:
    changed = change(onnx.load(source))
    if changed is None:
        raise ValueError("it made no model")
    onnx.save(changed, target)


def _onnxsim(source: Path, target: Path) -> None:
    def simplified(model: onnx.ModelProto) -> Any:
        made, same = importlib.import_module("onnxsim").simplify(model)
        if not same:
            raise ValueError("its own check says that outputs differ")
        return made

    _saved(source, target, simplified)


def _onnxslim(source: Path, target: Path) -> None:
    _saved(source, target, importlib.import_module("onnxslim").slim)


def _onnxoptimizer(source: Path, target: Path) -> None:
    optimizer = importlib.import_module("onnxoptimizer")
    passes = optimizer.get_fuse_and_elimination_passes()
    _saved(source, target, lambda model: optimizer.optimize(model, passes, fixed_point=True))


def _onnxscript(source: Path, target: Path) -> None:
    optimizer = importlib.import_module("onnxscript.optimizer")
    rewriter = importlib.import_module("onnxscript.rewriter")
    _saved(source, target, lambda model: rewriter.rewrite(optimizer.optimize(model)))


def _onnxruntime(level: str, source: Path, target: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def _saturation(cost: str, source: Path, target: Path) -> None:
    from egraph_opt.pipeline.stages import optimize

    optimize(source, cost, measure=False).save(target)


def _greedy(manager: str, cost: str, source: Path, target: Path) -> None:
    from egraph_opt.lab.greedy.managers import MANAGERS
    from egraph_opt.lab.greedy.model import GreedyModel

    managers = {entry.name: entry for entry in MANAGERS}
    model = GreedyModel(source, cost)
    _save_greedy(model, managers[manager](model.passes).run(model), target)


def _best_order(cost: str, orders: int, source: Path, target: Path) -> None:
    from egraph_opt.lab.greedy.managers import strongest
    from egraph_opt.lab.greedy.model import GreedyModel
    from egraph_opt.lab.greedy.passes import every_pass

    model = GreedyModel(source, cost, passes=every_pass())
    _save_greedy(model, strongest(model, orders)[1], target)


def _save_greedy(model: GreedyModel, result: GreedyResult, target: Path) -> None:
    from egraph_opt.model.writing import to_proto

    onnx.save(to_proto(model.rebuilt(result.state), model.saturated.loaded), target)


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("saturation", "", _saturation, priced=True),
        Tool("general", "", partial(_greedy, "general"), priced=True),
        Tool("fixed-point", "", partial(_greedy, "fixed point"), priced=True),
        Tool("best-order", "", _best_order, priced=True, orders=True),
        Tool("onnxsim", "onnxsim", _onnxsim),
        Tool("onnxslim", "onnxslim", _onnxslim),
        Tool("onnxoptimizer", "onnxoptimizer", _onnxoptimizer),
        Tool("onnxscript", "onnxscript", _onnxscript),
        Tool("ort-basic", "onnxruntime", partial(_onnxruntime, "BASIC")),
        Tool("ort-extended", "onnxruntime", partial(_onnxruntime, "EXTENDED")),
    )
}
"""By name; ours first, then greedy passes over the same laws, then other optimisers."""


def tools_named(names: Sequence[str]) -> tuple[Tool, ...]:
    """Some tools, in the order given.

    Raises:
        UnknownToolError: there is no such tool; suggests the nearest.
    """
    for name in names:
        if name not in TOOLS:
            raise UnknownToolError(name, TOOLS)
    return tuple(TOOLS[name] for name in names)


Answer = dict[str, Any]

KIBI = 1024


def run_tool(tool: str, cost: str, orders: int, source: str, target: str) -> Answer:
    """Run a tool: its seconds, and the most MiB that it had resident above what its libraries take.

    Importing a tool's package is not counted, since who optimises many models does it once.
    """
    chosen = TOOLS[tool]
    importlib.import_module(chosen.package.replace("-", "_") or "egraph_opt.pipeline.stages")
    before, started = _peak_mib(), time.perf_counter()
    told = (*((cost,) if chosen.priced else ()), *((orders,) if chosen.orders else ()))
    chosen.make(*told, Path(source), Path(target))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "mib": max(_peak_mib() - before, 0.0)}


def assess(original: str, path: str, costs: list[str]) -> Answer:
    """Nodes, bytes, prices under each cost model, and whether the outputs are those of the original."""
    import onnx

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.errors import EgraphOptError
    from egraph_opt.graph.node_counts import nodes_of
    from egraph_opt.pipeline.stages import saturate
    from egraph_opt.verification.verifier import verify

    prices: dict[str, float | None] = {}
    for name in costs:
        model = cost_model(name)
        try:
            report = (
                saturate(path, rewrites=(), target=model).extract(model, verify=False, measure=False).report
            )
            prices[name] = report.cost.before
        except EgraphOptError:
            prices[name] = None
    counts = nodes_of(onnx.load(path, load_external_data=False))
    checked = verify(original, path)
    return {
        "nodes": counts.runtime,
        "file_nodes": counts.file,
        "bytes": os.path.getsize(path),
        "prices": prices,
        "correct": checked.status,
        "detail": checked.detail if checked.status != "passed" else "",
    }


def time_models(paths: list[str], seconds: float) -> Answer:
    """Microseconds of models in onnxruntime, in turns, and how many times as fast as the first each is."""
    import onnx

    from egraph_opt.cost.model import default_points
    from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
    from egraph_opt.measurement.whole import latencies
    from egraph_opt.pipeline.stages import saturate

    region = saturate(paths[0], rewrites=()).region
    points = default_points(region.inputs if region else ())
    timed = latencies(paths, OrtRuntime(), points, onnx.load(paths[0]), seconds=seconds)
    return {
        "latencies": [{"micros": t.micros, "speedup": t.speedup, "low": t.low, "high": t.high} for t in timed]
    }


def _peak_mib() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(used) / (KIBI * KIBI if sys.platform == "darwin" else KIBI)


def respond(step: Callable[..., Answer], arguments: Mapping[str, Any], mib: int, say: Say) -> None:
    """In a process of its own: say what a step answers, or the error that it ended with.

    Args:
        mib: of memory; 0 for any.
    """
    if mib:
        resource.setrlimit(resource.RLIMIT_DATA, (mib * KIBI * KIBI,) * 2)
    try:
        say(step(**arguments))
    except MemoryError:
        say({"error": f"more than {mib} MiB of memory"})
    except Exception as error:  # tools raise what they like
        lines = str(error).strip().splitlines() or [""]
        say({"error": f"{type(error).__name__}: {lines[0]}"[:300]})
