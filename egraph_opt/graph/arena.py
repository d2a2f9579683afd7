"""The memory that ONNX Runtime's sessions share, and how much of it they may take."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as _state

AS_REQUESTED = 1
"""An arena grows by what is asked for, and not to the next power of two."""


_NO_MEMORY = re.compile(r"available memory of|failed to allocate|bad_?\s?alloc|out of memory", re.IGNORECASE)
"""What ONNX Runtime says where it cannot have the memory that it asks for."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a failure of ONNX Runtime is a lack of memory."""
    return isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)) is not None


@contextmanager
def arena_of(bytes_: float) -> Iterator[None]:
    """While it lasts, sessions that begin, and share memory, may together allocate so many bytes; then the
    memory is given back.

    The arena is one for the process: of two threads that ask for one the later one's limit is that of both.
    """
    _register(bytes_)
    try:
        yield
    finally:
        _register(math.inf)


def share_memory(options: onnxruntime.SessionOptions) -> onnxruntime.SessionOptions:
    """Options of a session that takes its memory from the arena of the process."""
    options.add_session_config_entry("session.use_env_allocators", "1")
    return options


def _register(bytes_: float) -> None:
    kind, place = _state.OrtAllocatorType.ORT_ARENA_ALLOCATOR, _state.OrtMemType.DEFAULT
    most = {"max_mem": int(bytes_)} if math.isfinite(bytes_) else {}
    try:
        onnxruntime.create_and_register_allocator(
            _state.OrtMemoryInfo("Cpu", kind, 0, place),
            onnxruntime.OrtArenaCfg({**most, "arena_extend_strategy": AS_REQUESTED}),
        )
    except Exception:  # releases that cannot replace an arena: the first one stays
        return
