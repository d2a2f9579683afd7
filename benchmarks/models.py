"""Optimises real models under every cost model and writes down what came out; the figures of the README.

python benchmarks/models.py trained|light|FOLDER [--no-tools] [--no-verify] [--only TEXT] [--json FILE]

`trained` are the models of the installed wheels, `light` those of onnx.  Every model runs in a process of its
own, so that its peak memory is its own: the most that was resident above what was before, less the bytes of
the file.  Run-time nodes are those that depend on an input or on chance, and those of bodies.

The file has what a run repeats (`models`: node counts, costs, e-nodes) apart from what the machine has a say
in (`seconds`, `memory` in MiB).  `benchmarks/figures.py` makes tables of it.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import onnx
from greedy_tools import TOOLS, run_tools
from model_files import light_models, models_of_folder, trained_models

from egraph_opt import Result, optimize, saturate
from egraph_opt.model.external_data import locations

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
    names = {path.name, *locations(onnx.load(path, load_external_data=False))}
    return sum((path.parent / name).stat().st_size for name in names) / MEBI


def results_of(path: Path, verify: bool) -> dict[str, Result]:
    """One model under each cost model; what counts only prices the e-graph that `nodes` priced."""
    saturated = saturate(path)
    results = {cost: saturated.extract(cost, verify=verify, restarts=True) for cost in (COSTS[0], *COUNTED)}
    return results | {cost: optimize(path, cost, verify=verify) for cost in COSTS[1:]}


def figures(results: Mapping[str, Result]) -> Row:
    """What a run of the same versions repeats: node counts, costs and sizes of e-graphs."""
    before = results[COSTS[0]].report.nodes
    row: Row = {"graph": {"runtime": before.runtime_before, "file": before.before}}
    for cost, result in results.items():
        r = result.report
        row[cost] = {
            "status": r.status,
            "verification": r.verification.status,
            "runtime": r.nodes.runtime_after,
            "file": r.nodes.after,
            "unit": r.cost.unit,
            "before": r.cost.before,
            "after": r.cost.after,
            "lower_bound": r.cost.lower_bound,
        }
    for cost in COSTS:
        r = results[cost].report
        row[cost] |= {"e_nodes": r.saturation.nodes, "rounds": r.saturation.rounds, "stop": r.saturation.stop}
        row[cost]["rulesets"] = {made.ruleset: made.nodes for made in r.rulesets if made.nodes}
    row[COSTS[0]]["composites"] = dict(results[COSTS[0]].report.composites)
    return row


def measure(path: Path, verify: bool) -> Row:
    """One model under every cost model, with seconds and MiB."""
    seconds, memory = {}, {}
    for cost in COSTS:
        _warm_up(cost)
        before = _peak()
        report = optimize(path, cost, verify=False).report
        memory[cost] = round(max(0.0, _peak() - before - _weight(path)), 1)
        stages = {stage: round(value, 3) for stage, value in report.seconds.items() if stage != "verify"}
        rulesets = {made.ruleset: round(made.seconds, 4) for made in report.rulesets if made.seconds > 5e-5}
        seconds[cost] = {"stages": stages, "rulesets": rulesets}
    return {"figures": figures(results_of(path, verify)), "seconds": seconds, "memory": memory}


def _in_process(path: Path, given: argparse.Namespace) -> Row:
    command = [sys.executable, __file__, "--one", str(path)]
    command += ["--no-verify"] * given.no_verify + ["--no-tools"] * given.no_tools
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"figures": {"error": lines[-1]}}
    measured: Row = json.loads(done.stdout.splitlines()[-1])
    return measured


def _one(path: Path, given: argparse.Namespace) -> None:
    row = measure(path, not given.no_verify)
    if not given.no_tools:
        row["figures"]["tools"] = {
            r.tool: {"nodes": r.nodes, "file": r.file} if r.nodes is not None else {"reason": r.reason}
            for r in run_tools(path)
        }
    print(json.dumps(row))


def versions() -> dict[str, str]:
    """Of Python and of the packages that have a say in the figures, those that are missing too."""
    found = {"python": platform.python_version()}
    for package in ("egglog", "onnx", "onnxruntime", *(tool.package for tool in TOOLS.values())):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def chosen(what: str) -> dict[str, Path]:
    """Names and paths of the models of a group, or of a folder."""
    groups = {"trained": trained_models, "light": light_models}
    return groups[what]() if what in groups else models_of_folder(Path(what))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", default="trained", help="trained, light, or a folder of models")
    parser.add_argument("--only", default="", help="models with this text in their name; others stay")
    parser.add_argument("--no-tools", action="store_true", help="do not run the greedy tools")
    parser.add_argument("--no-verify", action="store_true", help="do not compare outputs")
    parser.add_argument("--json", type=Path, help="write the figures to this file instead of printing them")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        _one(given.one, given)
        return
    written: Row = {"versions": {}, "models": {}, "seconds": {}, "memory": {}}
    if given.only and given.json is not None and given.json.exists():
        written = json.loads(given.json.read_text(encoding="utf-8"))
    written["versions"] = versions()
    for name, path in chosen(given.what).items():
        if given.only not in name:
            continue
        row = _in_process(path, given)
        written["models"][name] = row.pop("figures")
        for key, value in row.items():
            written[key][name] = value
        print(f"{name} done", file=sys.stderr, flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if given.json is None:
        print(json.dumps(written, indent=1))


if __name__ == "__main__":
    main()
