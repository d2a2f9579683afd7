"""Whole models: optimised, compared, and optimised again."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from egraph_opt.graph.body_equality import bodies_key
from egraph_opt.pipeline.stages import optimize


def equal_graphs(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    """Whether two models compute the same by the same nodes in the same order, whatever the names.

    Raises:
        ValueError: a node of them cannot be compared (a reference to an attribute of a function, say).
    """
    keys = [bodies_key([ir.from_proto(model).graph], {}) for model in (one, other)]
    if None in keys:
        raise ValueError("the graphs have nodes that cannot be compared")
    return bool(keys[0] == keys[1])


def assert_sound(model: Any, cost: Any = "nodes", **options: Any) -> Any:
    """Optimise a model, compare its outputs with the original's, optimise again, and see nothing change.

    Args:
        model, cost, options: as for `egraph_opt.optimize`.

    Returns:
        The first result.

    Raises:
        VerificationError: the outputs differ.
        AssertionError: the outputs could not be compared, or the second optimisation changes the graph.
    """
    result = optimize(model, cost, strict=True, **options)
    verdict = result.report.verification
    assert verdict.status in ("passed", "approximate"), f"the outputs were not compared: {verdict.detail}"
    again = optimize(result.model, cost, strict=True, **options)
    assert again.report.status == "unchanged" or equal_graphs(result.model, again.model), (
        f"a second optimisation changes the graph: {result.report.cost.after}, then {again.report.cost.after}"
    )
    return result
