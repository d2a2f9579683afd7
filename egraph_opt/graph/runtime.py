"""ONNX Runtime as it is used here: logs silent; its optimisations off or on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from egraph_opt.errors import LimitsError, UnknownSettingError
from egraph_opt.imports import onnxruntime

DATA_FOLDER = "session.model_external_initializers_file_folder_path"
"""The setting of ONNX Runtime that says where the external data of a serialized model is."""

SILENT = 4
"""The severity of messages from which on ONNX Runtime logs them: fatal ones."""


def plain_options(threads: int = 0) -> onnxruntime.SessionOptions:
    """Options under which every node runs as it is written.

    Args:
        threads: within an operator; 0 leaves them to the runtime.
    """
    return _options("disable", threads)


def deployed_options() -> onnxruntime.SessionOptions:
    """Options as users have them: with all of ONNX Runtime's own optimisations."""
    return _options("all")


def _options(level: str, threads: int = 0) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
    options.log_severity_level = SILENT
    return options


def plain_session(
    model: bytes | str, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    """A model, serialized or by its path, ready to run; onnxruntime raises its own errors."""
    return onnxruntime.InferenceSession(
        model, plain_options() if options is None else options, providers=["CPUExecutionProvider"]
    )


def outputs_of(model: bytes, names: list[str], feeds: Mapping[str, Any]) -> list[Any]:
    """What a model computes, by one thread."""
    return list(plain_session(model, plain_options(threads=1)).run(names, feeds))


LEVELS = {
    "disable": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
"""Optimisation levels of the runtime by name: what it calls them."""


@dataclass(frozen=True)
class RuntimeSetting:
    """How models run.

    Attributes:
        threads: within an operator.
        level: of the runtime's own optimisations, a name in `LEVELS`.
        provider: execution provider.

    Raises:
        LimitsError: less than one thread.
        UnknownSettingError: no such level.
    """

    threads: int = 1
    level: str = "all"
    provider: str = "CPUExecutionProvider"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UnknownSettingError(self.level, LEVELS)
        if self.threads < 1:
            raise LimitsError(f"threads={self.threads}: must be 1 or more")

    def check(self) -> None:
        """Raises UnknownSettingError where the provider is not there: the runtime would take another one."""
        available = onnxruntime.get_available_providers()
        if self.provider not in available:
            raise UnknownSettingError(self.provider, available)

    def options(self) -> onnxruntime.SessionOptions:
        options = _options(self.level, self.threads)
        options.inter_op_num_threads = 1
        return options

    def session(
        self,
        model: bytes | str,
        options: onnxruntime.SessionOptions | None = None,
        *,
        folder: str | None = None,
    ) -> Any:
        """A model, serialized or by its path; `folder` is what a serialized one's weights are relative to."""
        self.check()
        options = self.options() if options is None else options
        if folder is not None:
            options.add_session_config_entry(DATA_FOLDER, folder)
        return onnxruntime.InferenceSession(model, options, providers=[self.provider])
