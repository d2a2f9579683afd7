"""Workers of a Dask or a Ray cluster: one that there is, or one that is started on this machine.

They need the same files under the same names: the models, and the folder of e-graphs beside the result.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from egraph_opt.errors import RunsError
from egraph_opt.lab.sweep.planning import Batch
from egraph_opt.lab.sweep.work import DEATHS, TOO_MANY_DEATHS, Done, Workers, run_batch

LONGEST_START = 30
"""Seconds to find a scheduler."""


class DaskWorkers(Workers):
    """A scheduler that gives the batches of a worker that died to another.

    Args:
        scheduler: its address; "" starts one with `jobs` workers here.
    """

    def __init__(self, scheduler: str, jobs: int, folder: Path) -> None:
        self.folder = folder
        import distributed  # may not be there

        self.dask: Any = distributed
        self.cluster: Any = None
        if not scheduler:
            options = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
            self.cluster = self.dask.LocalCluster(**options)
        try:
            address = self.cluster or scheduler
            self.client = self.dask.Client(address, timeout=LONGEST_START, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunsError(f"no Dask scheduler at {scheduler}: {error}") from None
        self.finished = self.dask.as_completed(loop=self.client.loop)

    def submit(self, batch: Batch) -> None:
        self.finished.add(self.client.submit(run_batch, batch, self.folder, pure=False))

    def wait(self) -> list[Done]:
        future = next(self.finished)
        try:
            return [future.result()]
        except self.dask.KilledWorker:
            raise RunsError(TOO_MANY_DEATHS) from None

    def __exit__(self, *raised: object) -> None:
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


class RayWorkers(Workers):
    """A cluster that gives the batch of a worker that died to another, `DEATHS` times.

    Args:
        scheduler: its address; "" starts one with `jobs` workers here.
    """

    def __init__(self, scheduler: str, jobs: int, folder: Path) -> None:
        self.folder = folder
        import ray  # large, and rarely there

        self.ray = ray
        here: dict[str, Any] = {} if scheduler else {"num_cpus": jobs, "include_dashboard": False}
        try:
            ray.init(scheduler or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
        except (OSError, ValueError, RuntimeError) as error:
            raise RunsError(f"no Ray cluster at {scheduler or 'this machine'}: {error}") from None
        self.answer = ray.remote(max_retries=DEATHS)(run_batch)
        self.pending: list[Any] = []

    def submit(self, batch: Batch) -> None:
        self.pending.append(self.answer.remote(batch, self.folder))

    def wait(self) -> list[Done]:
        finished, self.pending = self.ray.wait(self.pending)
        try:
            return list(self.ray.get(finished))
        except self.ray.exceptions.WorkerCrashedError:
            raise RunsError(TOO_MANY_DEATHS) from None

    def __exit__(self, *raised: object) -> None:
        self.ray.shutdown()
