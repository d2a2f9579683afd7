"""The optimisers that are compared: each takes a model's path and writes what it made of it.

Run in a process of its own (see `steps`), where it may crash, hang or take all memory.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from egraph_opt.errors import UnknownToolError
from egraph_opt.imports import onnxruntime

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
