"""The command line of ATC, Ascend's compiler of ONNX models, as prices assume it to be run.

Its options are on the pages of the ATC tool (hiascend atlasatc_16_0001 and following; for the precision
atctool_000093).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from egraph_opt.cost_models.ascend_soc import Soc

FRAMEWORK = 5
"""ONNX."""

VERSIONS = {"910c": ("Ascend910_9392", "Ascend910_9391", "Ascend910_9382", "Ascend910_9381")}
"""What `--soc_version` may call a chip where that is not its name, the first being taken.

Of the names that CANN's runtime knows for Atlas A3 (soc_info.cc) these have 48 vector cores a die; _9372 and
_9362 have 40, by tables that inference engines keep.
"""

PRECISIONS = {2: "fp16", 4: "cube_fp16in_fp32out"}
"""`--precision_mode_v2` by the bytes of a float: vectors in float32 too, or all in float16."""

DEFAULT_BUFFERS = "l2_optimize"


def soc_version(chip: str) -> str:
    """A chip as ATC calls it, such as ``Ascend310P3``."""
    short = chip.lower().removeprefix("ascend")
    return VERSIONS.get(short, (f"Ascend{short.upper()}",))[0]


def remarks(chip: str) -> tuple[str, ...]:
    """What of a chip's name and figures is guessed."""
    taken, *others = VERSIONS.get(chip.lower().removeprefix("ascend"), ("",))
    if not others:
        return ()
    return (
        f"{chip} is a guess: {taken} stands for {', '.join(others)} as well, no measurement is known;"
        " npu-smi info prints which a card is",
    )


def atc_command(chip: str, soc: Soc, inputs: Mapping[str, Sequence[int | None]], path: str) -> str:
    """A command line that a shell takes; sizes that nobody knows are -1, which ATC takes for any.

    Scalars have no shape to be said.
    """
    shapes = ";".join(
        f"{name}:{','.join('-1' if dim is None else str(dim) for dim in shape)}"
        for name, shape in inputs.items()
        if shape
    )
    options = {
        "model": path,
        "framework": str(FRAMEWORK),
        "output": str(PurePath(path).with_suffix("")),
        "soc_version": soc_version(chip),
        "input_shape": shapes,
        "precision_mode_v2": PRECISIONS.get(int(soc.float_bytes), "origin"),
        "buffer_optimize": "" if soc.buffer_optimize == DEFAULT_BUFFERS else soc.buffer_optimize,
    }
    return shlex.join(["atc", *(f"--{name}={value}" for name, value in options.items() if value)])
