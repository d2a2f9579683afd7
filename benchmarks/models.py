"""Optimises real models and prints Markdown tables of what came out; the figures of the README.

python benchmarks/models.py [FOLDER ...] [--no-tools] [--no-verify] [--only TEXT] [--json FILE]

Without folders: the trained models of the installed wheels and onnx's `light` models.  Every model runs in a
process of its own, so that its peak memory is its own: the most that was resident above what was before, less
the bytes of the file.  Run-time nodes are those that depend on an input or on chance, and those of bodies.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
from greedy_tools import run_tools
from model_files import light_models, models_of_folder, trained_models

from egraph_opt import optimize, saturate
from egraph_opt.report.report import Report

COSTS = ("nodes", "ascend")
COUNTED = ("flops", "bytes")
"""Cost models without rulesets and limits of their own: they price the e-graph that `nodes` does."""
MEBI = 2**20
Row = dict[str, Any]


def _peak() -> float:
    """The most memory that this process had resident, in MiB."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / MEBI


def _warm_up(cost: str) -> None:
    """Compile laws and load libraries, which is not a model's own time or memory."""
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }'
    optimize(onnx.parser.parse_model(text), cost)


def _weight(path: Path) -> float:
    """The bytes of a model with its external data, in MiB."""
    names = {path.name}
    for tensor in onnx.load(path, load_external_data=False).graph.initializer:
        names.update(entry.value for entry in tensor.external_data if entry.key == "location")
    return sum((path.parent / name).stat().st_size for name in names) / MEBI


def measure(path: Path, verify: bool) -> Row:
    """One model under every cost model: the reports' figures, and memory."""
    row: Row = {}
    for cost in COSTS:
        _warm_up(cost)
        before = _peak()
        started = time.perf_counter()
        first = optimize(path, cost, verify=False).report
        row[cost] = _figures(first)
        row[cost]["wall"] = time.perf_counter() - started
        row[cost]["memory"] = max(0.0, _peak() - before - _weight(path))
        if verify:
            checked = optimize(path, cost).report
            row[cost]["status"], row[cost]["verification"] = checked.status, checked.verification.status
            row[cost]["detail"] = checked.verification.detail
    saturated = saturate(path)
    for cost in COUNTED:
        row[cost] = _figures(saturated.extract(cost, verify=verify).report)
    return row


def _figures(report: Report) -> Row:
    seconds = {stage: value for stage, value in report.seconds.items() if stage != "verify"}
    original = max(report.nodes.runtime_before, 1)
    return {
        "status": report.status,
        "reason": report.reason,
        "verification": report.verification.status,
        "runtime_before": report.nodes.runtime_before,
        "runtime_after": report.nodes.runtime_after,
        "file_before": report.nodes.before,
        "file_after": report.nodes.after,
        "cost_before": report.cost.before,
        "cost_after": report.cost.after,
        "lower_bound": report.cost.lower_bound,
        "gap": report.cost.gap,
        "unit": report.cost.unit,
        "growth": report.saturation.nodes / original,
        "rounds": report.saturation.rounds,
        "stop": report.saturation.stop,
        "seconds": seconds,
        "total": sum(seconds.values()),
        "warnings": list(report.warnings),
        "composites": dict(report.composites),
        "rulesets": {r.ruleset: [r.nodes, r.seconds] for r in report.rulesets},
    }


def _in_process(name: str, path: Path, given: argparse.Namespace) -> Row:
    command = [sys.executable, __file__, "--one", str(path)]
    command += ["--no-verify"] * given.no_verify + ["--no-tools"] * given.no_tools
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"model": name, "error": lines[-1]}
    return {"model": name, **json.loads(done.stdout.splitlines()[-1])}


def _one(path: Path, given: argparse.Namespace) -> None:
    row = measure(path, not given.no_verify)
    if not given.no_tools:
        row["tools"] = {
            r.tool: {"nodes": r.nodes, "file": r.file, "reason": r.reason} for r in run_tools(path)
        }
    print(json.dumps(row))


def best_tool(row: Row, count: str = "nodes") -> tuple[str, int] | None:
    """The greedy tool that leaves the fewest run-time nodes, or nodes in the file."""
    counts = [(r[count], tool) for tool, r in row.get("tools", {}).items() if r[count] is not None]
    return (min(counts)[1], min(counts)[0]) if counts else None


def _table(headings: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(headings) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rule, *lines))


