"""Writes the tables of the README and of the documentation from the files in `benchmarks/results`.

python benchmarks/figures.py [--check]

What stands between `<!-- figures: NAME -->` and `<!-- end -->` is what the function of that name returns.
`make bench` makes the files; nothing is measured here.  With `--check` nothing is written, and the
exit code is 1 where a page says something else than the files do.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from compare_figures import TABLES as COMPARED
from latency_figures import latency, latency_summary
from result_files import GROUPS, RESULTS, Row, results, rows
from speed_figures import speed_table
from tensat_figures import TABLES as TENSAT

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / "pages" / f"{name}.md" for name in ("results", "speed", "tensat", "greedy")),
)
SATURATED = ("nodes", "ascend")
"""Cost models with an e-graph of their own."""
COSTS = (*SATURATED, "flops", "bytes")

ROUNDING = 1e-9
"""Relative; the same prices in another order add up to as much."""

MARKED = re.compile(r"^(<!-- figures: (\w+) -->\n).*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL)


def failures() -> list[str]:
    """The models that could not be measured, and why."""
    return [
        f"{name.removesuffix('.onnx')}: {row['error']}"
        for group in GROUPS
        for name, row in results(group)["models"].items()
        if "error" in row
    ]


def filled(text: str) -> str:
    """A page with its figures instead of what stands between the markers.

    Raises:
        KeyError: a marker names no table.
    """
    return MARKED.sub(lambda found: f"{found[1]}\n{FIGURES[found[2]]()}\n\n{found[3]}", text)


def total_seconds(row: Row, cost: str = "nodes") -> float:
    """Of one optimisation, without verification."""
    return float(sum(row["seconds"][cost]["stages"].values()))


def best_tool(row: Row, count: str = "nodes") -> tuple[str, int] | None:
    """The first of the greedy tools that leave the fewest run-time nodes, or nodes in the file."""
    counts = {tool: r[count] for tool, r in row.get("tools", {}).items() if count in r}
    return min(counts.items(), key=lambda entry: entry[1]) if counts else None


def missing_tools(row: Row) -> str:
    """What is to be said of greedy tools that were not there."""
    names = [
        tool
        for tool, r in row.get("tools", {}).items()
        if str(r.get("reason", "")).startswith("not installed")
    ]
    return f"{', '.join(names)} not installed" if names else ""


def _best(row: Row) -> str:
    best = best_tool(row)
    return "; ".join(filter(None, (f"{best[1]} ({best[0]})" if best else "-", missing_tools(row))))


def _table(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in (head, rule, *lines))


def versions() -> str:
    """What the figures were made with."""
    found = {json.dumps(results(group)["versions"], sort_keys=True) for group in GROUPS}
    texts = [
        ", ".join(f"{name} {number}" for name, number in json.loads(text).items()) for text in sorted(found)
    ]
    return f"Made with {'; with '.join(texts)}."


def _models(group: str) -> str:
    lines = []
    for name, row in rows(group).items():
        lines.append(
            (
                name,
                row["graph"]["runtime"],
                row["nodes"]["runtime"],
                _best(row),
                row["graph"]["file"],
                row["nodes"]["file"],
                f"{row['ascend']['before']:,.0f}",
                f"{row['ascend']['after']:,.0f}",
                f"{total_seconds(row):.1f}",
            )
        )
    head = ["model", "nodes", "after", "best greedy tool", "in the file", "after", "`ascend`, µs", "after"]
    return _table([*head, "seconds"], lines)


def trained() -> str:
    """Nodes and Ascend costs of the trained models."""
    return _models("trained")


def exports() -> str:
    """Nodes and Ascend costs of exports with random weights."""
    return _models("exports")


def light() -> str:
    """Nodes and Ascend costs of onnx's light models."""
    return _models("light")


def summary() -> str:
    """What holds of all models, and which of them are the exceptions."""
    every = rows()
    lines = [_correct(every), _nodes(every), _proved(every), _size(every), _time(every)]
    return "\n".join([*lines, *(f"- **Not measured:** {reason}." for reason in failures())])


