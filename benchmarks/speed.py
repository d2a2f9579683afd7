"""How long optimising takes, warm and from the command line, ours beside OnnxSlim and onnxsim in turns.

python benchmarks/speed.py trained built FOLDER [--costs nodes,ascend] [--runs 5] [--json FILE]
python benchmarks/speed.py cold [MODEL ...]

Warm: every model in a process of its own, in which each way runs once untimed and then in turns with the
others; medians.  `nodes` and `ascend` are ours without verification, as the greedy tools do none; `verified`
is the first of them with it.  All of them read a file and write one.  Cold: whole command lines in turns, on
a model of ten nodes unless others are named, and `--help`, `costs` and `rules`.  Ratios are to OnnxSlim; run
it where nothing else runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from built_graphs import built_models
from greedy_tools import TOOLS
from latency import sources
from latency_figures import RIVALS, geometric
from models import versions
from rich.console import Console
from rich.table import Table

from egraph_opt import optimize
from egraph_opt.measurement.store import machine_name

BESIDE = "OnnxSlim"
"""What ratios are to."""

VERIFIED = "verified"
COMMANDS = {"OnnxSlim": ["-m", "onnxslim"], "onnxsim": ["-m", "onnxsim"]}
LISTINGS = ("--help", "costs", "rules")
Seconds = dict[str, float]


def in_turns(ways: Mapping[str, Callable[[], object]], runs: int) -> Seconds:
    """The median seconds of each way, which run in turns; the first turn is not timed."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(runs + 1):
        for way, run in ways.items():
            gc.collect()
            started = time.perf_counter()
            run()
            if turn:
                taken[way].append(time.perf_counter() - started)
    return {way: median(seconds) for way, seconds in taken.items()}


def working(ways: Mapping[str, Callable[[], object]]) -> dict[str, Callable[[], object]]:
    """Those that do not fail."""
    found = {}
    for way, run in ways.items():
        try:
            run()
        except Exception:  # other people's tools raise anything
            continue
        found[way] = run
    return found


def warm(path: Path, costs: list[str], runs: int) -> dict[str, Any]:
    """Seconds by way, and those of our stages by cost model, in a process that is warm."""
    stages: dict[str, list[Mapping[str, float]]] = {cost: [] for cost in (*costs, VERIFIED)}

    def ours(way: str) -> None:
        cost = costs[0] if way == VERIFIED else way
        result = optimize(path, cost, verify=way == VERIFIED)
        result.save(target)
        stages[way].append(result.report.seconds)

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.onnx"
        made = {
            tool: lambda run=TOOLS[tool].make: run(path, target) for tool in RIVALS if not TOOLS[tool].missing
        }
        ways = working(made) | {way: lambda way=way: ours(way) for way in stages}
        seconds = in_turns(ways, runs)
    return {"seconds": seconds, "stages": {way: _medians(found[-runs:]) for way, found in stages.items()}}


def _medians(found: list[Mapping[str, float]]) -> Seconds:
    names = dict.fromkeys(stage for seconds in found for stage in seconds)
    return {stage: median(seconds.get(stage, 0.0) for seconds in found) for stage in names}


def cold(paths: Mapping[str, Path], costs: list[str], runs: int) -> dict[str, Seconds]:
    """Seconds of whole command lines by model and way; the model "" is that of the listings."""
    own = [sys.executable, "-m", "egraph_opt.cli"]
    listings = {name: _command([*own, name]) for name in LISTINGS}
    found = {"": in_turns(listings, runs)}
    for name, path in paths.items():
        with tempfile.TemporaryDirectory() as folder:
            files = [str(path), str(Path(folder) / "out.onnx")]
            ways = {
                tool: _command([sys.executable, *command, *files])
                for tool, command in COMMANDS.items()
                if not TOOLS[tool].missing
            }
            plain = {
                cost: _command([*own, "optimize", *files, "--cost", cost, "--no-verify"]) for cost in costs
            }
            verified = {VERIFIED: _command([*own, "optimize", *files, "--cost", costs[0]])}
            found[name] = in_turns(working(ways) | plain | verified, runs)
    return found


def _command(arguments: list[str]) -> Callable[[], object]:
    return lambda: subprocess.run(arguments, capture_output=True, check=True)


def ratios(seconds: Mapping[str, float]) -> Seconds:
    """By way how many times as long as `BESIDE`; empty where that failed."""
    beside = seconds.get(BESIDE)
    return {way: value / beside for way, value in seconds.items()} if beside else {}


