"""One step of a comparison: a tool run, its result assessed, or several timed."""

from __future__ import annotations

import importlib
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from egraph_opt.lab.comparison.tools import TOOLS
from egraph_opt.measurement.worker import Say

Answer = dict[str, Any]

KIBI = 1024


def run_tool(tool: str, cost: str, orders: int, source: str, target: str) -> Answer:
    """Run a tool: its seconds, and the most MiB that it had resident above what its libraries take.

    Importing a tool's package is not counted, since who optimises many models does it once.
    """
    chosen = TOOLS[tool]
    importlib.import_module(chosen.package.replace("-", "_") or "egraph_opt.pipeline.stages")
    before, started = _peak_mib(), time.perf_counter()
    told = (*((cost,) if chosen.priced else ()), *((orders,) if chosen.orders else ()))
    chosen.make(*told, Path(source), Path(target))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "mib": max(_peak_mib() - before, 0.0)}


def assess(original: str, path: str, costs: list[str]) -> Answer:
    """Nodes, bytes, prices under each cost model, and whether the outputs are those of the original."""
    import onnx

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.errors import EgraphOptError
    from egraph_opt.graph.node_counts import nodes_of
    from egraph_opt.pipeline.stages import saturate
    from egraph_opt.verification.verifier import verify

    prices: dict[str, float | None] = {}
    for name in costs:
        model = cost_model(name)
        try:
            report = (
                saturate(path, rewrites=(), target=model).extract(model, verify=False, measure=False).report
            )
            prices[name] = report.cost.before
        except EgraphOptError:
            prices[name] = None
    counts = nodes_of(onnx.load(path, load_external_data=False))
    checked = verify(original, path)
    return {
        "nodes": counts.runtime,
        "file_nodes": counts.file,
        "bytes": os.path.getsize(path),
        "prices": prices,
        "correct": checked.status,
        "detail": checked.detail if checked.status != "passed" else "",
    }


def time_models(paths: list[str], seconds: float) -> Answer:
    """Microseconds of models in onnxruntime, in turns, and how many times as fast as the first each is."""
    import onnx

    from egraph_opt.cost.model import default_points
    from egraph_opt.graph.runtime import RuntimeSetting
    from egraph_opt.measurement.whole import latencies
    from egraph_opt.pipeline.stages import saturate

    region = saturate(paths[0], rewrites=()).region
    points = default_points(region.inputs if region else ())
    timed = latencies(paths, RuntimeSetting(), points, onnx.load(paths[0]), seconds=seconds)
    return {
        "latencies": [{"micros": t.micros, "speedup": t.speedup, "low": t.low, "high": t.high} for t in timed]
    }


def _peak_mib() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(used) / (KIBI * KIBI if sys.platform == "darwin" else KIBI)


def respond(step: Callable[..., Answer], arguments: Mapping[str, Any], mib: int, say: Say) -> None:
    """In a process of its own: say what a step answers, or the error that it ended with.

    Args:
        mib: of memory; 0 for any.
    """
    if mib:
        resource.setrlimit(resource.RLIMIT_DATA, (mib * KIBI * KIBI,) * 2)
    try:
        say(step(**arguments))
    except MemoryError:
        say({"error": f"more than {mib} MiB of memory"})
    except Exception as error:  # tools raise what they like
        lines = str(error).strip().splitlines() or [""]
        say({"error": f"{type(error).__name__}: {lines[0]}"[:300]})
