"""What is known of the values of a rebuilt graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx_ir as ir

from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import Fact
from egraph_opt.rebuild.choice import Choice


@dataclass(frozen=True)
class NodeOrigin:
    """Where a written node comes from.

    Attributes:
        snapshot: of the graph that it is in.
        chosen: the e-node that was chosen and paid for: of a pseudo-operator, several nodes are written.
        written: the e-node that the node itself is, or -1 where the e-graph has none.
    """

    snapshot: Snapshot
    chosen: int
    written: int

    @property
    def law(self) -> str:
        """The law that wrote it first; "" of a node of the model."""
        for node in (self.written, self.chosen):
            if node >= 0:
                return law_at(self.snapshot, node)
        return ""


def law_at(snapshot: Snapshot, node: int) -> str:
    """The law that wrote an e-node first; "" of one of the model."""
    made_by = int(snapshot.made_by[node])
    return snapshot.laws[made_by - 1] if made_by > 0 else ""


@dataclass
class ValueInfo:
    """What the values of a rebuilt graph and of its bodies are: filled while it is rebuilt.

    Attributes:
        facts: the type of every value that a node computes or an input brings.
        owners: per value its class in the snapshot of its own graph, where it is the value of one.
        choices: by the same values what was chosen for their own graph.
        origins: per node that was written where it comes from.
        dry_run: only the nodes are wanted: constants that laws wrote are not computed, and have no data.
    """

    facts: dict[ir.Value, Fact] = field(default_factory=dict)
    owners: dict[ir.Value, int] = field(default_factory=dict)
    choices: dict[ir.Value, Choice] = field(default_factory=dict)
    origins: dict[ir.Node, NodeOrigin] = field(default_factory=dict)
    dry_run: bool = False


def described(fact: Fact) -> tuple[ir.TensorType | None, ir.Shape | None]:
    """The type and the shape that are written of what is known: dims that have a number or a plain name."""
    if fact.dtype <= 0:
        return None, None
    kind = ir.TensorType(ir.DataType(fact.dtype))
    if fact.shape is None:
        return kind, None
    dims = [d if isinstance(d, int) or (d is not None and d.isidentifier()) else None for d in fact.shape]
    return kind, ir.Shape(dims)