def nodes_table(rows: list[Row]) -> str:
    """Run-time nodes against the best greedy tool, and what it took."""
    stages = ("load", "lower", "saturate", "price", "extract", "rebuild")
    headings = ["model", "nodes", "after", "best greedy tool", "ratio", "file", "after", "status"]
    headings += ["verification", "e-nodes a node", "rounds", *(f"{s} s" for s in stages), "s", "MiB"]
    lines = []
    for row in rows:
        if "error" in row:
            lines.append([row["model"], row["error"], *[""] * (len(headings) - 2)])
            continue
        r, best = row["nodes"], best_tool(row)
        stop = "" if r["stop"] == "saturated" else f" ({r['stop']})"
        cells = [row["model"], str(r["runtime_before"]), str(r["runtime_after"])]
        cells += (
            [f"{best[1]} ({best[0]})", f"{r['runtime_after'] / max(best[1], 1):.2f}"] if best else ["-", "-"]
        )
        cells += [str(r["file_before"]), str(r["file_after"]), r["status"], r["verification"]]
        cells += [f"{r['growth']:.1f}", f"{r['rounds']}{stop}"]
        cells += [f"{r['seconds'].get(stage, 0):.2f}" for stage in stages]
        lines.append([*cells, f"{r['total']:.2f}", f"{r['memory']:.0f}"])
    return _table(headings, lines)


def cost_table(rows: list[Row], cost: str) -> str:
    """The cost before and after with its lower bound."""
    rows = [row for row in rows if "error" not in row]
    unit = rows[0][cost]["unit"] if rows else ""
    headings = [
        "model",
        f"before ({unit})",
        "after",
        "lower bound",
        "of before",
        "status",
        "verification",
        "s",
    ]
    lines = []
    for row in rows:
        r = row[cost]
        share = r["cost_after"] / r["cost_before"] if r["cost_before"] else 1.0
        cells = [row["model"], *(f"{r[k]:.4g}" for k in ("cost_before", "cost_after", "lower_bound"))]
        lines.append([*cells, f"{share:.0%}", r["status"], r["verification"], f"{r['total']:.2f}"])
    return _table(headings, lines)


def counted_table(rows: list[Row]) -> str:
    """What is gained where floating-point operations, or bytes moved, are the cost."""
    lines = []
    for row in rows:
        cells = [row.get("model", "")]
        for cost in COUNTED:
            r = row.get(cost) or {"cost_before": float("nan"), "cost_after": float("nan")}
            share = r["cost_after"] / r["cost_before"] - 1 if r["cost_before"] else 0.0
            cells += [f"{r['cost_before']:.4g}", f"{r['cost_after']:.4g}", f"{share:+.2%}"]
        lines.append(cells)
    return _table(
        ["model", *(f"{cost}{when}" for cost in COUNTED for when in ("", " after", ", change"))], lines
    )


def growth_table(rows: list[Row]) -> str:
    """The e-nodes that rulesets made on all models together, and their seconds."""
    nodes: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for row in rows:
        for ruleset, (made, spent) in row.get("nodes", {}).get("rulesets", {}).items():
            nodes[ruleset] += made
            seconds[ruleset] += spent
    order = sorted({*nodes, *seconds}, key=lambda name: (-nodes[name], name))
    return _table(
        ["ruleset", "e-nodes", "seconds"],
        [[name, f"{nodes[name]:,}", f"{seconds[name]:.2f}"] for name in order],
    )


def summary(rows: list[Row]) -> str:
    """How many models are at or below the best greedy tool, and which are far above."""
    known = [(row["model"], row["nodes"]["runtime_after"], best) for row in rows if (best := best_tool(row))]
    reached = sum(after <= best[1] for _, after, best in known)
    above = [f"{name} ({after} to {best[1]})" for name, after, best in known if after > best[1]]
    larger = [
        f"{row['model']} ({row['nodes']['file_after']} to {best[1]})"
        for row in rows
        if (best := best_tool(row, "file")) and row["nodes"]["file_after"] > best[1]
    ]
    bad = [row["model"] for row in rows if "error" in row or row["nodes"]["status"] == "fallback"]
    return (
        f"No more run-time nodes than the best greedy tool on {reached} of {len(known)} models. "
        f"Above it: {', '.join(above) or 'none'}. "
        f"More nodes in the file: {', '.join(larger) or 'none'}. "
        f"Failed or fell back: {', '.join(bad) or 'none'}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "folders", nargs="*", type=Path, help="folders with models, instead of those of wheels"
    )
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--no-tools", action="store_true", help="do not run the greedy tools")
    parser.add_argument("--no-verify", action="store_true", help="do not compare outputs")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        _one(given.one, given)
        return
    chosen: dict[str, Path] = {}
    for folder in given.folders:
        chosen |= models_of_folder(folder)
    if not given.folders:
        chosen = trained_models() | light_models()
    rows = []
    for name, path in chosen.items():
        if given.only in name:
            rows.append(_in_process(name, path, given))
            print(f"{name} done", file=sys.stderr, flush=True)
    tables = (nodes_table(rows), cost_table(rows, "ascend"), counted_table(rows), growth_table(rows))
    print(*tables, summary(rows), sep="\n\n")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
