"""After a kill the old model is there or the new one, with its weights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import kill_points

Point = dict[str, Any]


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[Point]:
    script, folder = Path(kill_points.__file__), tmp_path_factory.mktemp("kill") / "case"
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the points are reached in forks")


def test_a_process_killed_at_200_points_leaves_the_old_model_or_the_new_one(points: list[Point]) -> None:
    killed = [point for point in points if point["signal"] == signal.SIGKILL and point["reached"]]
    assert len(killed) >= 200
    assert not [point for point in killed if not point["right"]]
    for case in {point["case"] for point in killed}:
        assert (
            len({point["found"] for point in killed if point["case"] == case}) == 2
        )  # before and after the step


def test_the_next_run_clears_what_a_killed_one_has_left(points: list[Point]) -> None:
    assert any(name.endswith(".tmp") for point in points for name in point["left"])
    assert any(name.endswith(".journal") for point in points for name in point["left"])
    assert {point["next"] for point in points} == {kill_points.NEW}
    for point in points:
        weights = [name for name in point["files"] if name != "out.onnx"]
        assert all(name.startswith("out.onnx.") and name.endswith(".data") for name in weights), point
        assert len(weights) <= 1, point


def test_sigterm_ends_the_process_and_leaves_nothing(points: list[Point]) -> None:
    terminated = [point for point in points if point["signal"] == signal.SIGTERM and point["reached"]]
    assert len(terminated) >= 20
    assert all(point["right"] for point in terminated)
    for point in terminated:
        hidden = [name for name in point["left"] if name.startswith(".")]
        assert not hidden, point
        assert len(point["left"]) <= 2 + ("input" in point["case"]), point
