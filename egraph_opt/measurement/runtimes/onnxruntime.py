"""ONNX Runtime: how long the kernels of a model run, by its own profiler."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph_opt.foreign_text import parsed_json
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.graph.timed_runtime import Kernel, Run, undisturbed
from egraph_opt.imports import onnxruntime

ENTERING, LEAVING = "ReorderInput", "ReorderOutput"
"""Conversions to and from the runtime's blocked layout, which it inserts where a chain begins and ends."""

LEAST_CONVERSION = 0.01
"""Microseconds: one that the clock does not see is still told from none."""

_KERNEL = "_kernel_time"


@dataclass(frozen=True)
class OrtRuntime(RuntimeSetting):
    """ONNX Runtime, as a runtime to measure in."""

    @property
    def title(self) -> str:
        return "onnxruntime"

    @property
    def version(self) -> str:
        """The release, and the commit that it was built from."""
        commit = re.search(r"git-commit-id=(\w{1,10})", onnxruntime.get_build_info())
        return f"{onnxruntime.__version__} {commit[1]}" if commit else str(onnxruntime.__version__)

    @property
    def options_key(self) -> str:
        return f"{self.provider} {self.level} threads={self.threads}"

    def clock(self) -> Callable[[], float]:
        """One thread is the calling one, whose processor time does not count what other processes do."""
        return time.thread_time if self.threads == 1 else time.perf_counter

    def profiled(self, model: bytes | str, prefix: Path) -> ProfiledSession:
        return ProfiledSession(model, self, prefix)


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
        events: list[dict[str, Any]] = parsed_json(written.read_text(encoding="utf-8"))
        written.unlink()
        return events

    def close(self) -> list[Run]:
        """End the session: the runs in their order."""
        events = self.events()
        ends = np.array([e["ts"] + e["dur"] for e in events if e.get("name") == "model_run"])
        kernels = sorted((e for e in events if _is_kernel(e)), key=lambda event: event["ts"])
        place = np.searchsorted(ends, [e["ts"] for e in kernels])
        found: list[list[dict[str, Any]]] = [[] for _ in ends]
        for at, event in zip(place.tolist(), kernels, strict=True):
            if at < len(ends):
                found[at].append(event)
        return [run_of(kernels) for kernels in found]

    def kernels(self) -> list[Kernel]:
        """End the session: what ran, in the order of its last run."""
        times: dict[tuple[str, str], list[float]] = {}
        events = sorted(filter(_is_kernel, self.events()), key=lambda event: event["ts"])
        for event in reversed(events):
            key = str(event["name"]).removesuffix(_KERNEL), str(event["args"].get("op_name", ""))
            times.setdefault(key, []).append(float(event["dur"]))
        rows = reversed(times.items())
        return [Kernel(op, names_of(name), undisturbed(own)) for (name, op), own in rows]


def names_of(kernel: str) -> tuple[str, ...]:
    """What a kernel's name says that it computes.

    One in the blocked layout is named after the tensor that it makes, a fused one after a node and a fusion.

    >>> names_of("conv1_out_nchwc")
    ('conv1_out',)
    >>> names_of("/layer/MatMul/MatMulAddFusion")
    ('/layer/MatMul/MatMulAddFusion', '/layer/MatMul')
    >>> names_of("ReorderInput_token_3")
    ()
    """
    name = _TOKEN.sub("", kernel)
    if name in (ENTERING, LEAVING):
        return ()
    if name.endswith(_BLOCKED):
        return (name.removesuffix(_BLOCKED),)
    whole = name.rstrip("/")
    return (whole, whole.rpartition("/")[0]) if "Fusion" in whole.rpartition("/")[2] else (whole,)


_BLOCKED = "_nchwc"
_TOKEN = re.compile(r"_token_\d+$")


def run_of(kernels: Sequence[Mapping[str, Any]]) -> Run:
    """What one run was, from its kernels in their order."""
    entering = [e for e in kernels if e["args"].get("op_name") == ENTERING]
    leaving = [e for e in kernels[-1:] if e["args"].get("op_name") == LEAVING]
    before, behind = (sum(max(e["dur"], LEAST_CONVERSION) for e in some) for some in (entering, leaving))
    inner = sum(e["dur"] for e in kernels) - sum(e["dur"] for e in (*entering, *leaving))
    return Run(inner, before, behind, len(kernels) - len(entering) - len(leaving))


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
