"""Terms of a law saturated together, in one e-graph, and read out again one by one.

Most of what a small term costs is to begin and to end with an e-graph.  Terms have nothing in common but the
numbers that they name, so that what a law does to one of them it does to it alone, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from egraph_opt.check.terms import lower_example
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.graph.constants import Constants
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.law import Example, Law

MOST_NODES = 50_000
ROUNDS = 1


@dataclass
class TermBatch:
    """Lowered terms as one graph of the engine.

    Attributes:
        places: by part and number of a term, its number in the whole.
        leaves: by part, the number of leaves before its own.
    """

    parts: Sequence[Lowered]
    whole: Lowered = field(init=False)
    places: list[list[int]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.parts[0]
        graph = ir.Graph([], [], nodes=[], opset_imports={"": first.opset}, name="terms")
        self.whole = Lowered(graph, first.opset, leaves=[], constants=Constants({}))
        for part in self.parts:
            self._add(part)

    def _add(self, part: Lowered) -> None:
        offset, whole = len(self.whole.leaves), self.whole
        index = {term: k for k, term in enumerate(whole.terms) if term.operator in ("none", "literal")}
        places: list[int] = []
        for term, fact in zip(part.terms, part.facts, strict=True):
            operands = tuple(
                tuple(places[k] for k in item) if isinstance(item, tuple) else places[item]
                for item in term.operands
            )
            moved = tuple(a + offset for a in term.attributes) if term.operator == "leaf" else term.attributes
            made = Term(term.operator, moved, operands)
            if made not in index:
                index[made] = len(whole.terms)
                whole.terms.append(made)
                whole.facts.append(fact)
                whole.names.append([])
            places.append(index[made])
        self.leaves.append(offset)
        self.places.append(places)
        whole.leaves.extend(part.leaves)
        whole.outputs.extend(places[k] for k in part.outputs)

    def part(self, snapshot: Snapshot, number: int) -> Snapshot:
        """What a snapshot of the whole has of one of the parts."""
        places, offset = self.places[number], self.leaves[number]
        classes = _reached(snapshot, snapshot.term_classes[places].tolist())
        owners, own = snapshot.node_class.tolist(), range(offset, offset + len(self.parts[number].leaves))
        nodes = [
            k
            for k in range(snapshot.n_nodes)
            if owners[k] in classes and (snapshot.operator[k] != "leaf" or snapshot.attributes[k][0] in own)
        ]
        renumbered = {c: k for k, c in enumerate(classes)}
        position = {node: k for k, node in enumerate(nodes)}
        children = [[renumbered[c] for c in snapshot.children(k)] for k in nodes]
        return Snapshot(
            operator=tuple(snapshot.operator[k] for k in nodes),
            attributes=tuple(
                (snapshot.attributes[k][0] - offset,)
                if snapshot.operator[k] == "leaf"
                else snapshot.attributes[k]
                for k in nodes
            ),
            node_class=np.array([renumbered[owners[k]] for k in nodes], dtype=np.int32),
            child_ptr=np.cumsum([0, *map(len, children)]).astype(np.int32),
            child=np.array([c for row in children for c in row], dtype=np.int32),
            made_by=snapshot.made_by[nodes],
            facts=tuple(snapshot.facts[c] for c in classes),
            laws=snapshot.laws,
            term_node=np.array([position[int(snapshot.term_node[k])] for k in places], dtype=np.int32),
        )


def _reached(snapshot: Snapshot, roots: Sequence[int]) -> dict[int, None]:
    """The classes that some are made of, in whatever way, in order."""
    nodes: dict[int, list[int]] = {}
    for node, owner in enumerate(snapshot.node_class.tolist()):
        nodes.setdefault(owner, []).append(node)
    found: dict[int, None] = dict.fromkeys(roots)
    pending = list(found)
    while pending:
        for node in nodes.get(pending.pop(), ()):
            for child in snapshot.children(node):
                if child not in found:
                    found[child] = None
                    pending.append(child)
    return found


def saturated(
    laws: tuple[Law, ...],
    parts: Sequence[Lowered],
    limits: Sequence[tuple[str, int]],
    *,
    rounds: int = ROUNDS,
    guards: bool = False,
) -> tuple[list[Snapshot], SaturationReport]:
    """Saturate lowered terms of one opset together: a snapshot of each.

    Raises:
        UnsoundLawError: types contradict each other in one class.
    """
    batch = TermBatch(parts)
    snapshot, report = saturate_terms(
        batch.whole,
        laws,
        dict(limits),
        nodes=MOST_NODES,
        rounds=rounds,
        seconds=60,
        strict=True,
        guards=guards,
    )
    return [batch.part(snapshot, number) for number in range(len(parts))], report


def lowered_at(example: Example) -> Lowered:
    """The term of an example, in a model of its opset."""
    return lower_example(example, example.opset)
