"""Models in ONNX Runtime, with its graph optimisations off."""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from google.protobuf.message import DecodeError, EncodeError
from onnxruntime.capi import onnxruntime_pybind11_state as _state

from egraph_opt.errors import ModelReadError
from egraph_opt.graph.runtime import SILENT, plain_options, plain_session
from egraph_opt.verification.budget import BudgetError, watched

ModelLike = onnx.ModelProto | bytes | str | os.PathLike[str]
Value = Any
"""An array, a list of values (a sequence), a mapping (a map), or None (an absent optional)."""

PROTOBUF_LIMIT = 2**31 - 1
_NO_MEMORY = re.compile("Failed to allocate memory|bad_alloc|bad allocation")
_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")

_ORT_ERRORS: tuple[type[Exception], ...] = tuple(
    kind for kind in vars(_state).values() if isinstance(kind, type) and issubclass(kind, Exception)
)
_FAILURES: tuple[type[Exception], ...] = (
    *_ORT_ERRORS,
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    MemoryError,
)

_BY_POINTER: dict[str, tuple[np.dtype[Any], int]] = {
    "tensor(bfloat16)": (np.dtype(ml_dtypes.bfloat16), onnx.TensorProto.BFLOAT16),
    "tensor(float8e4m3fn)": (np.dtype(ml_dtypes.float8_e4m3fn), onnx.TensorProto.FLOAT8E4M3FN),
    "tensor(float8e4m3fnuz)": (np.dtype(ml_dtypes.float8_e4m3fnuz), onnx.TensorProto.FLOAT8E4M3FNUZ),
    "tensor(float8e5m2)": (np.dtype(ml_dtypes.float8_e5m2), onnx.TensorProto.FLOAT8E5M2),
    "tensor(float8e5m2fnuz)": (np.dtype(ml_dtypes.float8_e5m2fnuz), onnx.TensorProto.FLOAT8E5M2FNUZ),
}
"""Types that NumPy lacks: they go in as bytes of a stated ONNX type and come out through their address."""


class ExecutionError(Exception):
    """ONNX Runtime could not load a model or could not run it on these inputs; the message is its own."""


@dataclass(frozen=True)
class RunnableModel:
    """A model that is ready for the checker and for ONNX Runtime.

    Attributes:
        proto: the model, its external data not loaded.
        content: a path, or the serialized model.
        folder: where the external data of a serialized model is, if it has any.
    """

    proto: onnx.ModelProto
    content: str | bytes
    folder: str | None = None


def load(model: ModelLike, *, folder: str | os.PathLike[str] | None = None) -> RunnableModel:
    """Reads a model without its external data; one serialization is shared by all later uses.

    Raises:
        ModelReadError: no such file, no protobuf, or a ModelProto too large to be serialized.
    """
    where = None if folder is None else os.fspath(folder)
    if isinstance(model, onnx.ModelProto):
        try:
            content = model.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise ModelReadError(
                "a ModelProto above 2 GB cannot be verified: save it, pass its path"
            ) from error
        if len(content) > PROTOBUF_LIMIT:
            raise ModelReadError("a ModelProto above 2 GB cannot be verified: save it, pass its path")
        return RunnableModel(model, content, where)
    try:
        if isinstance(model, bytes):
            return RunnableModel(onnx.load_model_from_string(model), model, where)
        path = os.fspath(model)
        return RunnableModel(onnx.load(path, load_external_data=False), path, os.path.dirname(path) or ".")
    except DecodeError as error:
        name = "the serialized model" if isinstance(model, bytes) else repr(os.fspath(model))
        raise ModelReadError(f"{name} is not an ONNX model: {error}") from error
    except OSError as error:
        raise ModelReadError(f"{os.fspath(model)!r} cannot be read: {error.strerror}") from error


class Session:
    """One model in ONNX Runtime on the CPU: graph optimisations off, logs silent.

    Raises:
        ExecutionError: ONNX Runtime cannot load the model (unknown domain, missing kernel, invalid graph).
        BudgetError: memory ran out.
    """

    def __init__(self, model: RunnableModel) -> None:
        options = plain_options()
        options.use_deterministic_compute = True
        if model.folder is not None and isinstance(model.content, bytes):
            options.add_session_config_entry(
                "session.model_external_initializers_file_folder_path", str(Path(model.folder).resolve())
            )
        try:
            self._session = plain_session(model.content, options)
        except _FAILURES as error:
            raise _told(error) from error
        inputs = [*self._session.get_inputs(), *self._session.get_overridable_initializers()]
        self._types = {value.name: value.type for value in inputs}
        outputs = self._session.get_outputs()
        self._by_pointer = any(value.type in _BY_POINTER for value in [*inputs, *outputs])
        self.output_names: tuple[str, ...] = tuple(value.name for value in outputs)

    def run(
        self, feeds: Mapping[str, Value], *, seconds: float = math.inf, bytes_: float = math.inf
    ) -> list[Value]:
        """All outputs in order.

        Args:
            seconds, bytes_: that the run may take.

        Raises:
            ExecutionError: the model does not run on these inputs.
            BudgetError: it takes longer, or more memory.
        """
        options = onnxruntime.RunOptions()
        options.log_severity_level = SILENT
        try:
            if seconds == bytes_ == math.inf:
                return self._run(feeds, options)
            with watched(options, seconds, bytes_):
                return self._run(feeds, options)
        except _FAILURES as error:
            raise _told(error) from error

    def _run(self, feeds: Mapping[str, Value], options: onnxruntime.RunOptions) -> list[Value]:
        if self._by_pointer:
            return self._run_values(feeds, options)
        return list(self._session.run(None, dict(feeds), options))

    def _run_values(self, feeds: Mapping[str, Value], options: onnxruntime.RunOptions) -> list[Value]:
        make = onnxruntime.OrtValue
        values = {}
        for name, value in feeds.items():
            if not isinstance(value, np.ndarray):
                raise TypeError(f"input {name!r}: only tensors go together with {sorted(_BY_POINTER)}")
            special = _BY_POINTER.get(self._types.get(name, ""))
            if special is None:
                values[name] = make.ortvalue_from_numpy(value)
            else:
                dtype, code = special
                raw = np.ascontiguousarray(value, dtype).reshape(value.shape)
                values[name] = make.ortvalue_from_numpy_with_onnx_type(raw.view(f"u{dtype.itemsize}"), code)
        results = self._session.run_with_ort_values(None, values, options)
        return [_array(value) for value in results]


def _array(value: onnxruntime.OrtValue) -> Value:
    """The content of a value, types that NumPy lacks included."""
    special = _BY_POINTER.get(value.data_type())
    if special is None:
        return value.numpy()
    dtype = special[0]
    shape: Sequence[int] = value.shape()
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(value.data_ptr())
    return np.frombuffer(memory, dtype).reshape(shape).copy()


def _told(error: Exception) -> ExecutionError | BudgetError:
    """That memory ran out says nothing about a model."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return BudgetError(f"memory ran out: {_message(error)}")
    return ExecutionError(_message(error))


def _message(error: BaseException) -> str:
    """The first line of what ONNX Runtime says, without its code."""
    text = str(error).strip() or type(error).__name__
    return _CODE.sub("", text.splitlines()[0])
