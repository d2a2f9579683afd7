"""Sweeps on a Ray cluster, where Ray is installed: it is large, so the extra `test` leaves it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.running import run_plan
from egraph_opt.lab.sweep.spec import read_spec

from .small import SPEC, write_example

pytest.importorskip("ray", reason="Ray is not installed: pip install 'egraph-opt[ray]'")


def test_the_runs_of_a_ray_worker_that_dies_are_made_once_by_another(tmp_path: Path) -> None:
    from egraph_opt.lab.sweep.clusters import RayWorkers

    path = write_example(tmp_path, SPEC.replace("Trade", "Deadly"))
    (tmp_path / "lives").write_text("1")
    table = run_plan(plan(read_spec(path)), tmp_path / "spec.csv", lambda folder: RayWorkers("", 2, folder))
    assert (tmp_path / "lives").read_text() == "0"
    assert [row["run"] for row in table.rows] == list(range(10))
    assert not any(row["error"] for row in table.rows)
