"""Models in ONNX Runtime, as they are written or with its own optimisations."""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from google.protobuf.message import DecodeError, EncodeError
from onnxruntime.capi import onnxruntime_pybind11_state as _state

from egraph_opt.errors import ModelReadError
from egraph_opt.forking import cached_property
from egraph_opt.graph.arena import is_out_of_memory, share_memory
from egraph_opt.graph.isolation import CrashedBeforeError, step
from egraph_opt.graph.runtime import DATA_FOLDER, SILENT, deployed_options, plain_options, plain_session
from egraph_opt.model import external_data
from egraph_opt.model.left_out import lacks_an_operand
from egraph_opt.model.reading import model_folders
from egraph_opt.verification.budget import watched

ModelLike = onnx.ModelProto | bytes | str | os.PathLike[str]
Value = Any
"""An array, a list of values (a sequence), a mapping (a map), or None (an absent optional)."""

PROTOBUF_LIMIT = 2**31 - 1
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
    "tensor(float8e8m0)": (np.dtype(ml_dtypes.float8_e8m0fnu), onnx.TensorProto.FLOAT8E8M0),
}
"""Types that NumPy lacks: they go in as bytes of a stated ONNX type and come out through their address."""

_PACKED: dict[str, tuple[np.dtype[Any], int]] = {
    f"tensor({sign}int{bits})": (np.dtype(f"{sign}int8"), bits) for sign in ("", "u") for bits in (2, 4)
}
"""Types of which a byte holds several elements, of so many bits: they come out through their address, an
element a byte."""

_BY_ADDRESS = frozenset({*_BY_POINTER, *_PACKED})


class ExecutionError(Exception):
    """ONNX Runtime could not load a model or could not run it on these inputs; the message is its own."""


class OutOfMemoryError(ExecutionError):
    """There was not enough memory to load or to run it."""


def _failure(error: BaseException) -> ExecutionError:
    """What a failure of ONNX Runtime is."""
    return (OutOfMemoryError if is_out_of_memory(error) else ExecutionError)(_message(error))


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

    @cached_property
    def bytes(self) -> int:
        """Of the protobuf; weights in files do not count."""
        return int(self.proto.ByteSize())


def load(model: ModelLike, *, folder: str | os.PathLike[str] | None = None) -> RunnableModel:
    """Reads a model without its external data; one serialization is shared by all later uses.

    Raises:
        ModelReadError: no such file, no protobuf, or a ModelProto too large to be serialized.
    """
    where = None if folder is None else os.fspath(folder)
    if isinstance(model, onnx.ModelProto):
        return (
            _with_shared_folder(model) if _pinned(model) else RunnableModel(model, _serialized(model), where)
        )
    try:
        if isinstance(model, bytes):
            return RunnableModel(onnx.load_model_from_string(model), model, where)
        path = Path(model)
        proto = onnx.load(path, load_external_data=False)
        if external_data.external_tensors(proto):
            external_data.pin(proto, model_folders(path), str(path))
            return _with_shared_folder(proto)
        return RunnableModel(proto, str(path), os.path.dirname(path) or ".")
    except DecodeError as error:
        name = "the serialized model" if isinstance(model, bytes) else repr(os.fspath(model))
        raise ModelReadError(f"{name} is not an ONNX model: {error}") from error
    except OSError as error:
        raise ModelReadError(f"{os.fspath(model)!r} cannot be read: {error.strerror}") from error


def _serialized(model: onnx.ModelProto) -> bytes:
    try:
        content = bytes(model.SerializeToString())
    except (EncodeError, ValueError) as error:
        raise ModelReadError("a ModelProto above 2 GB cannot be verified: save it, pass its path") from error
    if len(content) > PROTOBUF_LIMIT:
        raise ModelReadError("a ModelProto above 2 GB cannot be verified: save it, pass its path")
    return content


def _pinned(model: onnx.ModelProto) -> bool:
    """Whether the model has weights in files, by absolute locations."""
    return any(map(os.path.isabs, external_data.locations(model)))


def _with_shared_folder(model: onnx.ModelProto) -> RunnableModel:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    folder = external_data.share_folder(copy)
    return RunnableModel(copy, _serialized(copy), folder)


