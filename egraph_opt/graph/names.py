"""Names of a rebuilt model: those of the original where the value or node survives, new ones otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from egraph_opt.graph.walks import bodies, nodes_within
from egraph_opt.imports import onnx_ir as ir


def names_in(graph: ir.Graph) -> Iterable[str]:
    """Every name of a value or node, those of bodies included."""
    for value in (*graph.inputs, *graph.initializers.values()):
        yield value.name or ""
    for node in graph:
        for inner in (node, *nodes_within(node)):
            yield inner.name or ""
            yield from (v.name or "" for v in inner.outputs)
            for body in bodies(inner):
                yield from (v.name or "" for v in (*body.inputs, *body.initializers.values()))


def rename_all(graph: ir.Graph, namer: Namer) -> None:
    """Give every value and node of a body, and of the bodies in it, a new name."""
    pending = [graph]
    for current in pending:
        values = [*current.inputs, *current.initializers.values()]
        for node in current:
            values.extend(node.outputs)
            pending.extend(bodies(node))
            if node.name:
                node.name = namer.fresh(node.name)
        for value in dict.fromkeys(values):
            if value.name:
                value.name = namer.fresh(value.name)


class Namer:
    """Hands out names that are not taken, such as `names_in` has those of a model, deterministically."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """A new name that begins with `stem`."""
        while True:
            number = self._next.get(stem, 0)
            self._next[stem] = number + 1
            name = f"{stem}_{number}"
            if name not in self._taken:
                self._taken.add(name)
                return name

    def named(self, name: str) -> str:
        """A name, if it is not taken; else a new one that begins with it."""
        if name in self._taken:
            return self.fresh(name)
        self._taken.add(name)
        return name


class UniqueNames:
    """The names of a model as it is before anything in it moves to another scope, and new ones.

    Only what is in a body moves: of a model without any, nothing is counted.
    """

    def __init__(self, model: ir.Graph) -> None:
        self._counts = Counter(names_in(model) if any(map(bodies, model)) else ())
        self.namer = Namer(self._counts)

    def rename(self, node: ir.Node) -> None:
        """Give a node and its outputs other names where theirs occur elsewhere too."""
        if self._counts[node.name or ""] > 1:
            node.name = self.namer.fresh(node.op_type.lower())
        for value in node.outputs:
            if value.name and self._counts[value.name] > 1:
                value.name = self.namer.fresh(value.name)
