"""What would make a result better: sizes that never change, an opset that has the operators it needs, weights
that are floats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import onnx_ir as ir

from egraph_opt.graph.walks import RANDOM, bodies
from egraph_opt.inference.graph import names_of_dims
from egraph_opt.memory.objective import bytes_text
from egraph_opt.pipeline.opset import first_opset

SIZES = frozenset(("Shape", "Size"))

LEAST, LEAST_SHARE = 3, 0.03
"""So many nodes, and such a share of all, are worth a hint."""

SHOWN = 3
"""Operators that are named."""


def hints_of(written: ir.Model, runtime: int, points: Mapping[str, int]) -> tuple[str, ...]:
    """What fixed sizes of inputs would save, where that is much.

    Args:
        written: the result.
        runtime: its nodes that run.
        points: sizes at which it runs.
    """
    counts = Counter(node.op_type for node in _of_sizes(written.graph))
    shapes = _fixing(written, points)
    if not shapes or counts.total() < max(LEAST, LEAST_SHARE * runtime):
        return ()
    named = ", ".join(f"{count} {op_type}" for op_type, count in counts.most_common(SHOWN))
    left = runtime - counts.total()
    return (f"{counts.total()} nodes compute sizes alone ({named}): {shapes} leaves at most {left}",)


def free_sizes_hint(
    written: ir.Model, points: Mapping[str, int], said: Collection[str], factor: float
) -> tuple[str, ...]:
    """What free sizes cost on a target, and which sizes were taken for those that nobody has said.

    Args:
        said: names of sizes that are known.
        factor: how many times as long the result takes where sizes stay free.
    """
    shapes = _fixing(written, points)
    if not shapes or not factor > 1:
        return ()
    names = {name for value in written.graph.inputs for name in names_of_dims(value) if name}
    guessed = [f"{name} = {points[name]}" for name in sorted(names) if name in points and name not in said]
    priced = f"priced at {', '.join(guessed)}, which nobody has said; " if guessed else ""
    slower = f"built for any size the model takes about {factor:g} times as long"
    return (f"{priced}{slower}: {shapes}",)


def _fixing(written: ir.Model, points: Mapping[str, int]) -> str:
    """The options that fix the free sizes of inputs; "" where none is free."""
    free = [value for value in written.graph.inputs if any(names_of_dims(value))]
    return " ".join(f"--input-shape {_shape(value, points)}" for value in free)


def opset_hint(composites: Mapping[str, int], opset: int) -> tuple[str, ...]:
    """The opset that has operators for composite functions, which the model's own has not."""
    missing = {name: first for name in composites if (first := first_opset(name, opset)) is not None}
    count = sum(composites[name] for name in missing)
    if count < LEAST:
        return ()
    named = ", ".join(f"{composites[name]} {name}" for name in missing)
    return (f"{named} would be one node each: --opset {max(missing.values())} (now {opset})",)


def dequantized_hint(written: ir.Model) -> tuple[str, ...]:
    """How many weights are made floats in each run, where nothing else is quantised.

    Runtimes run quantised nodes where what goes in is quantised as well; weights alone they only make wider.
    """
    found = [node for node in written.graph if node.op_type == "DequantizeLinear"]
    weights = [(node.inputs[0], node.inputs[1]) for node in found]
    known = [(w.const_value, scale) for w, scale in weights if w is not None and w.const_value is not None]
    if len(known) < LEAST or len(known) < len(found) or any(map(_quantizes, written.graph)):
        return ()
    more = sum(_bytes_of_type(scale) * array.size - array.nbytes for array, scale in known)
    return (
        f"{len(known)} weights are made floats in each run: --fold-quantized does it once, and makes the file"
        f" {bytes_text(more)} larger",
    )


def _bytes_of_type(scale: ir.Value | None) -> int:
    """Of a float that is dequantised by a scale, whose type it has."""
    return 4 if scale is None or scale.dtype is None else int(scale.dtype.itemsize)


def _quantizes(node: ir.Node) -> bool:
    return node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")


def _of_sizes(graph: ir.Graph) -> Iterator[ir.Node]:
    """Nodes of what depends on sizes of tensors alone, and on no element of them."""
    known: set[ir.Value] = set(graph.initializers.values()) - set(graph.inputs)
    sizes: set[ir.Value] = set()
    for node in graph:
        operands = {value for value in node.inputs if value is not None}
        if node.op_type in RANDOM or bodies(node):
            continue
        if node.op_type in SIZES or (operands <= known | sizes and operands & sizes):
            sizes.update(node.outputs)
            yield node
        elif operands <= known:
            known.update(node.outputs)


def sizes_of(value: ir.Value, points: Mapping[str, int]) -> tuple[int | None, ...]:
    """The shape of an input at these sizes; None for a dim that has none."""
    dims = value.shape.dims if value.shape is not None else ()
    return tuple(
        points.get(name) if name else dim if isinstance(dim, int) else None
        for dim, name in zip(dims, names_of_dims(value), strict=True)
    )


def _shape(value: ir.Value, points: Mapping[str, int]) -> str:
    """The shape of an input at these sizes, as `--input-shape` takes it."""
    sizes = ("?" if size is None else str(size) for size in sizes_of(value, points))
    return f"{value.name}:{','.join(sizes)}"
