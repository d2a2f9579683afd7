"""Ascend, by `atc`, `ais_bench` and `msprof`.

From the documentation of CANN and of ais_bench; not run by the authors, who have no such chip.

    SOC      what `atc --soc_version` takes (Ascend310P3)
    OPTIONS  further ones of atc, such as "--input_shape=x:1,3,224,224"
    RUNS     how often a model runs (100)
    PROFILE  0 leaves msprof out (1)
    DEVICE   the name of the board; the chip's unless it is given
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from egraph_opt.measurement.device_scripts.shared import answer_all, run, setting


def time(model: Path, folder: Path) -> dict[str, object]:
    soc = setting("SOC", "Ascend310P3")
    options = ("--framework=5", f"--soc_version={soc}", *setting("OPTIONS", "").split())
    run("atc", f"--model={model}", f"--output={folder / 'model'}", *options)
    bench = ("python3", "-m", "ais_bench", "--model", str(folder / "model.om"))
    runs = ("--loop", setting("RUNS", "100"))
    run(*bench, *runs, "--output", str(folder), "--output_dirname", "times")
    (summary,) = folder.glob("times*summary.json")
    times = json.loads(summary.read_text())["NPU_compute_time"]
    said: dict[str, object] = {"micros": 1000 * times["median"], "device": setting("DEVICE", soc)}
    if setting("PROFILE", "1") != "0":
        run("msprof", f"--output={folder / 'profile'}", *bench, "--loop", "5")
        said["nodes"] = nodes(folder)
    return said


def nodes(folder: Path) -> dict[str, float]:
    """Microseconds by the name of a kernel, which is that of its node: the least of its runs."""
    found: dict[str, float] = {}
    for file in sorted(folder.glob("profile/**/op_summary*.csv")):
        with file.open(newline="") as rows:
            for row in csv.DictReader(rows):
                name, took = row["Op Name"], float(row["Task Duration(us)"])
                found[name] = min(took, found.get(name, took))
    return found


if __name__ == "__main__":
    answer_all(time)
