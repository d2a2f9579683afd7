"""What became of constants and attributes between two regions: what a line for each node does not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

from egraph_opt.foreign_text import printable
from egraph_opt.graph.content import Contents
from egraph_opt.graph.default_attributes import telling_attributes
from egraph_opt.graph.differences import constant_tensor
from egraph_opt.graph.walks import as_written, captured_values
from egraph_opt.report.node_text import kind_text, node_text, type_text


def constant_lines(before: Sequence[ir.Node], after: Sequence[ir.Node]) -> tuple[str, ...]:
    """The constants that are new, and what changed in those and in nodes that are called the same."""
    known, contents = _read_by(before), Contents()
    found: list[str] = []
    for name, value in _read_by(after).items():
        tensor = constant_tensor(value)
        was = constant_tensor(known[name]) if name in known else None
        if tensor is None or (was is None and tensor.size <= 1):  # small ones are in the text of their nodes
            continue
        if was is None:
            found.append(f"{printable(name)}: {type_text(value)}")
        elif was is not tensor and contents.key(was) != contents.key(tensor):
            found.append(f"{printable(name)}: {change_of(was, tensor)}")
    lines = {node_text(node): node for node in before}
    for node in after:
        if (old := lines.get(node_text(node))) is not None:
            found += _unseen(old, node)
    return tuple(found)


def change_of(before: ir.TensorProtocol, after: ir.TensorProtocol) -> str:
    """Type and shape where they changed; else how many elements, and by how much at most."""
    one, other = (kind_text(tensor.dtype, tensor.shape) for tensor in (before, after))
    if one != other:
        return f"{one} -> {other}"
    a, b = before.numpy().reshape(-1), after.numpy().reshape(-1)
    if before.dtype in (ir.DataType.STRING, ir.DataType.BOOL):
        return f"{one}, {_count(a != b)} changed"
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    with np.errstate(all="ignore"):
        x, y = a.astype(wide), b.astype(wide)
        changed = (a != b) & ~(np.isnan(x) & np.isnan(y))
        apart = np.abs(x - y)[changed]
    if not changed.any():
        return f"{one}, the same values in other bits"
    finite = apart[np.isfinite(apart)]
    most = f", by at most {finite.max():.6g}" if finite.size and finite.max() > 0 else ""
    odd = (
        f", {len(apart) - len(finite):,} of them to or from NaN or infinity"
        if len(finite) < len(apart)
        else ""
    )
    return f"{one}, {_count(changed)} changed{most}{odd}"


def weights_of(nodes: Sequence[ir.Node]) -> tuple[str, ...]:
    """The names of the constants that nodes and their bodies read."""
    return tuple(name for name, value in _read_by(nodes).items() if constant_tensor(value) is not None)


def _count(changed: np.ndarray) -> str:
    return f"{int(changed.sum()):,} of {changed.size:,} {'element' if changed.size == 1 else 'elements'}"


def _read_by(nodes: Sequence[ir.Node]) -> dict[str, ir.Value]:
    """What nodes and their bodies read, by name."""
    read = (value for node in nodes for value in (*node.inputs, *captured_values(node)))
    return {value.name: value for value in read if value is not None and value.name}


def _unseen(before: ir.Node, after: ir.Node) -> Iterator[str]:
    """Where two nodes of the same text differ: in long attributes, or in what their bodies read."""
    one, other = (
        dict(as_written(telling_attributes(node, node.graph.opset_imports.get("", 1) if node.graph else 1)))
        for node in (before, after)
    )
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            yield f"attribute {printable(name)} of {printable(after.outputs[0].name or '')}: other elements"
    was, now = ([printable(v.name or "") for v in captured_values(node)] for node in (before, after))
    if was != now:
        yield f"bodies read {', '.join(was) or 'nothing'} -> {', '.join(now) or 'nothing'}"
