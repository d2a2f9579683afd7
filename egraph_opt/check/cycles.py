"""E-nodes that no extracted graph has, because what they read is, by the law itself, what they compute.

A law that says Relu(x) = Slice(Relu(x)) puts the Slice into the class that it reads.  Such a node can be
written only on operands as they were in the example; then it is one more term, which either equals the
original one of its class or does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.typing import infer_operator


@dataclass
class _TermWriter:
    """Writes e-nodes as further terms of the example, down to the classes that the example has terms of."""

    lowered: Lowered
    snapshot: Snapshot
    written: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for index, owner in enumerate(self.snapshot.term_classes.tolist()):
            self.written.setdefault(owner, index)

    def node(self, node: int, above: frozenset[int] = frozenset()) -> int | None:
        """The index of the term that an e-node was written as; None if a list or a bundle is in the way."""
        declared = operator_named(self.snapshot.operator[node])
        kinds = [declared.kinds[k] for k in declared.operand_positions]
        if declared.result == "bundle" or "bundle" in kinds or kinds.count("tensors") > 1:
            return None
        operands = [self._class(c, above) for c in self.snapshot.children(node)]
        found = [k for k in operands if k is not None]
        if len(found) < len(operands):
            return None
        known = [self.lowered.facts[k] for k in found]
        facts = tuple(f for f in known if isinstance(f, Fact))
        attributes = self.snapshot.attributes[node]
        inferred = infer_operator(declared.name, self.lowered.opset, attributes, facts)
        grouped: list[int | tuple[int, ...]] = []
        for position, kind in enumerate(kinds):
            after = len(kinds) - position - 1
            if kind == "tensors":
                count = len(found) - after
                grouped.append(tuple(found[:count]))
                found = found[count:]
            else:
                grouped.append(found.pop(0))
        self.lowered.terms.append(Term(declared.name, attributes, tuple(grouped)))
        self.lowered.facts.append(inferred)
        self.lowered.names.append([])
        return len(self.lowered.terms) - 1

    def _class(self, owner: int, above: frozenset[int]) -> int | None:
        if owner in self.written:
            return self.written[owner]
        if owner in above:
            return None
        for node in np.flatnonzero(self.snapshot.node_class == owner).tolist():
            index = self.node(node, above | {owner})
            if index is not None:
                self.written[owner] = index
                return index
        return None


def written_on_the_original(lowered: Lowered, snapshot: Snapshot, node: int) -> tuple[Lowered, int] | None:
    """The example with an e-node as one more term, on operands as they were, and that term's number."""
    copy = replace(lowered, terms=list(lowered.terms), facts=list(lowered.facts), names=list(lowered.names))
    index = _TermWriter(copy, snapshot).node(node)
    if index is None:
        return None
    known = copy.facts[index]
    return None if known is None or known.dtype <= 0 else (copy, index)
