"""How many runs a sweep makes a second: models under a cost model whose parameters are drawn at random.

    python benchmarks/sweeping.py MODEL.onnx... [--runs 10000] [--jobs 2]

Every run has prices of its own, so that none is answered by another; each e-graph is saturated once.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.running import Cells, run_plan
from egraph_opt.lab.sweep.spec import read_spec
from egraph_opt.lab.sweep.work import Processes, jobs_here

DRAWN = """
[[cost]]
model = "ascend"
samples = {samples}

[cost.range]
memory_gbs = {{ least = 50, most = 800, scale = "log" }}
fixed_vector_us = {{ least = 0.5, most = 8, scale = "log" }}
fixed_cube_us = {{ least = 0.5, most = 8, scale = "log" }}
l2_share = [0.1, 1.0]
clock_ghz = [0.5, 2.0]
"""


def main(
    models: Annotated[list[Path], typer.Argument(help="ONNX models.")],
    runs: Annotated[int, typer.Option(help="Of all models together.")] = 10_000,
    jobs: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Print a line for each model, and how long all took."""
    count = jobs or jobs_here()
    with tempfile.TemporaryDirectory() as name:
        spec = Path(name) / "sweep.toml"
        listed = json.dumps([str(model.resolve()) for model in models])
        spec.write_text(f"models = {listed}\n{DRAWN.format(samples=runs // len(models))}", encoding="utf-8")
        start = time.perf_counter()
        table = run_plan(plan(read_spec(spec)), Path(name) / "runs.csv", lambda at: Processes(count, at))
        seconds = time.perf_counter() - start
    rows = defaultdict(list)
    for row in table.rows:
        rows[Path(row["model"]).stem].append(row)
    shown = Table("model", "runs", "graphs", "unproved", "errors", "s a run")
    for model, own in rows.items():
        shown.add_row(model, *figures(own))
    Console(width=110).print(shown)
    print(f"{len(table.rows):,} runs in {seconds:.0f} s with {count} processes")


def figures(rows: list[Cells]) -> list[str]:
    """The figures of a model."""
    counted = (
        len(rows),
        len({row["graph"] for row in rows if not row["error"]}),
        sum(row["gap"] > 1e-9 for row in rows if not row["error"]),
        sum(bool(row["error"]) for row in rows),
    )
    return [*(f"{number:,}" for number in counted), f"{sum(row['seconds'] for row in rows) / len(rows):.3f}"]


if __name__ == "__main__":
    typer.run(main)
