"""ONNX Runtime, by `onnxruntime_test` of its wheel.

It takes all execution providers and processors that there are, and 1 for each symbolic dim.

    RUNS    how often a model runs (200)
    DEVICE  the name of the machine
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

from egraph_opt.measurement.device_scripts.shared import answer_all, number_in, run, setting

TOOL = (sys.executable, "-m", "onnxruntime.tools.onnxruntime_test")


def time(model: Path, folder: Path) -> dict[str, object]:
    runs = setting("RUNS", "200")
    printed = run(*TOOL, str(model), runs, folder=folder)
    micros = 1000 * number_in(printed, r"avg latency: ([\d.e+-]+) ms")
    run(*TOOL, str(model), runs, "--profile", folder=folder)
    (trace,) = folder.glob("*.json")
    device = setting("DEVICE", f"{platform.node()}, onnxruntime")
    return {"micros": micros, "device": device, "nodes": nodes(json.loads(trace.read_text()))}


def nodes(events: list[dict[str, Any]]) -> dict[str, float]:
    """What kernels take in the middle, by the node or tensor that they are named after."""
    times: dict[str, list[float]] = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name = event["name"][: -len("_kernel_time")].rstrip("/")
            if "Fusion" in name.rpartition("/")[2]:
                name = name.rpartition("/")[0]
            name = name[: -len("_nchwc")] if name.endswith("_nchwc") else name
            times.setdefault(name, []).append(event["dur"])
    return {name: sorted(own)[len(own) // 2] for name, own in times.items()}


if __name__ == "__main__":
    answer_all(time)
