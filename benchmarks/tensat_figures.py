"""The tables beside the papers: from `results/tensat.json`, which `tensat.py` makes, and what was published.

Published figures are quoted from `results/tensat_published.toml`, which says where each was read.  All
speed-ups are given as how many times as fast as the original a result is.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from networks import NETWORKS
from result_files import RESULTS

MEASURED, PRICED = "onnxruntime", "ascend"
GREEDY = "tree"
UNKNOWN = "-"
Row = dict[str, Any]


def measured(path: Path = RESULTS / "tensat.json") -> Row:
    """What a run of `tensat.py` wrote.

    Raises:
        FileNotFoundError: there is none.
    """
    found: Row = json.loads(path.read_text(encoding="utf-8"))
    return found


def published() -> Row:
    """By source (`yang`, `repository`, `hartmann`) and network what is known of it; `sources` cites them."""
    return tomllib.loads((RESULTS / "tensat_published.toml").read_text(encoding="utf-8"))


def of_original(percent: float) -> float:
    """TENSAT's speed-up in percent, original / optimised - 1, as a ratio."""
    return 1 + percent / 100


def of_saved(percent: float) -> float:
    """Hartmann's speed-up in percent, 1 - optimised / original, as a ratio."""
    return 1 / (1 - percent / 100)


RATIOS = {"yang": of_original, "hartmann": of_saved}


def ratio(source: str, name: str, way: str) -> str:
    """A published speed-up as a ratio, or a dash where none was found."""
    entry = published()[source].get(name, {}).get(way)
    return f"{RATIOS[source](entry['speedup_percent']):.3f}" if entry else UNKNOWN


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))


def _part(row: Row, cost: str) -> Row | None:
    """What was found under a cost model; None where nothing was, which another cell says."""
    entry = row.get(cost)
    return entry if isinstance(entry, dict) else None


def _missing(row: Row, cost: str) -> str:
    return str(row.get("error", f"not run under {cost}")).replace("|", "\\|")


def tensat_speed(found: Row | None = None) -> str:
    """How many times as fast as the original, published and ours."""
    head = ["network", "TASO", "TENSAT", "TENSAT, again", "tree search", "ours, timed", "95 %"]
    lines = []
    for name, row in (found or measured())["networks"].items():
        own, priced = _part(row, MEASURED), _part(row, PRICED)
        timed = own.get("measured", {}).get("chosen") if own else None
        lines.append(
            [
                NETWORKS[name].title,
                ratio("yang", name, "taso"),
                ratio("yang", name, "tensat"),
                ratio("hartmann", name, "tensat"),
                ratio("hartmann", name, "mcts_ilp"),
                f"{timed['speedup']:.3f}" if timed else UNKNOWN if own else _missing(row, MEASURED),
                f"{timed['low']:.3f} to {timed['high']:.3f}" if timed else UNKNOWN,
                f"{priced['before'] / priced['after']:.3f}" if priced else _missing(row, PRICED),
            ]
        )
    return _table([*head, "`ascend`, predicted"], lines)


def tensat_search(found: Row | None = None) -> str:
    """Seconds and e-nodes of the search, published and ours."""
    known = published()
    head = ["network", "TASO, s", "TENSAT, s", "saturation + extraction", "e-nodes", "ours: nodes", "e-nodes"]
    head += ["saturation + extraction", "`ascend`: e-nodes", "saturation + extraction"]
    lines = []
    for name, row in (found or measured())["networks"].items():
        theirs, split = known["yang"].get(name, {}), known["repository"].get(name, {}).get("tensat")
        own, priced = _part(row, MEASURED), _part(row, PRICED)
        lines.append(
            [
                NETWORKS[name].title,
                *(f"{theirs[way]['seconds']:g}" if way in theirs else UNKNOWN for way in ("taso", "tensat")),
                f"{split['saturation']:.2f} + {split['extraction']:.2f}" if split else UNKNOWN,
                f"{split['e_nodes']:,}" if split else UNKNOWN,
                f"{own['nodes'][0]}, {own['nodes'][1]} after" if own else _missing(row, MEASURED),
                *_searched(own),
                *_searched(priced),
            ]
        )
    return _table(head, lines)


def _searched(entry: Mapping[str, Any] | None) -> tuple[str, str]:
    if entry is None:
        return UNKNOWN, UNKNOWN
    seconds = entry["seconds"]
    stopped = "" if entry["stop"] == "saturated" else f" ({entry['stop']})"
    return (
        f"{entry['e_nodes']:,}{stopped}",
        f"{seconds.get('saturate', 0.0):.2f} + {seconds.get('extract', 0.0):.2f}",
    )


def tensat_extraction(found: Row | None = None) -> str:
    """What greedy and exact extraction choose from the same e-graph, published and ours."""
    head = ["network", "tree search, greedy", "exact", "ours, µs: greedy", "sharing", "exact"]
    head += ["timed: greedy", "exact", "`ascend`, µs: greedy", "sharing", "exact"]
    lines = []
    for name, row in (found or measured())["networks"].items():
        own, priced = _part(row, MEASURED), _part(row, PRICED)
        timed = own.get("measured", {}) if own else {}
        exact = f"{timed['chosen']['speedup']:.3f}" if timed else UNKNOWN
        greedy = f"{timed[GREEDY]['speedup']:.3f}" if GREEDY in timed else "the same" if timed else UNKNOWN
        lines.append(
            [
                NETWORKS[name].title,
                ratio("hartmann", name, "mcts_greedy"),
                ratio("hartmann", name, "mcts_ilp"),
                *(_chosen(own) if own else (_missing(row, MEASURED), UNKNOWN, UNKNOWN)),
                greedy,
                exact,
                *(_chosen(priced) if priced else (_missing(row, PRICED), UNKNOWN, UNKNOWN)),
            ]
        )
    return _table(head, lines)


def _chosen(entry: Mapping[str, Any]) -> tuple[str, ...]:
    costs = [entry["extractors"][way] for way in (GREEDY, "greedy-dag", "auto")]
    texts = [f"{found['cost']:,.0f}" for found in costs]
    return (*texts[:2], texts[2] + ("" if costs[2]["proved"] else ", not proved"))


def tensat_setting(found: Row | None = None) -> str:
    """Where ours were made, and what of their prices is no measurement."""
    found = found or measured()
    packages = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    estimated = [
        f"{NETWORKS[name].title}: {'; '.join(row[MEASURED]['remarks'])}"
        for name, row in found["networks"].items()
        if MEASURED in row and row[MEASURED]["remarks"]
    ]
    told = f" Of {'. Of '.join(estimated)}." if estimated else ""
    return f"Ours: {found['machine']}, one thread, {packages}.{told}"


def tensat_sources() -> str:
    """The published works."""
    entries = published()["sources"]
    marks = {
        "yang": "TASO, TENSAT",
        "repository": "saturation, extraction and e-nodes of TENSAT",
        "hartmann": "TENSAT, again; tree search",
    }
    return "\n".join(f"- *{marks[key]}*: {entry['cite']}; {entry['read']}." for key, entry in entries.items())


TABLES = (tensat_speed, tensat_search, tensat_extraction, tensat_setting, tensat_sources)
