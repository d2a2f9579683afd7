"""What became of the matches of each law: nodes of the result, nodes that were saved, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from egraph_opt.cost.expansion import stood_for
from egraph_opt.laws.elimination import Head, saved_heads
from egraph_opt.laws.law import registered
from egraph_opt.laws.loading import is_loaded
from egraph_opt.operators.declaration import operator_named
from egraph_opt.pipeline.region import Region
from egraph_opt.pipeline.region_extraction import Extracted
from egraph_opt.report.figures import RewriteReport


def uses_of_laws(regions: Sequence[Region], parts: Sequence[Extracted]) -> tuple[RewriteReport, ...]:
    """Per law how often it matched, how many chosen nodes it made, and whether it saved some.

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
    rows = []
    for key in sorted(matches):
        own = key in registered and is_loaded(registered[key])
        if matches[key] or used[key] or own:
            ruleset, name = key.rsplit(".", 1)
            counted = matches[key] and key in registered
            saves = bool(counted) and not saved_heads(registered[key]).isdisjoint(passed_over)
            numerics = registered[key].numerics if key in registered else ""
            rows.append(RewriteReport(ruleset, name, matches[key], used[key], saves, own, numerics))
    return tuple(rows)


def _passed_over(part: Extracted) -> Iterator[Head]:
    """The operators that a value of the result could be computed by, and is not."""
    snapshot, chosen = part.choice.snapshot, part.choice.node.tolist()
    for node, owner in enumerate(snapshot.node_class.tolist()):
        if chosen[owner] not in (-1, node):
            name = snapshot.operator[node]
            yield name, ""
            if operator_named(name).op_types:
                yield name, snapshot.attributes[node][0]
