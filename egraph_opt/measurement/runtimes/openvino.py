"""OpenVINO: whole models on its CPU device, and its own profile by node."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from egraph_opt.errors import CostModelError, LimitsError, UnknownSettingError
from egraph_opt.graph.timed_runtime import Feeds, Kernel, Run, undisturbed

REORDER = "Reorder"
"""Conversions between layouts or precisions, which it inserts."""

NO_KERNELS = frozenset(("Parameter", "Result", "Constant", "Input", "Output"))
"""Nodes that compute nothing."""

PRECISIONS = ("", "f32", "bf16", "f16")
"""In which products are computed; "" is what it takes by itself, bfloat16 where the processor has it."""


@dataclass(frozen=True)
class OpenVinoRuntime:
    """How models run.

    Attributes:
        threads: of one inference, which has all that the device gives (one stream).
        precision: one of `PRECISIONS`.

    Raises:
        LimitsError: less than one thread.
        UnknownSettingError: no such precision.
    """

    threads: int = 1
    precision: str = ""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise LimitsError(f"threads={self.threads}: must be 1 or more")
        if self.precision not in PRECISIONS:
            raise UnknownSettingError(self.precision, PRECISIONS)

    @property
    def title(self) -> str:
        return "openvino"

    @property
    def provider(self) -> str:
        return "CPU"

    @property
    def version(self) -> str:
        return str(_openvino().__version__)

    @property
    def options_key(self) -> str:
        return f"CPU {self.precision or 'default'} threads={self.threads}"

    def clock(self) -> Callable[[], float]:
        """Inference runs in a thread of its own, whose processor time is the process's."""
        return time.process_time if self.threads == 1 else time.perf_counter

    def check(self) -> None:
        """Raises CostModelError where it is not installed."""
        _openvino()

    def session(self, model: bytes | str) -> Inference:
        return Inference(model, self._options())

    def profiled(self, model: bytes | str, prefix: Path) -> ProfiledInference:
        return ProfiledInference(model, self._options())

    def _options(self) -> dict[str, Any]:
        hints: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        hints["INFERENCE_NUM_THREADS"] = self.threads
        return {**hints, "INFERENCE_PRECISION_HINT": self.precision} if self.precision else hints


def _openvino() -> Any:
    try:
        import openvino
    except ImportError:
        raise CostModelError("openvino is not installed: pip install 'egraph-opt[openvino]'") from None
    return openvino


class Inference:
    """A compiled model."""

    def __init__(self, model: bytes | str, options: Mapping[str, Any]) -> None:
        core = _openvino().Core()
        self._model = core.compile_model(core.read_model(model), "CPU", dict(options))
        self._request = self._model.create_infer_request()

    def run(self, names: Sequence[str] | None, feeds: Feeds) -> list[Any]:
        """The outputs of some names; all in order where none are named."""
        found = self._request.infer(dict(feeds))
        wanted = self._model.outputs if names is None else map(self._model.output, names)
        return [found[output] for output in wanted]

    def profile(self) -> Sequence[Any]:
        """What the last run took, by node."""
        found: Sequence[Any] = self._request.profiling_info
        return found

    def fused(self) -> dict[str, tuple[str, ...]]:
        """By the name of a node of the profile the nodes of the model that it was made of."""
        found = {}
        for node in self._model.get_runtime_model().get_ordered_ops():
            settings = node.get_rt_info()
            said = settings[_ORIGINAL].astype(str) if _ORIGINAL in settings else ""
            found[node.get_friendly_name()] = tuple(filter(None, said.split(",")))
        return found


_ORIGINAL = "originalLayersNames"


class ProfiledInference:
    """A compiled model, with what its profiler says of each run."""

    def __init__(self, model: bytes | str, options: Mapping[str, Any]) -> None:
        self._inference = Inference(model, {**options, "PERF_COUNT": True})
        self._profiles: list[Sequence[Any]] = []

    def run(self, feeds: Feeds) -> None:
        self._inference.run(None, feeds)
        self._profiles.append(self._inference.profile())

    def close(self) -> list[Run]:
        return [run_of(nodes) for nodes in self._profiles]

    def kernels(self) -> list[Kernel]:
        """What ran; a conversion counts for the kernel that follows, for which it is made."""
        times: dict[str, list[float]] = {}
        for nodes in self._profiles:
            for node in nodes:
                times.setdefault(node.node_name, []).append(_micros(node))
        fused = self._inference.fused()
        found, before = [], 0.0
        for node in filter(_has_kernel, self._profiles[-1]):
            if node.node_type == REORDER:
                before += undisturbed(times[node.node_name])
            elif node.node_type not in NO_KERNELS:
                names = fused.get(node.node_name, (node.node_name,))
                found.append(Kernel(node.node_type, names, before + undisturbed(times[node.node_name])))
                before = 0.0
        return found


def run_of(nodes: Sequence[Any]) -> Run:
    """What one run was, from its profile: conversions are of operands before the first kernel, of the result
    behind the last one, and a part of what the nodes take elsewhere."""
    ran = [node for node in nodes if _has_kernel(node) and node.node_type not in NO_KERNELS]
    kernels = [k for k, node in enumerate(ran) if node.node_type != REORDER]
    if not kernels:
        return Run(sum(map(_micros, ran)), 0.0, 0.0, len(ran))
    first, last = kernels[0], kernels[-1]
    entering, inner, leaving = (
        sum(map(_micros, part)) for part in (ran[:first], ran[first : last + 1], ran[last + 1 :])
    )
    return Run(inner, entering, leaving, last + 1 - first)


def _has_kernel(node: Any) -> bool:
    """Whether it runs by itself: what took less than a microsecond is said not to have run, too."""
    return not str(node.exec_type).startswith(("undef", "unknown"))


def _micros(node: Any) -> float:
    return float(node.real_time.total_seconds() * 1e6)
