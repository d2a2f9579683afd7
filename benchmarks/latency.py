"""How fast models run in onnxruntime: as they came, as we and as greedy tools make them, timed in turns.

python benchmarks/latency.py trained FOLDER --costs onnxruntime,nodes --json results/latency.json

A cost model may have rulesets behind it that are used besides: onnxruntime+onnxruntime.operators.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from greedy_tools import TOOLS
from latency_figures import OURS, RIVALS, geometric
from model_files import light_models, models_of_folder, trained_models
from models import versions
from rich.console import Console
from rich.table import Table

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.store import machine_name
from egraph_opt.measurement.whole import latencies


def sources(names: list[str]) -> dict[str, Path]:
    """Models by name: `trained`, `light`, folders or files."""
    found: dict[str, Path] = {}
    for name in names:
        if name == "trained":
            found.update(trained_models())
        elif name == "light":
            found.update(light_models())
        elif Path(name).is_dir():
            found.update(models_of_folder(Path(name)))
        else:
            found[Path(name).name] = Path(name)
    return found


def variants(path: Path, models: Mapping[str, CostModel], folder: Path) -> dict[str, Any]:
    """Per way of optimising the file that it makes, or why there is none."""
    made: dict[str, Any] = {"original": path}
    for tool in RIVALS:
        target = folder / f"{tool}.onnx"
        if TOOLS[tool].missing:
            made[tool] = TOOLS[tool].missing
            continue
        try:
            TOOLS[tool].make(path, target)
            made[tool] = target
        except Exception as error:  # other people's tools
            made[tool] = f"{type(error).__name__}: {str(error)[:80]}"
    for name, model in models.items():
        result = optimize(path, cost=model, rewrites=("default", *name.split("+")[1:]))
        target = folder / f"{name.replace(':', '_')}.onnx"
        result.save(target)
        made[name] = target
        made[f"{name} predicted"] = [result.report.cost.before, result.report.cost.after]
        made["sizes"] = dict(result.report.cost.points)
    return made


def row(path: Path, models: Mapping[str, CostModel], setting: OrtRuntime, seconds: float) -> dict[str, Any]:
    """Speed-ups over the original."""
    with tempfile.TemporaryDirectory() as name:
        made = variants(path, models, Path(name))
        files = {way: made[way] for way in made if isinstance(made[way], Path)}
        proto = onnx.load(path, load_external_data=False)
        files_ = [str(file) for file in files.values()]
        found = latencies(files_, setting, made.pop("sizes"), proto, seconds=seconds)
    answer: dict[str, Any] = {
        way: {
            "us": round(timed.micros, 1),
            "speedup": round(timed.speedup, 4),
            "low": round(timed.low, 4),
            "high": round(timed.high, 4),
        }
        for way, timed in zip(files, found, strict=True)
    }
    answer.update({way: value for way, value in made.items() if way not in files})
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--costs", default="onnxruntime")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="of timing, per model")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    console = Console()
    own = f"{OURS}:{arguments.threads}"
    models = {
        name: cost_model(own if base == OURS else base)
        for name in arguments.costs.split(",")
        for base in name.split("+")[:1]
    }
    setting = OrtRuntime(arguments.threads)
    rows: dict[str, Any] = {}
    written = {"versions": versions(), "machine": machine_name(), "threads": arguments.threads}
    for name, path in sources(arguments.models).items():
        try:
            rows[name] = row(path, models, setting, arguments.seconds)
        except Exception as error:
            rows[name] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        shown = {k: v["speedup"] for k, v in rows[name].items() if isinstance(v, dict) and "speedup" in v}
        console.print(name, shown or rows[name], highlight=False, soft_wrap=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(written | {"models": rows}, indent=1) + "\n")
    ways = [*RIVALS, *models]
    table = Table("way", "geometric mean", "slower by 2 %", "1.10 or more", "models")
    for way in ways:
        speeds = [
            r[way]["speedup"] for r in rows.values() if isinstance(r.get(way), dict) and "speedup" in r[way]
        ]
        slower, faster = sum(s < 0.98 for s in speeds), sum(s >= 1.1 for s in speeds)
        table.add_row(way, f"{geometric(speeds):.3f}", str(slower), str(faster), str(len(speeds)))
    console.print(table)


if __name__ == "__main__":
    main()
