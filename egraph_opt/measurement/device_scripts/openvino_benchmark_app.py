"""OpenVINO, by `benchmark_app` of its wheel.

Inputs have to have sizes; random numbers are in them.

    TARGET   what runs models, as `benchmark_app -d` takes it (CPU)
    THREADS  of an inference (1)
    SECONDS  how long a model runs (2)
    OPTIONS  further ones, such as "-infer_precision f32"
    DEVICE   the name of the machine
"""

from __future__ import annotations

import csv
import platform
import sys
from pathlib import Path

from egraph_opt.measurement.device_scripts.shared import answer_all, number_in, run, setting


def tool() -> str:
    """Beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "benchmark_app"
    return str(beside) if beside.exists() else "benchmark_app"


def time(model: Path, folder: Path) -> dict[str, object]:
    target = setting("TARGET", "CPU")
    options: tuple[str, ...]
    options = ("-m", str(model), "-d", target, "-hint", "none", "-api", "sync", "-nstreams", "1")
    options += ("-nthreads", setting("THREADS", "1"), *setting("OPTIONS", "").split())
    printed = run(tool(), *options, "-t", setting("SECONDS", "2"))
    unit = (
        1 if "Median" in printed and printed.partition("Median")[2].splitlines()[0].endswith("us") else 1000
    )
    report = ("-niter", "20", "-report_type", "average_counters", "-report_folder", str(folder))
    run(tool(), *options, *report)
    return {
        "micros": unit * number_in(printed, r"Median:\s*([\d.]+)"),
        "device": setting("DEVICE", f"{platform.node()}, OpenVINO {target}"),
        "nodes": nodes(folder / "benchmark_average_counters_report.csv"),
    }


def nodes(report: Path) -> dict[str, float]:
    """Microseconds by node; a conversion counts for the node that follows."""
    found: dict[str, float] = {}
    before = 0.0
    with report.open(newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            if row["execStatus"].endswith("EXECUTED"):
                took = 1000 * float(row["realTime (ms)"])
                if row["layerType"] == "Reorder":
                    before += took
                else:
                    found[row["layerName"]] = found.get(row["layerName"], 0.0) + before + took
                    before = 0.0
    return found


if __name__ == "__main__":
    answer_all(time)
