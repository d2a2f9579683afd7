"""What nodes timed alone do not show of whole models: the runtime's dispatch, and what its profiler adds.

python benchmarks/latency_fit.py FOLDER             fits that constant of the cost model `onnxruntime`
python benchmarks/latency_fit.py MODEL --operators  what operators take alone and within the model
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import onnx
from latency import sources
from rich.console import Console
from rich.table import Table

from egraph_opt.cost.model import NodeView
from egraph_opt.cost.repricing import SearchLimits, key_of
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.measured import VIEW
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.cost_models.onnxruntime_layout import DISPATCH
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime, kernel_times
from egraph_opt.measurement.whole import feeds_for, latencies
from egraph_opt.pipeline.stages import saturate

RUNS = 30

Priced = list[tuple[NodeView, float]]
Floats = npt.NDArray[np.float64]


def original_views(path: Path, model: OnnxRuntime) -> tuple[Priced, dict[str, int]]:
    """The nodes of a model as the runtime fuses them with their prices, and the sizes of symbolic dims.

    Bodies are left out: a model that has some says too little of its nodes.
    """
    saturated = saturate(path, target=model)
    region = saturated.region
    assert region is not None
    points = saturated.points(model)
    if region.bodies:
        return [], dict(points)
    compiled = region.compiled(key_of(model, points, saturated.limits.fold_bytes))
    prices = compiled.view.prices(model, [()] * len(region.lowered.kept))
    chosen = compiled.solve(prices.cost, SearchLimits("draft")).original
    assert chosen is not None
    nodes = [k for k in chosen.tolist() if k >= 0 and compiled.view.view[k] >= 0]
    return [(compiled.view.views[compiled.view.view[k]], float(prices.cost[k])) for k in nodes], dict(points)


def whole(path: Path, sizes: dict[str, int], model: OnnxRuntime) -> float:
    """Microseconds of a run."""
    proto = onnx.load(path, load_external_data=False)
    return latencies([str(path)], model.runtime, sizes, proto, seconds=2.0)[0].micros


def within(path: Path, sizes: dict[str, int], model: OnnxRuntime) -> dict[str, float]:
    """Microseconds by kernel in runs of the whole model: the mean of the faster half."""
    proto = onnx.load(path, load_external_data=False)
    assert isinstance(model.runtime, OrtRuntime)
    feeds, _ = feeds_for(proto, model.runtime.session(str(path)), sizes)
    with tempfile.TemporaryDirectory() as folder:
        times = kernel_times(str(path), model.runtime, feeds, RUNS, Path(folder) / "profile")
    found: dict[str, float] = defaultdict(float)
    for (_, operator), own in times.items():
        found[operator] += float(np.mean(sorted(own)[: len(own) // 2]))
    return found


def operators(path: Path, model: OnnxRuntime) -> Table:
    """What operators take alone and within the model; the runtime's fusions have names of their own."""
    views, sizes = original_views(path, model)
    apart: dict[str, float] = defaultdict(float)
    for view, price in views:
        parts = () if view.parts is None else tuple(part.op_type for part in view.parts.nodes)
        apart["+".join(parts) or view.op_type] += price
    together = within(path, sizes, model)
    table = Table("operator", "alone, us", "within, us", title=path.name)
    for name in sorted({*apart, *together}):
        table.add_row(name, f"{apart.get(name, 0):,.0f}", f"{together.get(name, 0):,.0f}")
    table.add_row("all", f"{sum(apart.values()):,.0f}", f"{sum(together.values()):,.0f}")
    return table


def error(data: Floats, dispatch: float) -> Floats:
    """By how much times are missed that are summed with a constant for each kernel, as shares."""
    alone, kernels, moved, took = data.T
    missed: Floats = abs((alone + dispatch * kernels + VIEW * moved) / took - 1)
    return missed


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
        priced, sizes = original_views(path, model)
        if not priced:
            continue
        moved = sum(counting.is_view(view) for view, _ in priced)
        kernels = len(priced) - moved
        alone = sum(price for _, price in priced) - VIEW * moved - DISPATCH * kernels
        rows.append((alone, kernels, moved, whole(path, sizes, model)))
        console.print(name, *(f"{value:,.0f}" for value in rows[-1]), highlight=False)
    if rows:
        data = np.array(rows, dtype=float)
        found = min(np.arange(-3.0, 1.0, 0.1), key=lambda dispatch: error(data, dispatch).mean())
        console.print(
            f"DISPATCH {found:.1f} us; median error {100 * median(error(data, found)):.0f} %"
            f" of {len(rows)} originals"
        )


if __name__ == "__main__":
    main()
