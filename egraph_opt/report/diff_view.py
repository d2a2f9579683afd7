"""Two graphs as one picture: boxes of nodes that are in both, and boxes of nodes that changed.

A box opens on a click, so that models of thousands of nodes can be looked at.  What is in both is cut where
it would lie before and behind a change at once, so that the picture has a direction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import onnx_ir as ir

from egraph_opt.foreign_text import printable
from egraph_opt.graph.differences import Differences
from egraph_opt.graph.walks import captured_values
from egraph_opt.report.node_text import node_text

MOST_IN_A_BOX = 60
"""Nodes that are in both in one box; more are several boxes."""

MOST_BOXES = 300
"""Boxes and groups that are drawn at first: above, neighbouring boxes are a group (dagre descends into graphs
by recursion, and fails at about 2,000)."""

OPEN_UP_TO = 80
"""Nodes of the picture up to which all boxes are open at first."""


@dataclass(frozen=True)
class ViewNode:
    """A node of the picture: of the model ("removed"), of the result ("added"), or of both ("kept")."""

    id: str
    status: str
    box: str
    label: str
    name: str
    text: str
    law: str


@dataclass(frozen=True)
class ViewBox:
    """A box; `difference` is the number of its explanation, -1 where nothing changed.

    Attributes:
        group: of neighbouring boxes that it is drawn in until that is opened; "" where there are few boxes.
    """

    id: str
    label: str
    difference: int
    opened: bool
    group: str = ""


@dataclass(frozen=True)
class DiffView:
    """Nodes, the boxes that they are in, and edges (from, to, tensor, status)."""

    boxes: tuple[ViewBox, ...]
    nodes: tuple[ViewNode, ...]
    edges: tuple[tuple[str, str, str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def diff_view(
    before: ir.Graph, after: ir.Graph, found: Differences, numbers: Sequence[int], laws: Mapping[ir.Node, str]
) -> DiffView:
    """The picture of the differences of two graphs, those in bodies left out.

    Args:
        numbers: of each difference the number of its explanation.
        laws: by node of the result the law that wrote it.
    """
    kept = {one: other for one, other in found.kept if other.graph is after}
    box_of: dict[ir.Node, str] = {}
    boxes: list[tuple[str, int, list[ir.Node]]] = []
    for difference, number in zip(found.found, numbers, strict=True):
        if not difference.within:
            nodes = [*difference.before, *difference.after]
            boxes.append((f"d{len(boxes)}", number, nodes))
            box_of.update(dict.fromkeys(nodes, boxes[-1][0]))
    for members in _kept_boxes(after, set(kept.values()), box_of):
        boxes.append((f"k{len(boxes)}", -1, members))
        box_of.update(dict.fromkeys(members, boxes[-1][0]))
    ids: dict[ir.Node, str] = {}
    shown: list[ViewNode] = []
    removed = {node for entry in found.found for node in entry.before}
    for box, _, nodes in boxes:
        for node in nodes:
            ids[node] = f"n{len(ids)}"
            status = "kept" if box[0] == "k" else "removed" if node in removed else "added"
            label, name, law = printable(node.op_type), node.name or "", laws.get(node, "")
            shown.append(ViewNode(ids[node], status, box, label, name, node_text(node), law))
    ids.update({one: ids[other] for one, other in kept.items() if other in ids})
    total = len(shown)
    groups = _groups([nodes for _, _, nodes in boxes], before, after)
    return DiffView(
        tuple(
            ViewBox(box, _label(number, nodes, removed), number, total <= OPEN_UP_TO, group)
            for (box, number, nodes), group in zip(boxes, groups, strict=True)
        ),
        tuple(shown),
        tuple(
            dict.fromkeys((*_edges(after, ids, "added", removed), *_edges(before, ids, "removed", removed)))
        ),
    )


def _groups(boxes: Sequence[Sequence[ir.Node]], before: ir.Graph, after: ir.Graph) -> list[str]:
    """By box its group of neighbours, by where its first node is in its graph."""
    if len(boxes) <= MOST_BOXES:
        return [""] * len(boxes)
    place = {node: k / len(graph) for graph in (before, after) for k, node in enumerate(graph)}
    first = [min(place[node] for node in nodes) for nodes in boxes]
    size = -(-len(boxes) // MOST_BOXES)
    groups = [""] * len(boxes)
    for position, number in enumerate(sorted(range(len(boxes)), key=lambda k: (first[k], k))):
        groups[number] = f"g{position // size}"
    return groups


def _label(number: int, nodes: Sequence[ir.Node], removed: set[ir.Node]) -> str:
    if number < 0:
        return printable(nodes[0].op_type) if len(nodes) == 1 else f"{len(nodes)} nodes as before"
    gone = sum(node in removed for node in nodes)
    return f"{number + 1}: {gone} -> {len(nodes) - gone} nodes"


def _kept_boxes(
    graph: ir.Graph, kept: set[ir.Node], box_of: Mapping[ir.Node, str]
) -> Iterator[list[ir.Node]]:
    """Nodes that are in both, in parts that hang together and lie behind the same number of changes."""
    depth: dict[ir.Node, int] = {}
    waiting: dict[int, list[ir.Node]] = defaultdict(list)
    for node in graph:
        sources = [v.producer() for v in (*node.inputs, *captured_values(node)) if v is not None]
        deepest = 0
        for source in sources:
            if source is not None and source in depth:
                step = 1 if (source in box_of) != (node in box_of) else 0
                deepest = max(deepest, depth[source] + step)
        depth[node] = deepest
        if node in kept:
            waiting[deepest].append(node)
    for level in sorted(waiting):
        for nodes in _connected(waiting[level]):
            yield from (nodes[start : start + MOST_IN_A_BOX] for start in range(0, len(nodes), MOST_IN_A_BOX))


def _connected(nodes: Sequence[ir.Node]) -> list[list[ir.Node]]:
    """Nodes in parts that hang together, in order."""
    part_of: dict[ir.Node, list[ir.Node]] = {}
    for node in nodes:
        part = [node]
        for value in (*node.inputs, *captured_values(node)):
            source = None if value is None else value.producer()
            known = None if source is None else part_of.get(source)
            if known is not None and known is not part:
                small, large = sorted((part, known), key=len)
                large += small
                part_of.update(dict.fromkeys(small, large))
                part = large
        part_of[node] = part
    place = {node: k for k, node in enumerate(nodes)}
    parts = {id(part): sorted(part, key=place.__getitem__) for part in part_of.values()}
    return list(parts.values())


def _edges(
    graph: ir.Graph, ids: Mapping[ir.Node, str], status: str, removed: set[ir.Node]
) -> Iterator[tuple[str, str, str, str]]:
    """Which node of a graph reads what of which; between nodes that are in both graphs they are in both."""
    for node in graph:
        if node not in ids:
            continue
        for value in (*node.inputs, *captured_values(node)):
            source = None if value is None else value.producer()
            if value is not None and source is not None and source in ids:
                between = status if status == "removed" and (node in removed or source in removed) else "kept"
                if status == "added" or between == "removed":
                    yield ids[source], ids[node], value.name or "", between
