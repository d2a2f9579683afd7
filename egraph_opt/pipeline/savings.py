"""What each law saved: the cost of the original's nodes less that of the nodes that came instead.

The original and the result choose from one e-graph at the same prices.  Where they differ, their nodes fall
into patches, each between tensors that both compute; what a patch saves is shared by the laws that made its
nodes, so that nothing is counted twice.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from egraph_opt.cost.expansion import expand_pseudo, is_pseudo, stood_for
from egraph_opt.extraction.structure import Ints
from egraph_opt.graph.union_find import UnionFind
from egraph_opt.pipeline.region_extraction import Extracted

Shares = Mapping[str, float]


def savings(extracted: Extracted, merging: Sequence[Mapping[int, Sequence[str]]]) -> dict[str, float]:
    """By law what it saved, in the unit of the prices; "" has what no law is known for.

    Args:
        extracted: a graph with its bodies, each of which counts as if it ran once.
        merging: by graph laws that made an original tensor equal to another, by the tensor's class.
    """
    found: Counter[str] = Counter()
    for part, merged in zip(extracted.walk(), merging, strict=True):
        found.update(_of_part(part, merged))
    return dict(found)


def _of_part(part: Extracted, merging: Mapping[int, Sequence[str]]) -> dict[str, float]:
    """What the laws of one graph saved."""
    if part.original is None:
        return {}
    found: defaultdict[str, float] = defaultdict(float)
    cost, after = np.where(np.isfinite(part.prices.cost), part.prices.cost, 0.0), part.solution.choice
    before = nodes_before(part, part.original)
    for patch in _patches(part, before):
        gone = [node for c in patch for node in before[c]]
        came = [int(after[c]) for c in patch if after[c] >= 0]
        saved = math.fsum(cost[gone].tolist()) - math.fsum(cost[came].tolist())
        if not saved:
            continue
        laws = Counter(law for node in came for law in _makers(part, node))
        laws = laws or Counter(law for c in patch for law in merging.get(c, ())) or Counter([""])
        for law, count in laws.items():
            found[law] += saved * count / laws.total()
    return found


def nodes_before(part: Extracted, original: Ints) -> defaultdict[int, list[int]]:
    """By class the e-nodes that the original computes, those too that laws made equal to another of its."""
    snapshot = part.choice.snapshot
    before: defaultdict[int, list[int]] = defaultdict(list)
    for owner in np.flatnonzero(original >= 0).tolist():
        before[owner].append(int(original[owner]))
    ran = set(stood_for(snapshot, original[original >= 0].tolist(), part.choice.lowered.opset))
    computed = set(part.prices.computed.tolist())
    for node in sorted(_run(part, original, ran) - ran - computed):
        before[int(snapshot.node_class[node])].append(node)
    return before


def _run(part: Extracted, original: Ints, ran: set[int]) -> set[int]:
    """The e-nodes of the model, but for those that the target's compiler computes together with others.

    Args:
        ran: what is computed as the compiler has it, in whatever layout, and the parts of that.
    """
    snapshot, lowered = part.choice.snapshot, part.choice.lowered
    operands = [
        [k for item in term.operands for k in (item if isinstance(item, tuple) else (item,))]
        for term in lowered.terms
    ]
    instead_of = {snapshot.plain[c]: int(original[c]) for c in np.flatnonzero(original >= 0).tolist()}
    unused = set(range(len(operands))) - {k for items in operands for k in items}
    pending = [(term, False) for term in sorted(unused | set(lowered.outputs))]
    seen = set(pending)
    found: set[int] = set()
    while pending:
        term, within = pending.pop()
        node = int(snapshot.term_node[term])
        instead = instead_of.get(snapshot.plain[int(snapshot.node_class[node])], -1)
        in_kernel = within if instead < 0 else bool(snapshot.made_by[instead] > 0)
        if node in ran or not in_kernel:
            found.add(node)
        new = {(operand, in_kernel) for operand in operands[term]} - seen
        seen |= new
        pending += sorted(new)
    return found


def _patches(part: Extracted, before: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """The classes that the original and the result compute differently, cut at those that both compute."""
    snapshot, after, there = part.choice.snapshot, part.solution.choice, part.choice.node
    changed = [c for c in range(snapshot.n_classes) if [k for k in (int(after[c]),) if k >= 0] != before[c]]
    lone = {c for c in changed if there[c] < 0 or not before[c]}
    together = UnionFind(changed)
    for c in changed:
        for node in {*before[c], int(after[c])} - {-1}:
            for child in snapshot.children(node):
                if child in lone:
                    together.join(child, c)
    patches: defaultdict[int, list[int]] = defaultdict(list)
    for c in changed:
        patches[together.find(c)].append(c)
    return list(patches.values())


def _makers(part: Extracted, node: int) -> Iterator[str]:
    """The laws that made a node; of a kernel of the target those that made what it consists of."""
    snapshot, opset = part.choice.snapshot, part.choice.lowered.opset
    nodes = [node]
    if is_pseudo(snapshot, node, opset):
        parts = [step.node for step in expand_pseudo(snapshot, node, opset) if step.node >= 0]
        nodes = [k for k in parts if snapshot.made_by[k] > 0] or [node]
    yield from (snapshot.laws[int(snapshot.made_by[k]) - 1] for k in nodes if snapshot.made_by[k] > 0)
