"""Optimises TENSAT's networks and times them in onnxruntime; the tables that stand beside the papers'.

python benchmarks/tensat.py [NAME ...] [--costs onnxruntime,ascend] [--repeat 1] [--json FILE] [--small]

For each network (`networks.py`) and cost model: e-nodes, seconds of the stages, and the price of what greedy
extractors and exact extraction choose from the same e-graph.  What was chosen under `onnxruntime` is timed
beside the original, in turns and in one process, and so is the greedy choice where it costs more.  Each
network has a process of its own; one that fails, or takes too long, has a row that says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from models import versions
from networks import NETWORKS, write

from egraph_opt import Limits, Saturated, saturate
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.measurement.store import machine_name
from egraph_opt.measurement.whole import latencies
from egraph_opt.model.files import write_whole

COSTS = ("onnxruntime", "ascend")
GREEDY = ("tree", "greedy-dag")
"""Extractors without search: egg's, which counts a node as often as it is used, and one that shares nodes."""

SECONDS = 3.0
"""How long models are timed, for each repetition."""

MEASURED_TIMES = 4
"""How often at most prices are measured, a minute each."""

LONGEST = 900
"""Seconds after which a network is given up."""

LIMITS = Limits(seconds=600)
"""The clock over whole models counts, too: with less, networks that run for 0.2 s get no complete choice."""

Row = dict[str, Any]


def row(path: Path, costs: list[str], repeat: int) -> Row:
    """One network under each cost model."""
    found: Row = {}
    for name in costs:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = _under(path, cost_model(name), repeat, Path(folder))
    return found


def _measure_prices(path: Path, model: CostModel) -> float:
    """The seconds that it takes to measure what the e-graph offers, which is kept and no part of the search.

    An optimisation measures for a minute at most, so that there may be some left for the next one.
    """
    started, saturated = time.perf_counter(), saturate(path, target=model, limits=LIMITS)
    for _ in range(MEASURED_TIMES):
        report = saturated.extract(model, extractor="draft", verify=False, measure=0).report
        if not _estimated(report.warnings):
            break
    return time.perf_counter() - started


def _estimated(warnings: Sequence[str]) -> list[str]:
    return [text for text in warnings if "estimated" in text]


def _under(path: Path, model: CostModel, repeat: int, folder: Path) -> Row:
    measuring = _measure_prices(path, model) if model.runtime is not None else 0.0
    saturated = saturate(path, target=model, limits=LIMITS)
    result = saturated.extract(model)
    report = result.report
    chosen = result.save(folder / "chosen.onnx")
    found: Row = {
        "status": report.status,
        "verification": report.verification.status,
        "unit": report.cost.unit,
        "before": report.cost.before,
        "after": report.cost.after,
        "lower_bound": report.cost.lower_bound,
        "nodes": [report.nodes.runtime_before, report.nodes.runtime_after],
        "e_nodes": report.saturation.nodes,
        "stop": report.saturation.stop,
        "seconds": {stage: round(taken, 3) for stage, taken in report.seconds.items()},
        "measuring": round(measuring, 1),
        "remarks": _estimated(report.warnings),
        "extractors": extractors(saturated, model),
    }
    if model.runtime is not None and repeat:
        files = {"chosen": chosen}
        costs = {name: entry["cost"] for name, entry in found["extractors"].items()}
        if costs[GREEDY[0]] > costs["auto"] * (1 + 1e-6):
            greedy = saturated.extract(model, extractor=GREEDY[0], verify=False, measure=0)
            files[GREEDY[0]] = greedy.save(folder / "greedy.onnx")
        found["measured"] = timed(path, files, model, dict(report.cost.points), repeat)
    return found


def extractors(saturated: Saturated, model: CostModel) -> Row:
    """What each chooses from one e-graph: its cost, whether that is proved to be the least, and seconds."""
    found = {}
    for name in (*GREEDY, "auto"):
        started = time.perf_counter()
        chosen = saturated.solve(model, extractor=name)
        found[name] = {
            "cost": chosen.solution.cost,
            "proved": chosen.solution.proved,
            "seconds": round(time.perf_counter() - started, 3),
        }
    return found


def timed(
    path: Path, files: Mapping[str, Path], model: CostModel, sizes: Mapping[str, int], repeat: int
) -> Row:
    """Speed-ups over the original, with their intervals."""
    assert model.runtime is not None
    proto = onnx.load(path)
    given = [str(path), *map(str, files.values())]
    found = latencies(given, model.runtime, sizes, proto, seconds=SECONDS * repeat)
    return {
        way: {
            "us": round(latency.micros, 1),
            "speedup": round(latency.speedup, 4),
            "low": round(latency.low, 4),
            "high": round(latency.high, 4),
        }
        for way, latency in zip(("original", *files), found, strict=True)
    }


def _in_process(path: Path, given: argparse.Namespace) -> Row:
    command = [sys.executable, __file__, "--one", str(path), "--costs", given.costs]
    command += ["--repeat", str(given.repeat)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {"error": f"gave up after {LONGEST} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": lines[-1]}
    measured: Row = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; by default all")
    parser.add_argument("--costs", default=",".join(COSTS))
    parser.add_argument("--repeat", type=int, default=1, help=f"times {SECONDS:g} s of timing; 0: none")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too; rows of others stay")
    parser.add_argument("--small", action="store_true", help="networks of a size for tests")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(row(given.one, given.costs.split(","), given.repeat)))
        return
    if unknown := [name for name in given.names if name not in NETWORKS]:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    written: Row = {"networks": {}}
    if given.names and given.json is not None and given.json.exists():
        written = json.loads(given.json.read_text(encoding="utf-8"))
    written |= {"versions": versions(), "machine": machine_name(), "threads": 1, "small": given.small}
    for name in given.names or NETWORKS:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = _in_process(write(name, Path(folder), small=given.small), given)
        written["networks"][name] = found
        told = found.get("error") or {cost: entry.get("measured", "") for cost, entry in found.items()}
        print(f"{name}: {time.perf_counter() - started:.0f} s, {told}", file=sys.stderr, flush=True)
        if given.json is not None:
            write_whole(given.json, (json.dumps(written, indent=1) + "\n").encode())
    if given.json is None:
        print(json.dumps(written, indent=1))


if __name__ == "__main__":
    main()
