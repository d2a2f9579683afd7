"""Ascend, by `atc` and `msame`.

From the documentation of CANN and of msame; not run by the authors, who have no such chip.

    SOC      what `atc --soc_version` takes (Ascend310P3)
    OPTIONS  further ones of atc, such as "--input_shape=x:1,3,224,224"
    RUNS     how often a model runs (100)
    MSAME    where the tool is (msame)
    DEVICE   the name of the board; the chip's unless it is given
"""

from __future__ import annotations

from pathlib import Path

from egraph_opt.measurement.device_scripts.shared import answer_all, number_in, run, setting


def time(model: Path, folder: Path) -> dict[str, object]:
    soc = setting("SOC", "Ascend310P3")
    options = ("--framework=5", f"--soc_version={soc}", *setting("OPTIONS", "").split())
    run("atc", f"--model={model}", f"--output={folder / 'model'}", *options)
    files = ("--model", str(folder / "model.om"), "--output", str(folder), "--outfmt", "BIN")
    printed = run(setting("MSAME", "msame"), *files, "--loop", setting("RUNS", "100"))
    average = number_in(printed, r"Inference average time without first time\s*:\s*([\d.]+)\s*ms")
    return {"micros": 1000 * average, "device": setting("DEVICE", soc)}


if __name__ == "__main__":
    answer_all(time)