LOADING = 60.0
"""Seconds that ONNX Runtime may take to load a model, in which it computes constants."""


class Session:
    """One model in ONNX Runtime on the CPU: logs silent.

    Args:
        as_written: with ONNX Runtime's graph optimisations off.

    Raises:
        ExecutionError: ONNX Runtime cannot load the model (unknown domain, missing kernel, invalid graph).
        BudgetError: memory ran out.
    """

    def __init__(self, model: RunnableModel, *, as_written: bool = True) -> None:
        for node in filter(lacks_an_operand, model.proto.graph.node):
            raise ExecutionError(f"{node.op_type} {node.name!r} lacks an operand that it needs")
        options = plain_options() if as_written else deployed_options()
        options.use_deterministic_compute = True
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        share_memory(options)
        if external_data.external_tensors(model.proto):
            # Weights that are not packed anew stay in the mapped file and take no memory of their own.
            options.add_session_config_entry("session.disable_prepacking", "1")
        if model.folder is not None and isinstance(model.content, bytes):
            options.add_session_config_entry(DATA_FOLDER, str(Path(model.folder).resolve()))
        self._shown = partial(_shown, model.proto, model.folder, as_written)
        self._begin(None, LOADING)
        try:
            self._session = plain_session(model.content, options)
        except _FAILURES as error:
            raise _failure(error) from error
        inputs = [*self._session.get_inputs(), *self._session.get_overridable_initializers()]
        self._types = {value.name: value.type for value in inputs}
        self.input_names: tuple[str, ...] = tuple(value.name for value in inputs)
        outputs = self._session.get_outputs()
        self._by_pointer = any(value.type in _BY_ADDRESS for value in [*inputs, *outputs])
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
        self._begin(feeds, seconds)
        try:
            if seconds == bytes_ == math.inf:
                return self._run(feeds, options)
            with watched(options, seconds, bytes_):
                return self._run(feeds, options)
        except _FAILURES as error:
            raise _failure(error) from error

    def _begin(self, feeds: Mapping[str, Value] | None, seconds: float) -> None:
        """Say what is done, in case that the runtime crashes; raises ExecutionError where it did before."""
        try:
            step(partial(self._shown, feeds), seconds)
        except CrashedBeforeError as error:
            raise ExecutionError(str(error)) from error

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


def _shown(
    proto: onnx.ModelProto, folder: str | None, as_written: bool, feeds: Mapping[str, Value] | None
) -> tuple[RunnableModel, bool, dict[str, Value] | None]:
    """What a session does, to be done again: its model, how it is loaded, and what it is run on."""
    return RunnableModel(proto, b"", folder), as_written, None if feeds is None else dict(feeds)


def _array(value: onnxruntime.OrtValue) -> Value:
    """The content of a value, types that NumPy lacks included."""
    kind = value.data_type()
    special = _BY_POINTER.get(kind)
    if special is None and kind not in _PACKED:
        return value.numpy()
    shape: Sequence[int] = value.shape()
    count = int(np.prod(shape, dtype=np.int64))
    if special is None:
        wide, bits = _PACKED[kind]
        return _unpacked(_memory(value, -(-count * bits // 8)), count, wide, bits).reshape(shape)
    dtype = special[0]
    return np.frombuffer(_memory(value, count * dtype.itemsize), dtype).reshape(shape)


def _memory(value: onnxruntime.OrtValue, count: int) -> bytes:
    """The bytes of a value; of no elements there may be no address."""
    return bytes((ctypes.c_char * count).from_address(value.data_ptr())) if count else b""


def _unpacked(memory: bytes, count: int, dtype: np.dtype[Any], bits: int) -> Any:
    """Elements of a few bits, of which the first of a byte is its lowest part."""
    packed = np.frombuffer(memory, np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed & (2**bits - 1)).reshape(-1)[:count].astype(dtype)
    sign = 2 ** (bits - 1)
    return (parts ^ sign) - sign if dtype.kind == "i" else parts


def _message(error: BaseException) -> str:
    """The first line of what ONNX Runtime says, without its code."""
    text = str(error).strip() or type(error).__name__
    return _CODE.sub("", text.splitlines()[0])
