"""A model with branches in the place of its Ifs, so that inner values can be seen in a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
from onnx import helper

from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.model.external_data import share_folder

DEEPEST = 16
"""Ifs within each other that are looked into."""


def with_branches(
    proto: onnx.ModelProto, feeds: Mapping[str, Any], *, other: bool = False
) -> onnx.ModelProto:
    """A copy with every If of its graph replaced by what runs on these inputs, those within too.

    An If stays whose branch has names that the graph has already.

    Args:
        other: of the outermost Ifs take the branch that does not run.
    """
    copied = onnx.ModelProto()
    copied.CopyFrom(proto)
    proto = copied
    for depth in range(DEEPEST):
        conditions = sorted({node.input[0] for node in proto.graph.node if node.op_type == "If"})
        if not conditions:
            break
        arrays = values_of(proto, conditions, feeds)
        turned = other and depth == 0
        decided = {name: bool(array.item()) != turned for name, array in zip(conditions, arrays, strict=True)}
        if not _replaced(proto.graph, decided):
            break
    return proto


def values_of(proto: onnx.ModelProto, names: list[str], feeds: Mapping[str, Any]) -> list[Any]:
    """Values of a model's graph in a run."""
    shown = onnx.ModelProto()
    shown.CopyFrom(proto)
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    folder = share_folder(shown)
    session = RuntimeSetting(level="disable").session(shown.SerializeToString(), folder=folder)
    taken = {entry.name for entry in session.get_inputs()}
    given = {name: array for name, array in feeds.items() if name in taken}
    return list(session.run(names, given))


def _replaced(graph: onnx.GraphProto, decided: Mapping[str, bool]) -> bool:
    """Put branches in the place of Ifs; whether there was one."""
    names = set(_names(graph))
    nodes: list[onnx.NodeProto] = []
    found = False
    for node in graph.node:
        branch = None
        if node.op_type == "If":
            wanted = "then_branch" if decided[node.input[0]] else "else_branch"
            branch = next(attribute.g for attribute in node.attribute if attribute.name == wanted)
        if branch is None or not names.isdisjoint(own := list(_names(branch))):
            nodes.append(node)
            continue
        found = True
        names.update(own)
        graph.initializer.extend(branch.initializer)
        nodes += branch.node
        for inner, outer in zip(branch.output, node.output, strict=False):
            if outer:
                nodes.append(helper.make_node("Identity", [inner.name], [outer]))
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return found


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """What a graph defines."""
    yield from (entry.name for entry in graph.initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)
