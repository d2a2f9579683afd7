"""The table of seconds from `results/speed.json`, which `speed.py` makes."""

from __future__ import annotations

import json
from typing import Any

from latency_figures import geometric
from result_files import RESULTS

BESIDE = "OnnxSlim"
WAYS = ("nodes", "verified", "OnnxSlim", "onnxsim")


def measured() -> dict[str, Any]:
    """What a warm run wrote."""
    found: dict[str, Any] = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    return found


def _seconds(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        name.removesuffix(".onnx"): row["seconds"] for name, row in found["warm"].items() if "seconds" in row
    }


def speed_table() -> str:
    """Seconds by model; a dash where a tool failed, and the models without a row."""
    found = measured()
    rows = _seconds(found)
    lines = [["model", "`nodes`", "verified", *WAYS[2:], f"`nodes` / {BESIDE}"]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
    for name, seconds in rows.items():
        cells = [f"{seconds[way]:.3f} s" if way in seconds else "-" for way in WAYS]
        ratio = f"{seconds['nodes'] / seconds[BESIDE]:.2f}" if BESIDE in seconds else "-"
        lines.append([name, *cells, ratio])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    failed = [f"{name}: {row['error']}" for name, row in found["warm"].items() if "error" in row]
    packages = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    told = [
        f"Timed on {found['machine']}; {packages}.",
        _summary(rows),
        *(f"Not timed: {text}." for text in failed),
    ]
    return table + "\n\n" + "\n".join(told)


def _summary(rows: dict[str, dict[str, float]]) -> str:
    beside = {
        way: geometric([r[way] / r[BESIDE] for r in rows.values() if way in r and BESIDE in r])
        for way in ("nodes", "verified", "onnxsim")
    }
    return (
        f"Geometric mean over the {len(rows)} models: {beside['nodes']:.1f} times {BESIDE},"
        f" {beside['verified']:.1f} with verification; onnxsim {beside['onnxsim']:.1f}."
    )
