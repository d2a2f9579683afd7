"""Writes into a result where it came from: `model.provenance`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import onnx_ir as ir

from egraph_opt.graph.differences import differences
from egraph_opt.model.provenance import NodeProvenance, joined, with_provenance
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.derivation import Derivation


def making(loaded: LoadedModel, cost: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """By which version a result is made, from what, and with which options."""
    said = {"version": version("egraph-opt"), "cost": cost, **options}
    return {**said, "input_sha256": loaded.digest} if loaded.digest else said


def annotated(derivation: Derivation, loaded: LoadedModel, made: Mapping[str, Any]) -> LoadedModel:
    """Write into the nodes of a result that are new what they came of.

    Args:
        loaded: what was optimised.
        made: see `making`; the model says it, too.

    Returns:
        `loaded`, with what the model is to say around it; as it is where nothing is different, so that a
        second optimisation leaves a file as it was.
    """
    found = differences(derivation.given, derivation.result, derivation.same).found
    if not found:
        return loaded
    costs, unit = derivation.costs_after(), derivation.model.unit
    for difference in found:
        before = joined([_called(node) for node in difference.before])
        for node in difference.after:
            cost = f"{costs[node]:.6g} {unit}" if node in costs else ""
            entry = NodeProvenance(tuple(derivation.laws_written_into(node)), before, cost)
            node.metadata_props.update(entry.entries())
    said = {name: value for name, value in made.items() if value}
    return replace(loaded, metadata=with_provenance(loaded.metadata, said))


def _called(node: ir.Node) -> str:
    """The name of a node, or that of what it computes."""
    return node.name or next((value.name for value in node.outputs if value.name), None) or node.op_type