def _named(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _correct(every: dict[str, Row]) -> str:
    priced = [(name, row[cost]) for name, row in every.items() for cost in COSTS]
    bad = {name for name, r in priced if r["status"] == "fallback" or r["verification"] != "passed"}
    worse = {name for name, r in priced if r["after"] > r["before"] * (1 + ROUNDING)}
    return (
        f"- **Correct:** under all four cost models, {len(every) - len(bad)} of {len(every)} models come back"
        f" with their outputs verified{_named(sorted(bad))}; {len(worse) or 'none'} costs more than it did"
        f"{_named(sorted(worse))}."
    )


def _nodes(every: dict[str, Row]) -> str:
    best = {name: (row, best_tool(row), best_tool(row, "file")) for name, row in every.items()}
    runtime = {name: (row["nodes"]["runtime"], tool[1]) for name, (row, tool, _) in best.items() if tool}
    above = [f"{name}: {ours} to {theirs}" for name, (ours, theirs) in runtime.items() if ours > theirs]
    fewer = sum(ours < theirs for ours, theirs in runtime.values())
    larger = [name for name, (row, _, tool) in best.items() if tool and row["nodes"]["file"] > tool[1]]
    return (
        f"- **Nodes:** no more run-time nodes than the best greedy tool on {len(runtime) - len(above)} of"
        f" {len(runtime)}{_named(above)}, fewer on {fewer}. More nodes in the file on"
        f" {len(larger)}{_named(larger)}, where constants would grow by more than `fold_bytes` (1 MiB)."
    )


def _proved(every: dict[str, Row]) -> str:
    priced = [(name, row[cost]) for name, row in every.items() for cost in COSTS]
    unproved = sorted({name for name, r in priced if r["after"] > r["lower_bound"] * (1 + 1e-6)})
    return (
        f"- **Proof:** {len(every) - len(unproved)} of {len(every)} are proved to be the cheapest graph in"
        f" their e-graph, under all four cost models{_named(unproved)}."
    )


def _size(every: dict[str, Row]) -> str:
    growth = {
        cost: max(row[cost]["e_nodes"] / max(row["graph"]["runtime"], 1) for row in every.values())
        for cost in SATURATED
    }
    stopped = [n for n, row in every.items() if any(row[c]["stop"] != "saturated" for c in SATURATED)]
    memory = max(value for row in every.values() for value in row["memory"].values())
    return (
        f"- **Size:** {len(every) - len(stopped)} of {len(every)} saturate by themselves{_named(stopped)},"
        f" with at most {growth['nodes']:.1f} e-nodes a node (`nodes`) and {growth['ascend']:.1f} (`ascend`);"
        f" peak memory is at most {memory:.0f} MiB beyond the weights."
    )


def _time(every: dict[str, Row]) -> str:
    seconds = {name: total_seconds(row) for name, row in every.items()}
    slow = [f"{name}: {value:.1f} s" for name, value in seconds.items() if value > 2]
    return (
        f"- **Time:** {len(seconds) - len(slow)} of {len(seconds)} take at most 2 s{_named(slow)};"
        " building the rules once per process takes about half a second more."
    )


def counted() -> str:
    """What is gained where floating-point operations, or bytes moved, are the cost."""
    lines = []
    for name, row in rows().items():
        cells: list[str] = [name]
        for cost in COSTS[2:]:
            before, after = row[cost]["before"], row[cost]["after"]
            share = 100 * (after / before - 1) if before else 0.0
            cells += [f"{before:,.0f}", f"{share:+.1f}%".replace("-", "−") if abs(share) >= 0.05 else "0"]
        lines.append(cells)
    return _table(("model", "flops", "change", "bytes moved", "change"), lines)


def composites() -> str:
    """The composite functions that were found, by model."""
    found = {name: row["nodes"]["composites"] for name, row in rows().items() if row["nodes"]["composites"]}
    kinds = sorted({kind for counts in found.values() for kind in counts})
    return _table(
        ("model", *kinds), ((name, *(n.get(kind, "") for kind in kinds)) for name, n in found.items())
    )


def growth() -> str:
    """The e-nodes that rulesets made on all models together, and their seconds."""
    nodes: dict[str, Counter[str]] = {"nodes": Counter(), "ascend": Counter()}
    seconds: dict[str, Counter[str]] = {"nodes": Counter(), "ascend": Counter()}
    for row in rows().values():
        for cost in nodes:
            nodes[cost].update(row[cost]["rulesets"])
            seconds[cost].update(row["seconds"][cost]["rulesets"])
    names = {name for cost in nodes for name in (*nodes[cost], *seconds[cost])}
    lines = []
    for name in [*sorted(names, key=lambda n: (-nodes["ascend"][n], -seconds["ascend"][n], n)), "all"]:
        cells = [name]
        for cost in nodes:
            made, spent = nodes[cost], seconds[cost]
            cells.append(f"{made.total() if name == 'all' else made[name]:,}")
            cells.append(f"{sum(spent.values()) if name == 'all' else spent[name]:.1f}")
        lines.append(cells)
    return _table(("ruleset", "e-nodes", "seconds", "under `ascend`", "seconds"), lines)


FIGURES: dict[str, Callable[[], str]] = {
    made.__name__: made
    for made in (
        *(versions, trained, exports, light, summary, counted, composites, growth),
        *(latency, latency_summary, speed_table),
        *TENSAT,
        *COMPARED,
    )
}
"""The figures by the name that a marker has."""


def main() -> None:
    stale = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        try:
            new = filled(text)
        except FileNotFoundError as error:
            sys.exit(f"{page.name} needs {error.filename}, which is missing: `make bench` makes it")
        if new != text and "--check" not in sys.argv[1:]:
            page.write_text(new, encoding="utf-8")
        stale += [page.name] * (new != text)
    if "--check" in sys.argv[1:] and stale:
        sys.exit(f"{', '.join(stale)}: other figures than in {RESULTS.name}/; run `make tables`")


if __name__ == "__main__":
    main()
