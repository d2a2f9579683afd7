"""The table of what orders cost and what other tools reach: from `results/compare.json` (`comparing.py`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

import result_files
from result_files import RESULTS, Row

FILE = RESULTS / "compare.json"
COSTS = ("nodes", "ascend")
OURS, ORIGINAL, EXTENDED = "saturation", "original", "ort-extended"
GREEDY = ("general", "fixed-point", "best-order")
SMALL = 1e-9
OTHER = 0.01
"""The share from which on a price is another one than that of the page of results."""


def models() -> dict[str, dict[str, Row]]:
    """By model and tool what it made of it.

    Raises:
        FileNotFoundError: there is no such file.
    """
    found: dict[str, dict[str, Row]] = json.loads(FILE.read_text(encoding="utf-8"))["models"]
    return found


def best(rows: dict[str, Row], cost: str, greedy: bool) -> tuple[str, float] | None:
    """The cheapest correct result of greedy passes, or of other tools whose results any runtime takes."""
    found = [
        (row["prices"][cost], tool.split(" (")[0])
        for tool, row in rows.items()
        if row["correct"] == "passed"
        and row["prices"].get(cost) is not None
        and tool not in (ORIGINAL, EXTENDED)
        and not tool.startswith(OURS)
        and tool.startswith(GREEDY) == greedy
    ]
    return min(found)[::-1] if found else None


def ours(rows: dict[str, Row], cost: str) -> float:
    """What saturation reached, priced as all others are: read again from its file."""
    price: float = rows[f"{OURS} ({cost})"]["prices"][cost]
    return price


def prices_of_order(cost: str) -> dict[str, float]:
    """By model, what the best greedy result costs over saturation, as a share."""
    found = {}
    for name, rows in models().items():
        greedy = best(rows, cost, True)
        if greedy is not None and ours(rows, cost) > 0:
            found[name] = greedy[1] / ours(rows, cost) - 1
    return found


def order_table() -> str:
    """A row for each model."""
    head = ["model"]
    for cost in COSTS:
        head += [cost, "greedy", "over", "other tools", "over"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, rows in models().items():
        cells = [f"`{name}`"]
        for cost in COSTS:
            price = ours(rows, cost)
            cells.append(f"{price:,.4g}")
            for greedy in (True, False):
                cells += _beside(best(rows, cost, greedy), price)
        lines.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _beside(found: tuple[str, float] | None, price: float) -> Iterator[str]:
    if found is None:
        yield from ("-", "")
        return
    tool, other = found
    yield f"{other:,.4g} ({tool})"
    yield f"{other / price - 1:+.1%}" if price > 0 else ""


def order_summary() -> str:
    """The price of ordering in three numbers for each cost model."""
    lines = []
    for cost in COSTS:
        shares = prices_of_order(cost)
        mean = math.exp(math.fsum(map(math.log1p, shares.values())) / len(shares)) - 1
        name = max(shares, key=lambda key: shares[key])
        above = sum(share > SMALL for share in shares.values())
        below = sum(share < -SMALL for share in shares.values())
        lines.append(
            f"- `{cost}`: {mean:.1%} (geometric mean of {len(shares)} models), largest {shares[name]:.1%}"
            f" (`{name}`), above zero on {above}, below on {below}."
        )
    here = {cost: {name: ours(rows, cost) for name, rows in models().items()} for cost in COSTS}
    there = {cost: {name: row[cost]["after"] for name, row in result_files.rows().items()} for cost in COSTS}
    other = {cost: len(differing(here[cost], there[cost])) for cost in COSTS}
    if any(other.values()):
        counted = ", ".join(f"{count} (`{cost}`)" for cost, count in other.items())
        lines.append(
            "- Laws and cost models have changed since these rows were made. On [Results](results.md), whose"
            f" rows are newer, saturation reaches other figures on {counted} of {len(models())} models."
        )
    return "\n".join(lines)


def differing(here: Mapping[str, float], there: Mapping[str, float]) -> list[str]:
    """The models whose prices are others there, by more than one percent."""
    both = [name for name in here if name in there]
    return [name for name in both if not math.isclose(here[name], there[name], rel_tol=OTHER)]


TABLES = (order_table, order_summary)
