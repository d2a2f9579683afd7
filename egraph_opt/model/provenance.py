"""What a written model says of itself: by what it was made, and which nodes and laws each new node came of.

It is kept in metadata, which runtimes pass over and viewers show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import ModelProto

from egraph_opt.foreign_text import parsed_json
from egraph_opt.model.encoding import graphs_of

OF_MODEL = "egraph_opt"
"""The entry of a model: JSON with version, options and the hash of what was optimised."""

GROWN = "constants_grown_by"
"""What that entry says of the bytes that computed constants have added, in all optimisations so far."""

LAWS, NODES, COST = "egraph_opt.laws", "egraph_opt.nodes", "egraph_opt.cost"
"""The entries of a node: laws and original nodes, separated by commas, and what is paid for it."""

MOST_NAMES = 16
"""Original nodes that are named in a node; of more the number is."""

HASHED_BYTES = 2**28
"""Of larger models in memory no hash is taken, which would take a copy."""


@dataclass(frozen=True)
class NodeProvenance:
    """What a new node came of.

    Attributes:
        laws: that wrote it, or a constant that it reads.
        nodes: of the original that it is written instead of, with others.
        cost: with its unit.
    """

    laws: tuple[str, ...]
    nodes: tuple[str, ...]
    cost: str = ""

    def entries(self) -> Iterator[tuple[str, str]]:
        """As metadata has it."""
        if self.laws:
            yield LAWS, ", ".join(self.laws)
        if self.nodes:
            more = [f"and {len(self.nodes) - MOST_NAMES} more"] if len(self.nodes) > MOST_NAMES else []
            yield NODES, ", ".join([*self.nodes[:MOST_NAMES], *more])
        if self.cost:
            yield COST, self.cost


def provenance_of(entries: Mapping[str, str]) -> NodeProvenance | None:
    """The inverse of `NodeProvenance.entries`; None of a node that has none."""
    if not {LAWS, NODES, COST} & entries.keys():
        return None
    laws, nodes = (tuple(filter(None, entries.get(key, "").split(", "))) for key in (LAWS, NODES))
    return NodeProvenance(laws, nodes, entries.get(COST, ""))


def with_provenance(metadata: ModelProto, said: Mapping[str, Any]) -> ModelProto:
    """What surrounds a model's graph, with an entry instead of the one that may be there."""
    answer = ModelProto()
    answer.CopyFrom(metadata)
    kept = [entry for entry in metadata.metadata_props if entry.key != OF_MODEL]
    del answer.metadata_props[:]
    answer.metadata_props.extend(kept)
    answer.metadata_props.add(key=OF_MODEL, value=json.dumps(said, sort_keys=True))
    return answer


def without_provenance(model: ModelProto) -> ModelProto:
    """A copy of a model that says nothing of its making, to be compared with others."""
    answer = ModelProto()
    answer.CopyFrom(model)
    _drop(answer.metadata_props, OF_MODEL)
    for graph in graphs_of(answer.graph):
        for node in graph.node:
            _drop(node.metadata_props, LAWS, NODES, COST)
    return answer


def _drop(entries: Any, *keys: str) -> None:
    for number in reversed(range(len(entries))):
        if entries[number].key in keys:
            del entries[number]


def said_of(props: Mapping[str, str]) -> dict[str, Any]:
    """What the entry of a model says; empty where there is none, or another's."""
    try:
        found = parsed_json(props.get(OF_MODEL, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def grown_by(metadata: ModelProto) -> int:
    """The bytes by which the constants of a model have grown in optimisations before."""
    said = said_of({entry.key: entry.value for entry in metadata.metadata_props}).get(GROWN, 0)
    return said if type(said) is int and said > 0 else 0


def hash_of(original: Path | ModelProto) -> str:
    """A hash of a model as it was read, of its file without what is in other files; "" of a large one."""
    if isinstance(original, Path):
        with original.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if original.ByteSize() > HASHED_BYTES:
        return ""
    return hashlib.sha256(original.SerializeToString(deterministic=True)).hexdigest()


def joined(names: Sequence[str]) -> tuple[str, ...]:
    """Names for an entry, once each, without those that are empty or would break it."""
    return tuple(dict.fromkeys(name for name in names if name and ", " not in name))
