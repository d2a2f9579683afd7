"""Why another tool's graph is faster than ours: our prices are wrong, or a law is missing.

Ours is the cheapest of its e-graph.  Where the other one is cheaper by the same prices, it is not in there:
no law leads to it.  Where it is not, prices are wrong, since the clock says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from egraph_opt.lab.comparison.running import ORIGINAL, Contender
from egraph_opt.lab.comparison.tools import TOOLS

BEYOND = 0.02
"""What is faster by less is as fast."""

OURS = "saturation"


def verdicts(rows: Sequence[Contender], costs: Sequence[str]) -> Iterator[str]:
    """A line for each tool whose graph is faster than ours under a cost model, and what holds of it.

    Args:
        rows: of one model after the other.
    """
    for _, group in groupby(rows, key=lambda row: row.model):
        contenders = list(group)
        by_name = {row.tool: row for row in contenders}
        for cost in costs:
            ours = by_name.get(f"{OURS} ({cost})")
            if ours is not None and ours.speedup is not None and ours.prices.get(cost) is not None:
                yield from _of_model(contenders, ours, cost)


def _of_model(rows: Sequence[Contender], ours: Contender, cost: str) -> Iterator[str]:
    own, speed = ours.prices[cost], ours.speedup
    assert own is not None and speed is not None
    for row in rows:
        price = row.prices.get(cost)
        is_other = row.tool.partition(" ")[0] in {*TOOLS, ORIGINAL} - {OURS}
        if not is_other or row.speedup is None or price is None or row.speedup <= speed * (1 + BEYOND):
            continue
        holds = (
            f"a law is missing, or the search ended early: it is cheaper ({price:,.5g}, ours {own:,.5g})"
            if price < own
            else f"prices are wrong: it should be no cheaper ({price:,.5g}, ours {own:,.5g})"
        )
        yield f"{row.model}: {row.tool} is {row.speedup / speed:.2f} times as fast as ours; by {cost} {holds}"
