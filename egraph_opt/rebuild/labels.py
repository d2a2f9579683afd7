"""What new tensors, nodes and weights of a rebuilt graph are named after."""

from __future__ import annotations

from egraph_opt.facts.fact import ABSENT
from egraph_opt.rebuild.choice import Choice

FOLDED = ".folded"
"""What the name of a weight that laws have changed ends in."""


def labels(choice: Choice) -> dict[int, str]:
    """Per class that is written and has no name of its own the tensor that it is first needed for.

    The chosen graph is walked from its outputs: what is needed for a tensor of the model is named after it.
    """
    snapshot, names = choice.snapshot, choice.original_names()
    found = {owner: value.name or "" for owner, value in names.items()}
    for owner in reversed(choice.order()):
        node = int(choice.node[owner])
        label = found.get(owner)
        if node < 0 or not label or choice.computed[owner] >= 0:
            continue
        for child in snapshot.children(node):
            if snapshot.facts[child] != ABSENT and child not in names:
                found[child] = label  # the earliest comes last
    return {owner: label for owner, label in found.items() if owner not in names}


def weight_behind(choice: Choice, root: int) -> str:
    """The largest constant of the model that a constant class is computed from; "" where there is none."""
    snapshot, computed = choice.snapshot, choice.computed
    best, largest = "", 0
    pending, seen = [root], {root}
    while pending:
        owner = pending.pop(0)
        node = int(computed[owner])
        if node < 0:
            continue
        if snapshot.operator[node] == "leaf":
            value = choice.lowered.leaves[snapshot.attributes[node][0]]
            tensor = choice.lowered.constants.tensors.get(value)
            size = 0 if tensor is None else int(tensor.size)
            if value.name and size > largest:
                best, largest = value.name, size
        new = [child for child in snapshot.children(node) if child not in seen]
        seen.update(new)
        pending += new
    return best
