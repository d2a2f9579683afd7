"""How long the kernels of a model run, by ONNX Runtime's own profiler."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph_opt.graph.runtime import RuntimeSetting

LAYOUT = frozenset(("ReorderInput", "ReorderOutput"))
"""Conversions to and from the runtime's blocked layout, which it inserts where a chain begins and ends."""

_KERNEL = "_kernel_time"


@dataclass(frozen=True)
class Run:
    """One run of a model, in microseconds.

    Attributes:
        kernels: the sum over its kernels.
        layout: the part of it that converts layouts.
        count: how many kernels ran.
    """

    kernels: float
    layout: float
    count: int


class ProfiledSession:
    """A model that is timed kernel by kernel; `close` it to learn what was measured.

    Args:
        prefix: of the profiler's file, where no other session has it.
    """

    def __init__(self, model: bytes | str, setting: RuntimeSetting, prefix: Path) -> None:
        options = setting.options()
        options.enable_profiling = True
        options.profile_file_prefix = str(prefix)
        self._session = setting.session(model, options)

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> None:
        self._session.run(None, dict(feeds))

    def events(self) -> list[dict[str, Any]]:
        """End the session: what the profiler has written."""
        written = Path(self._session.end_profiling())
        events: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
        written.unlink()
        return events

    def close(self) -> list[Run]:
        """End the session: the runs in their order."""
        events = self.events()
        ends = np.array([e["ts"] + e["dur"] for e in events if e.get("name") == "model_run"])
        kernels = [e for e in events if _is_kernel(e)]
        place = np.searchsorted(ends, [e["ts"] for e in kernels])
        totals, layout = np.zeros(len(ends)), np.zeros(len(ends))
        counts = np.zeros(len(ends), dtype=int)
        for at, event in zip(place.tolist(), kernels, strict=True):
            if at < len(ends):
                totals[at] += event["dur"]
                layout[at] += event["dur"] if event["args"].get("op_name") in LAYOUT else 0
                counts[at] += 1
        return [Run(*row) for row in zip(totals.tolist(), layout.tolist(), counts.tolist(), strict=True)]


def _is_kernel(event: Mapping[str, Any]) -> bool:
    return event.get("cat") == "Node" and str(event["name"]).endswith(_KERNEL)


def kernel_times(
    model: bytes | str,
    setting: RuntimeSetting,
    feeds: Mapping[str, npt.NDArray[Any]],
    runs: int,
    prefix: Path,
) -> dict[tuple[str, str], list[float]]:
    """Microseconds of each kernel of a model, by node and operator, in runs that follow two to warm up."""
    session = ProfiledSession(model, setting, prefix)
    for _ in range(runs + 2):
        session.run(feeds)
    found: dict[tuple[str, str], list[float]] = {}
    for event in filter(_is_kernel, session.events()):
        key = str(event["name"]).removesuffix(_KERNEL), str(event["args"].get("op_name", ""))
        found.setdefault(key, []).append(float(event["dur"]))
    return {key: times[2:] for key, times in found.items()}
