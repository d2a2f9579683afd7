"""What nodes timed alone do not show of whole models: the runtime's dispatch, and conversions of layout.

python benchmarks/latency_fit.py FOLDER            fits both constants of `cost_models/onnxruntime.py`
python benchmarks/latency_fit.py MODEL --operators  what operators take alone and within the model
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from latency import sources
from rich.console import Console
from rich.table import Table

from egraph_opt.cost.model import NodeView, bind
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.measurement.batch import Measurement
from egraph_opt.measurement.feeds import feeds_for
from egraph_opt.measurement.profile import kernel_times
from egraph_opt.measurement.specimen import key_of
from egraph_opt.measurement.whole import latencies
from egraph_opt.pipeline.stages import saturate

RUNS = 30


def views_of(path: Path, model: OnnxRuntime) -> tuple[list[NodeView], dict[str, int]]:
    """The nodes of a model as they came, and the sizes of its symbolic dims."""
    saturated = saturate(path, target=model, rewrites=[])
    assert saturated.region is not None
    points = saturated.points(model)
    return [
        replace(
            node.view,
            inputs=tuple(None if fact is None else bind(fact, points) for fact in node.view.inputs),
            outputs=tuple(bind(fact, points) for fact in node.view.outputs),
        )
        for node in saturated.region.original
    ], dict(points)


def alone(views: list[NodeView], model: OnnxRuntime) -> list[tuple[str, Measurement]]:
    """Operator and measurement of the nodes that could be measured."""
    model.prepare(views, lambda done: None)
    known = model.store.known(model.place)
    found = [(view.op_type, known.get(key_of(view))) for view in views]
    return [(name, answer) for name, answer in found if isinstance(answer, Measurement)]


def whole(path: Path, sizes: dict[str, int], model: OnnxRuntime) -> float:
    """Microseconds of a run."""
    proto = onnx.load(path, load_external_data=False)
    return latencies([str(path)], model.setting, sizes, proto, seconds=2.0)[0].micros


def within(path: Path, sizes: dict[str, int], model: OnnxRuntime) -> dict[str, float]:
    """Microseconds by kernel in runs of the whole model: the mean of the faster half."""
    proto = onnx.load(path, load_external_data=False)
    feeds, _ = feeds_for(proto, model.setting.session(str(path)), sizes)
    with tempfile.TemporaryDirectory() as folder:
        times = kernel_times(str(path), model.setting, feeds, RUNS, Path(folder) / "profile")
    found: dict[str, float] = defaultdict(float)
    for (_, operator), own in times.items():
        found[operator] += float(np.mean(sorted(own)[: len(own) // 2]))
    return found


def operators(path: Path, model: OnnxRuntime) -> Table:
    """What operators take alone and within the model; the runtime's fusions have names of their own."""
    views, sizes = views_of(path, model)
    apart: dict[str, float] = defaultdict(float)
    for name, answer in alone(views, model):
        apart[name] += answer.micros
    together = within(path, sizes, model)
    table = Table("operator", "alone, us", "within, us", title=path.name)
    for name in sorted({*apart, *together}):
        table.add_row(name, f"{apart.get(name, 0):,.0f}", f"{together.get(name, 0):,.0f}")
    table.add_row("all", f"{sum(apart.values()):,.0f}", f"{sum(together.values()):,.0f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--operators", action="store_true")
    arguments = parser.parse_args()
    console, model = Console(), OnnxRuntime()
    rows = []
    for name, path in sources(arguments.models).items():
        if arguments.operators:
            console.print(operators(path, model))
            continue
        views, sizes = views_of(path, model)
        found = [answer for _, answer in alone(views, model)]
        took = whole(path, sizes, model)
        sums = [sum(getattr(a, part) for a in found) for part in ("micros", "layout", "kernels")]
        rows.append((*sums, took))
        console.print(name, *(f"{value:,.0f}" for value in (*sums, took)), highlight=False)
    if rows:
        data = np.array(rows, dtype=float)
        scale = 1 / data[:, 3]
        system = data[:, 1:3] * scale[:, None]
        layout, dispatch = np.linalg.lstsq(system, (data[:, 3] - data[:, 0]) * scale, rcond=None)[0]
        fitted = data[:, 0] + data[:, 1] * layout + data[:, 2] * dispatch
        console.print(
            f"LAYOUT_SHARE {layout:.3f}, DISPATCH {dispatch:.2f} us;"
            f" median error {100 * median(abs(fitted / data[:, 3] - 1)):.0f} % of {len(rows)} originals"
        )


if __name__ == "__main__":
    main()
