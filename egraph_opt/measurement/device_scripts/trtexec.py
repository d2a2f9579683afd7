"""TensorRT, by `trtexec`.

From the documentation of trtexec; not run by the authors, who have no such GPU.

    OPTIONS  further ones, such as "--fp16" or "--shapes=x:1x3x224x224"
    DEVICE   the name of the GPU
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from egraph_opt.measurement.device_scripts.shared import answer_all, run, setting


def time(model: Path, folder: Path) -> dict[str, object]:
    times, layers = folder / "times.json", folder / "layers.json"
    options = setting("OPTIONS", "").split()
    run(
        *("trtexec", f"--onnx={model}", f"--exportTimes={times}", *options),
        *("--dumpProfile", "--separateProfileRun", f"--exportProfile={layers}"),
    )
    runs = json.loads(times.read_text())
    return {
        "micros": 1000 * statistics.median(run["computeMs"] for run in runs),
        "device": setting("DEVICE", "TensorRT"),
        "nodes": nodes(json.loads(layers.read_text())),
    }


def nodes(layers: list[dict[str, Any]]) -> dict[str, float]:
    """Microseconds by node; a layer of several is named after them with " + " between."""
    found: dict[str, float] = {}
    for layer in layers:
        if "name" in layer:  # the first entry is the number of runs
            found[layer["name"].split(" + ")[-1]] = 1000 * layer["averageMs"]
    return found


if __name__ == "__main__":
    answer_all(time)
