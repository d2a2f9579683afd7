"""The command line of ATC says what prices assume: chip, shapes, precision."""

from __future__ import annotations

import shlex

import pytest

from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_atc import soc_version


@pytest.mark.parametrize(
    ("chip", "version"),
    [
        ("310p3", "Ascend310P3"),
        ("Ascend310B4", "Ascend310B4"),
        ("910a", "Ascend910A"),
        ("910c", "Ascend910_9392"),
    ],
)
def test_chips_are_called_as_atc_calls_them(chip: str, version: str) -> None:
    assert soc_version(chip) == version
    assert f"--soc_version={version}" in Ascend(chip).build_command({}, "m.onnx")


def test_a_shell_reads_the_options_as_they_are_meant() -> None:
    inputs = {"image": (1, 3, None, 320), "a scale": (), "b": (2,)}
    words = shlex.split(
        Ascend(float_bytes=4, buffer_optimize="off_optimize").build_command(inputs, "a b/m.onnx")
    )
    assert words == [
        "atc",
        "--model=a b/m.onnx",
        "--framework=5",
        "--output=a b/m",
        "--soc_version=Ascend310P3",
        "--input_shape=image:1,3,-1,320;b:2",
        "--precision_mode_v2=cube_fp16in_fp32out",
        "--buffer_optimize=off_optimize",
    ]