def speeds_table(rows: Mapping[str, Mapping[str, float]]) -> Table:
    """Seconds by model and way with ratios, and their geometric means."""
    ways = list(dict.fromkeys(way for seconds in rows.values() for way in seconds))
    table = Table("model", *ways, box=None)
    for name, seconds in rows.items():
        beside = ratios(seconds)
        cells = [
            f"{seconds[way]:.3f} s" + (f"  {beside[way]:.2f}" if way in beside else "")
            if way in seconds
            else "-"
            for way in ways
        ]
        table.add_row(name, *cells)
    means = [geometric([r[way] for r in map(ratios, rows.values()) if way in r]) for way in ways]
    table.add_row(f"geometric mean / {BESIDE}", *(f"{mean:.2f}" for mean in means))
    return table


def stages_table(rows: Iterable[Mapping[str, Mapping[str, float]]]) -> Table:
    """Seconds by stage, added up over the models, and their shares."""
    sums: dict[str, Seconds] = {}
    for stages in rows:
        for way, seconds in stages.items():
            added = sums.setdefault(way, {})
            for stage, value in seconds.items():
                added[stage] = added.get(stage, 0.0) + value
    table = Table("stage", *sums, box=None)
    for stage in dict.fromkeys(stage for seconds in sums.values() for stage in seconds):
        cells = []
        for seconds in sums.values():
            value, whole = seconds.get(stage, 0.0), sum(seconds.values())
            cells.append(f"{value:.3f} s  {value / whole:4.0%}" if whole else "-")
        table.add_row(stage, *cells)
    return table


def _warm_in_process(path: Path, given: argparse.Namespace) -> dict[str, Any]:
    command = [
        sys.executable,
        __file__,
        "--one",
        str(path),
        "--costs",
        given.costs,
        "--runs",
        str(given.runs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_warm(models: Mapping[str, Path], given: argparse.Namespace, console: Console) -> dict[str, Any]:
    """All models, one after the other, and the tables."""
    rows: dict[str, Any] = {}
    for name, path in models.items():
        rows[name] = _warm_in_process(path, given)
        console.print(f"{name} {rows[name].get('error', 'done')}", highlight=False, soft_wrap=True)
    measured = {name: row for name, row in rows.items() if "seconds" in row}
    console.print(speeds_table({name: row["seconds"] for name, row in measured.items()}))
    console.print(stages_table(row["stages"] for row in measured.values()))
    return {"warm": {name: {k: row[k] for k in row if k != "stages"} for name, row in rows.items()}}


def run_cold(models: Mapping[str, Path], given: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Command lines, and their table."""
    rows = cold(models, given.costs.split(","), given.runs)
    console.print(", ".join(f"{name} {seconds:.3f} s" for name, seconds in rows[""].items()), highlight=False)
    console.print(speeds_table({name: seconds for name, seconds in rows.items() if name}))
    return {"cold": rows}


def models_of(names: list[str], folder: Path) -> dict[str, Path]:
    """`built`, or what `latency.sources` knows: `trained`, `light`, folders and files."""
    built = built_models(folder)
    found = sources([name for name in names if name != "built"])
    return (built if "built" in names else {}) | found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="*", help="`cold`; trained, light, built, folders, files")
    parser.add_argument("--costs", default="nodes,ascend", help="our cost models, separated by commas")
    parser.add_argument("--runs", type=int, default=5, help="timed turns")
    parser.add_argument("--only", default="", help="models with this text in their name")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(warm(given.one, given.costs.split(","), given.runs)))
        return
    is_cold = given.what[:1] == ["cold"]
    with tempfile.TemporaryDirectory() as name:
        models = models_of(given.what[is_cold:] or ["built"], Path(name))
        if given.what == ["cold"]:
            models = {key: path for key, path in models.items() if key == "built/ten_nodes"}
        models = {key: path for key, path in models.items() if given.only in key}
        console = Console(width=160)
        for tool in RIVALS:
            if TOOLS[tool].missing:
                console.print(f"{tool}: {TOOLS[tool].missing}", highlight=False)
        found = (run_cold if is_cold else run_warm)(models, given, console)
    if given.json is not None:
        old = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
        old.pop("note", None)
        written = old | {"versions": versions(), "machine": machine_name()} | found
        given.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
