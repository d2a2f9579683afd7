"""Which composite functions (Gelu, LayerNormalization, Attention ...) a graph was found to compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.operators.activations import ACTIVATIONS

_OPERATORS = {
    "attention": "Attention",
    "instance_norm": "InstanceNormalization",
    "layer_norm": "LayerNormalization",
    "masked_attention": "Attention",
    "rms_norm": "RMSNormalization",
    "rotary": "RotaryEmbedding",
    "shifted_layer_norm": "LayerNormalization",
}

_OPAQUE = frozenset(
    ("Attention", "GroupNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization")
)
"""Operators that count as well where no law looks into them."""

_NORMALISATIONS = frozenset(("LayerNormalization", "RMSNormalization"))
"""What is scaled and shifted afterwards is still one normalisation of one operand."""

_MOVES = frozenset(
    ("concat", "expand", "expand_to", "gather", "output", "pad", "reshape", "reshape_to", "slice_", "split",
     "transpose")
)  # fmt: skip


def _kind(lowered: Lowered, snapshot: Snapshot, node: int) -> str | None:
    """The composite function that an e-node is."""
    name, attributes = snapshot.operator[node], snapshot.attributes[node]
    if name == "unary":
        return attributes[0] if attributes[0] in ACTIVATIONS else None
    if name == "softmax":
        return str(attributes[0])
    if name == "opaque":
        op_type = lowered.kept[attributes[0]].op_type
        return op_type if op_type in _OPAQUE else None
    return _OPERATORS.get(name)


def _reached(lowered: Lowered, snapshot: Snapshot) -> Iterator[tuple[int, int]]:
    """The classes that the original graph computes at run time, with their original e-nodes."""
    original = np.full(snapshot.n_classes, -1, dtype=np.int32)
    for node in snapshot.term_node[::-1]:
        original[snapshot.node_class[node]] = node
    pending = [int(snapshot.term_classes[term]) for term in lowered.outputs]
    seen = set(pending)
    while pending:
        owner = pending.pop()
        node = int(original[owner])
        if node < 0 or snapshot.facts[owner].const:
            continue
        yield owner, node
        fresh = [c for c in snapshot.children(node) if c not in seen]
        seen.update(fresh)
        pending.extend(fresh)


def find_composites(lowered: Lowered, snapshot: Snapshot) -> Mapping[str, int]:
    """How many of each composite function there are, by ONNX operator, nested ones included.

    A function counts once, however its result is moved afterwards, or scaled and shifted where it is a
    normalisation.
    """
    kinds: list[set[tuple[str, int]]] = [set() for _ in range(snapshot.n_classes)]
    for node in range(snapshot.n_nodes):
        kind = _kind(lowered, snapshot, node)
        if kind is not None:
            owner = int(snapshot.node_class[node])
            subject = snapshot.children(node)[0] if kind in _NORMALISATIONS else owner
            kinds[owner].add((kind, subject))
    found: set[tuple[str, int]] = set()
    for owner, node in _reached(lowered, snapshot):
        here = kinds[owner]
        if any(kind == "LayerNormalization" for kind, _ in here):
            here = {entry for entry in here if entry[0] != "RMSNormalization"}  # of the centred operand
        if snapshot.operator[node] in _MOVES:
            moved = {kind for child in snapshot.children(node) for kind, _ in kinds[child]}
            here = {entry for entry in here if entry[0] not in moved}
        found |= here
    return dict(sorted(Counter(kind for kind, _ in found).items()))
