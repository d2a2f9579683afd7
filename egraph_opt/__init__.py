"""Optimise ONNX models by equality saturation."""

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.pipeline import Limits, Result, Saturated, optimize, saturate

__all__ = ["CostModel", "Limits", "NodeView", "Result", "Saturated", "optimize", "saturate"]
