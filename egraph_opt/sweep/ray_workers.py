"""Workers of a Ray cluster: one that there is, or one that is started on this machine.

They need the same files under the same names: the models, and the folder of e-graphs beside the result.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from egraph_opt.errors import RunsError
from egraph_opt.sweep.planning import Batch
from egraph_opt.sweep.work import Done, run_batch
from egraph_opt.sweep.workers import DEATHS, TOO_MANY_DEATHS, Workers


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
