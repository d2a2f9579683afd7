"""What extraction chose: which e-node stands for each class in the rebuilt graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot


@dataclass(frozen=True)
class Choice:
    """What extraction chose for one graph and, by kept node, for its bodies.

    Attributes:
        node: per class the chosen e-node, -1 where the class is not used.
        computed: per class the e-node by which a constant is computed here, -1 for other classes.
    """

    lowered: Lowered
    snapshot: Snapshot
    node: npt.NDArray[np.int32]
    computed: npt.NDArray[np.int32]
    bodies: Mapping[int, Sequence[Choice]] = field(default_factory=dict)

    def order(self) -> list[int]:
        """The classes that are written, operands first."""
        order: list[int] = []
        state: dict[int, int] = {}
        roots = [int(c) for c in self.snapshot.term_classes[self.lowered.outputs]]
        for root in roots:
            pending = [root]
            while pending:
                owner = pending[-1]
                if state.get(owner) == 2:
                    pending.pop()
                elif state.get(owner) == 1:
                    state[owner] = 2
                    order.append(owner)
                    pending.pop()
                else:
                    state[owner] = 1
                    if self.computed[owner] < 0:
                        node = int(self.node[owner])
                        pending.extend(c for c in reversed(self.snapshot.children(node)) if c not in state)
        return order

    def original_names(self) -> dict[int, ir.Value]:
        """Per class the first original value in it; a graph output's name wins."""
        classes = self.snapshot.term_classes
        names: dict[int, ir.Value] = {}
        outside = {*self.lowered.graph.inputs, *self.lowered.graph.initializers.values()}
        for term, values in enumerate(self.lowered.names):
            for value in values:
                if (
                    value not in outside
                    and value.graph is self.lowered.graph
                    and value.producer() is not None
                ):
                    names.setdefault(int(classes[term]), value)
        for value, term in reversed(list(zip(self.lowered.graph.outputs, self.lowered.outputs, strict=True))):
            if value.producer() is not None and value.graph is self.lowered.graph:
                names[int(classes[term])] = value
        return names
