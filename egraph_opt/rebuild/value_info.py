"""What is known of the values of a rebuilt graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx_ir as ir

from egraph_opt.facts.fact import Fact


@dataclass
class ValueInfo:
    """What the values of a rebuilt graph and of its bodies are: filled while it is rebuilt.

    Attributes:
        facts: the type of every value that a node computes or an input brings.
        owners: per value its class in the snapshot of its own graph, where it is the value of one.
        dry_run: only the nodes are wanted: constants that laws wrote are not computed, and have no data.
    """

    facts: dict[ir.Value, Fact] = field(default_factory=dict)
    owners: dict[ir.Value, int] = field(default_factory=dict)
    dry_run: bool = False
