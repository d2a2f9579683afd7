"""The tables of latency from `results/latency.json`, which `latency.py` makes."""

from __future__ import annotations

import json
import math
from statistics import median
from typing import Any

import numpy as np
from result_files import RESULTS

RIVALS = ("onnxsim", "OnnxSlim")
SUMMARY_HEAD = (
    *("models", "number", "egraph-opt", *RIVALS),
    *("over the best tool", "at least 1.10", "below 0.98"),
)
OURS = "onnxruntime"
WITH_OPERATORS = "onnxruntime+onnxruntime.operators"
Row = dict[str, Any]


def measured(file: str = "latency.json") -> tuple[dict[str, Any], dict[str, Row]]:
    """What a file says of its run, and its rows by model; those that could not be timed are left out."""
    found = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    rows = {key.removesuffix(".onnx"): row for key, row in found["models"].items() if OURS in row}
    return found, rows


def speed(row: Row, way: str = OURS) -> float | None:
    """How many times as fast as the original; None where the way failed."""
    return row[way]["speedup"] if isinstance(row.get(way), dict) else None


def best_rival(row: Row) -> float:
    """The fastest of the greedy tools that made something, or the original."""
    return max([1.0, *(found for tool in RIVALS if (found := speed(row, tool)) is not None)])


def geometric(values: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def rank_correlation(pairs: list[tuple[float, float]]) -> float:
    """Spearman's, of distinct values."""
    first, second = (np.argsort(np.argsort([pair[k] for pair in pairs])) for k in (0, 1))
    return float(np.corrcoef(first, second)[0, 1])


def _share(row: Row, k: int) -> tuple[float, float]:
    """What was predicted and what was measured, of the original (0) or of the result (1)."""
    way = "original" if k == 0 else OURS
    return row[f"{OURS} predicted"][k], row[way]["us"]


def _rival(row: Row, tool: str) -> str:
    """Its speed-up, that it was not there, or a dash where it failed."""
    found = speed(row, tool)
    if found is not None:
        return f"{found:.3f}"
    return "not installed" if str(row.get(tool, "")).startswith("not installed") else "-"


def latency() -> str:
    """A row per model: times, speed-ups, and how well they were predicted."""
    _, rows = measured()
    head = [
        "model",
        "original, µs",
        *RIVALS,
        "ours",
        "95 %",
        "own operators",
        "predicted / measured",
        "after",
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, row in rows.items():
        own = row[OURS]
        rivals = [_rival(row, tool) for tool in RIVALS]
        ratios = [f"{p / m:.2f}" for p, m in (_share(row, 0), _share(row, 1))]
        interval = f"{own['low']:.3f} to {own['high']:.3f}"
        operators = speed(row, WITH_OPERATORS)
        written = "-" if operators is None else f"{operators:.3f}"
        micros = f"{row['original']['us']:,.0f}"
        lines.append([name, micros, *rivals, f"{own['speedup']:.3f}", interval, written, *ratios])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def latency_summary() -> str:
    """What holds of all models, and of the trained ones by themselves."""
    said, rows = measured()
    trained = {name: row for name, row in rows.items() if "/" in name and not name.startswith("light/")}
    lines = [
        f"How many times as fast as the original (geometric means), on {said['machine']}, onnxruntime"
        f" {said['versions']['onnxruntime']}:",
        "",
        f"| {' | '.join(SUMMARY_HEAD)} |",
        f"| --- |{' ---: |' * (len(SUMMARY_HEAD) - 1)}",
        _summary("all, one thread", rows),
        _summary("trained ones, on which nothing was fitted", trained),
    ]
    has_two = (RESULTS / "latency2.json").exists()
    if has_two:
        lines.append(_summary("all that were timed with two threads", measured("latency2.json")[1]))
    lines.append("")
    both = {name: row for name, row in rows.items() if speed(row, WITH_OPERATORS) is not None}
    if both:
        speeds = [geometric([row[way]["speedup"] for row in both.values()]) for way in (OURS, WITH_OPERATORS)]
        lines.append(
            f"With the runtime's own operators (`onnxruntime.operators`) {speeds[1]:.3f} instead of"
            f" {speeds[0]:.3f} on {len(both)} models."
        )
    pairs = [_share(row, k) for row in rows.values() for k in (0, 1)]
    error = median(abs(p / m - 1) for p, m in pairs)
    lines.append(
        f"Predictions for whole models, before and after: median error {100 * error:.0f} %, rank correlation"
        f" {rank_correlation(pairs):.3f}."
    )
    missing = [
        f"{name.removesuffix('.onnx')} was not timed: {row['error']}."
        for name, row in said["models"].items()
        if "error" in row
    ]
    return "\n".join([*lines, *missing, *([] if has_two else ["Two threads were not measured."])])


def _summary(what: str, rows: dict[str, Row]) -> str:
    """A row of the table: all models together."""
    ours = [row[OURS]["speedup"] for row in rows.values()]
    over = geometric([row[OURS]["speedup"] / best_rival(row) for row in rows.values()])
    tools = [
        f"{geometric([s for row in rows.values() if (s := speed(row, tool)) is not None]):.3f}"
        for tool in RIVALS
    ]
    slower = [name for name, row in rows.items() if row[OURS]["speedup"] < 0.98]
    counts = (sum(s >= 1.1 for s in ours), ", ".join(slower) or "none")
    cells = (what, len(rows), f"{geometric(ours):.3f}", *tools, f"{over:.3f}", *counts)
    return f"| {' | '.join(map(str, cells))} |"
