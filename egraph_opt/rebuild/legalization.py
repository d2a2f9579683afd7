"""Passes that leave the ONNX standard: they make a model what a target's compiler takes.

They are no laws: what they write is no ONNX, so nothing may be concluded from it.  They run on the finished
graph, after verification, when the ruleset `legalize` is asked for by name, and mark what they made in the
model's metadata under `LEGALIZED`.  Such a model is handed on as it is when it comes back as an input.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.graph.names import Namer, names_in
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.selection import LEGALIZE


@dataclass(frozen=True)
class Legalization:
    """A registered pass; `run(model)` changes the model and answers how many nodes it changed."""

    name: str
    formula: str
    source: str
    run: Callable[[ir.Model], int] = field(compare=False)
    ruleset: str = LEGALIZE


_passes: dict[str, Legalization] = {}


def legalization(run: Callable[[ir.Model], int]) -> Callable[[ir.Model], int]:
    """Register a pass: its docstring states what it does, a line that begins with "Source:" why.

    Raises:
        ValueError: the name is taken.
    """
    lines = (inspect.getdoc(run) or "").splitlines()
    source = next(line for line in lines if line.startswith("Source:"))
    name = run.__name__
    if name in _passes:
        raise ValueError(f"legalization {name} is declared twice")
    _passes[name] = Legalization(name, lines[0], source.removeprefix("Source:").strip().rstrip("."), run)
    return run


def legalizations() -> tuple[Legalization, ...]:
    """Every pass, by name."""
    return tuple(_passes[name] for name in sorted(_passes))


def legalize(model: ir.Model) -> dict[str, int]:
    """Run all passes on a model; per pass that changed something, how many nodes."""
    changed = {entry.name: entry.run(model) for entry in legalizations()}
    return {name: count for name, count in changed.items() if count}


# --- the passes --------------------------------------------------------------------------------------------


@legalization
def topk_int32(model: ir.Model) -> int:
    """TopK with K and indices in int32, Casts around it

    ONNX has both in int64 only, which ATC may refuse.  A constant K becomes another constant; indices that
    nobody uses stay as they are.
    Source: Ascend auto-optimizer, TopkFix.
    """
    changed = 0
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        namer = Namer(names_in(graph))
        for node in list(graph.all_nodes()):
            if node.op_type == "TopK" and node.domain in ("", "ai.onnx"):
                with_k = _narrow_count(node, namer, as_constant=graph is model.graph)
                changed += _narrow_indices(node, namer) or with_k
    return changed


def _narrow_count(node: ir.Node, namer: Namer, as_constant: bool) -> bool:
    """Cast K, which is an input from opset 10 on; functions hold no initializers."""
    k = node.inputs[1] if len(node.inputs) > 1 else None
    if k is None or k.dtype == ir.DataType.INT32:
        return False
    tensor = ir.convenience.get_const_tensor(k)
    if tensor is not None and as_constant and isinstance(node.graph, ir.Graph):
        narrow = ir.Value(
            name=namer.fresh(f"{k.name}_int32"),
            type=ir.TensorType(ir.DataType.INT32),
            shape=k.shape,
            const_value=ir.tensor(tensor.numpy().astype(np.int32)),
        )
        node.graph.initializers[str(narrow.name)] = narrow
        node.replace_input_with(1, narrow)
        _drop_unused(k)
        return True
    cast = _cast(k, ir.DataType.INT32, namer.fresh(f"{k.name}_int32"), namer)
    node.prepend(cast)
    node.replace_input_with(1, cast.outputs[0])
    return True


def _drop_unused(constant: ir.Value) -> None:
    """Take an initializer that nobody uses any more out of its graph."""
    if constant.uses() or constant.is_graph_output() or constant.is_graph_input():
        return
    if constant.is_initializer() and constant.graph is not None and constant.name is not None:
        del constant.graph.initializers[constant.name]


def _narrow_indices(node: ir.Node, namer: Namer) -> bool:
    """Make the indices int32, under a name of their own, and cast them back where they are used."""
    indices = node.outputs[1]
    if not indices.name or (not indices.uses() and not indices.is_graph_output()):
        return False
    cast = _cast(indices, ir.DataType.INT64, indices.name, namer)
    wide = cast.outputs[0]
    indices.name = namer.fresh(f"{wide.name}_int32")
    indices.type = ir.TensorType(ir.DataType.INT32)
    node.append(cast)
    ir.convenience.replace_all_uses_with(indices, wide, replace_graph_outputs=True)
    cast.replace_input_with(0, indices)
    return True


def _cast(value: ir.Value, to: ir.DataType, name: str, namer: Namer) -> ir.Node:
    """A Cast of a value, whose result has the name given."""
    result = ir.Value(name=name, type=ir.TensorType(to), shape=value.shape, doc_string=value.doc_string)
    return ir.Node(
        "", "Cast", [value], [ir.AttrInt64("to", int(to))], outputs=[result], name=namer.fresh("cast")
    )
