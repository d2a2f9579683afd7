"""Workers of a Dask cluster: one that there is, or one that is started on this machine.

They need the same files under the same names: the models, and the folder of e-graphs beside the result.
"""

from __future__ import annotations

from pathlib import Path

from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

from egraph_opt.errors import RunsError
from egraph_opt.sweep.planning import Batch
from egraph_opt.sweep.work import Done, run_batch
from egraph_opt.sweep.workers import TOO_MANY_DEATHS, Workers

LONGEST_START = 30
"""Seconds to find a scheduler."""


class DaskWorkers(Workers):
    """A scheduler that gives the batches of a worker that died to another.

    Args:
        scheduler: its address; "" starts one with `jobs` workers here.
    """

    def __init__(self, scheduler: str, jobs: int, folder: Path) -> None:
        self.folder = folder
        self.cluster = None
        if not scheduler:
            self.cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        try:
            self.client = Client(self.cluster or scheduler, timeout=LONGEST_START, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunsError(f"no Dask scheduler at {scheduler}: {error}") from None
        self.finished = as_completed(loop=self.client.loop)

    def submit(self, batch: Batch) -> None:
        self.finished.add(self.client.submit(run_batch, batch, self.folder, pure=False))

    def wait(self) -> list[Done]:
        future: Future = next(self.finished)
        try:
            return [future.result()]
        except KilledWorker:
            raise RunsError(TOO_MANY_DEATHS) from None

    def __exit__(self, *raised: object) -> None:
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()
