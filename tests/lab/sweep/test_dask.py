"""Sweeps on a Dask cluster: a real scheduler and two workers, one of which dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from egraph_opt.errors import RunsError
from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.running import run_plan
from egraph_opt.lab.sweep.spec import read_spec

from .small import SPEC, write_example

distributed = pytest.importorskip("distributed")


def test_the_runs_of_a_dask_worker_that_is_killed_are_made_once_by_the_other(tmp_path: Path) -> None:
    from egraph_opt.lab.sweep.clusters import DaskWorkers

    spec = SPEC.replace("Trade", "Deadly") + '[[cost]]\nmodel = "costs.py:Trade"\nsamples = 80\n'
    path = write_example(tmp_path, spec + "range = { sub_us = [0.5, 4.0] }\n")
    (tmp_path / "lives").write_text("1")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options, worker_dashboard_address=None) as cluster:
        table = run_plan(
            plan(read_spec(path)),
            tmp_path / "spec.csv",
            lambda folder: DaskWorkers(cluster.scheduler_address, 2, folder),
        )
    assert (tmp_path / "lives").read_text() == "0"
    assert [row["run"] for row in table.rows] == list(range(90))
    assert not any(row["error"] for row in table.rows)
    assert len({row["graph"] for row in table.rows}) == 2


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from egraph_opt.lab.sweep import clusters

    monkeypatch.setattr(clusters, "LONGEST_START", 0.2)
    with pytest.raises(RunsError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        clusters.DaskWorkers("tcp://127.0.0.1:9", 1, tmp_path)
