"""What became of the matches of each law: nodes of the result, nodes that were saved, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from egraph_opt.cost.expansion import stood_for
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.elimination import Head, merged_heads, saved_heads
from egraph_opt.laws.law import Law, registered
from egraph_opt.laws.loading import is_loaded
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.pipeline.savings import savings
from egraph_opt.report.figures import RewriteReport


def uses_of_laws(regions: Sequence[Region], parts: Sequence[Extracted]) -> tuple[RewriteReport, ...]:
    """Per law how often it matched, how many chosen nodes it made, and whether it saved some.

    A chosen node that was there already is made by the laws that made it equal to another of the model's.

    Laws without a match are told of where somebody has just written them.
    """
    matches: Counter[str] = Counter()
    used: Counter[str] = Counter()
    passed_over: set[Head] = set()
    for region in regions:
        matches.update(region.saturation.matches)
        matches.update(dict.fromkeys(region.snapshot.laws, 0))
    for part in parts:
        snapshot = part.choice.snapshot
        chosen = part.choice.node[part.choice.node >= 0].tolist()
        for node in stood_for(snapshot, chosen, part.choice.lowered.opset):
            if snapshot.made_by[node] > 0:
                used[snapshot.laws[int(snapshot.made_by[node]) - 1]] += 1
        passed_over.update(_passed_over(part))
    keys = [key for key, count in matches.items() if count and key in registered]
    merging = [_merging(part, keys) for part in parts]
    used.update(key for found in merging for made in found.values() for key in made)
    saved = savings(parts[0], merging)
    rows = []
    for key in sorted(matches):
        own = key in registered and is_loaded(registered[key])
        if matches[key] or used[key] or own:
            ruleset, name = key.rsplit(".", 1)
            counted = matches[key] and key in registered
            saves = bool(counted) and not saved_heads(registered[key]).isdisjoint(passed_over)
            law = registered.get(key)
            numerics, formula = (law.numerics, " ".join(law.formula.split())) if law else ("", "")
            row = RewriteReport(ruleset, name, matches[key], used[key], saves, own, numerics)
            rows.append(replace(row, saved=saved.get(key, 0.0), formula=formula))
    return tuple(rows)


def _passed_over(part: Extracted) -> Iterator[Head]:
    """The operators that a value of the result could be computed by, and is not."""
    snapshot, chosen = part.choice.snapshot, part.choice.node.tolist()
    for node, owner in enumerate(snapshot.node_class.tolist()):
        if chosen[owner] not in (-1, node):
            yield from heads_of(snapshot, node)


def _merging(part: Extracted, keys: Sequence[str]) -> dict[int, list[str]]:
    """By class the laws that found another node of the model for one of the model, without writing any.

    Which law made two classes one is not kept: it is taken to be any whose two sides are both in the class,
    and that wrote none of what is there.
    """
    snapshot = part.choice.snapshot
    members: dict[int, list[int]] = {}
    for node, owner in enumerate(snapshot.node_class.tolist()):
        members.setdefault(owner, []).append(node)
    found: dict[int, list[str]] = {}
    for owner, chosen in enumerate(part.choice.node.tolist()):
        if chosen < 0 or snapshot.made_by[chosen] != 0:
            continue
        others = [node for node in members[owner] if node != chosen]
        if all(snapshot.made_by[node] != 0 for node in others):
            continue
        makers = {snapshot.laws[int(snapshot.made_by[k]) - 1] for k in others if snapshot.made_by[k] > 0}
        passed_over = {head for node in others for head in heads_of(snapshot, node)}
        here = passed_over.union(heads_of(snapshot, chosen))
        found[owner] = [
            key for key in keys if key not in makers and _joins(registered[key], passed_over, here)
        ]
    return found


def _joins(law: Law, passed_over: set[Head], here: set[Head]) -> bool:
    """Whether a law makes operators of a class equal, one of which is passed over."""
    return any(
        a in here and (b is None or b in here) and (a in passed_over or b in passed_over)
        for a, b in merged_heads(law)
    )


def heads_of(snapshot: Snapshot, node: int) -> Iterator[Head]:
    """The operator of an e-node, by itself and with the name of the ONNX operator."""
    name = snapshot.operator[node]
    yield name, ""
    if operator_named(name).op_types:
        yield name, snapshot.attributes[node][0]
