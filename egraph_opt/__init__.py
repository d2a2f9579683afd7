"""Optimise ONNX models by equality saturation.

The public names are imported when they are first asked for: to read a model nobody waits for the rule engine.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from egraph_opt.imports import load_onnx_ir

if TYPE_CHECKING:
    from egraph_opt.cost.model import CostModel, NodeView
    from egraph_opt.cost.parameters import parameter
    from egraph_opt.cost.registry import cost_model
    from egraph_opt.errors import EgraphOptError
    from egraph_opt.measurement.runner import Runner
    from egraph_opt.pipeline.limits import Limits
    from egraph_opt.pipeline.result import Result
    from egraph_opt.pipeline.saturated import Saturated
    from egraph_opt.pipeline.stages import optimize, saturate
    from egraph_opt.report.optimization import Report

    __version__: str

__all__ = [
    "CostModel",
    "EgraphOptError",
    "Limits",
    "NodeView",
    "Report",
    "Result",
    "Runner",
    "Saturated",
    "__version__",
    "cost_model",
    "optimize",
    "parameter",
    "saturate",
]

_MODULES = {
    "CostModel": "cost.model",
    "EgraphOptError": "errors",
    "Limits": "pipeline.limits",
    "NodeView": "cost.model",
    "Report": "report.optimization",
    "Result": "pipeline.result",
    "Runner": "measurement.runner",
    "Saturated": "pipeline.saturated",
    "cost_model": "cost.registry",
    "optimize": "pipeline.stages",
    "parameter": "cost.parameters",
    "saturate": "pipeline.stages",
}
"""Where the public names are defined."""


def __getattr__(name: str) -> object:
    if name == "__version__":  # which takes a while to look up
        return version("egraph-opt")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name].startswith("pipeline."):
        load_onnx_ir()
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
