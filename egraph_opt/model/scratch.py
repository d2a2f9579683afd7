"""Computed weights that are kept in a temporary file, where there are many of them.

The file goes when nobody has a tensor in it any more, at the latest with the process.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx_ir as ir

from egraph_opt.model.locks import free_name, left_over, new_locked_file
from egraph_opt.model.mapping import MappedTensor

IN_MEMORY = 2**26
"""Bytes of computed tensors that are kept in memory."""

_LEAST = 2**20
_PAGE = 4096
_PREFIX, _SUFFIX = "egraph-opt-", ".weights"


class _ScratchFile:
    """A temporary file, removed with this object."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir())
        for path in left_over(folder.glob(f"{_PREFIX}*{_SUFFIX}")):
            with suppress(OSError):
                path.unlink()
        self.path = free_name(folder, _PREFIX, _SUFFIX)
        self.file = new_locked_file(self.path)
        self.path.chmod(0o600)
        weakref.finalize(self, _remove, self.file, self.path, os.getpid())


def _remove(file: BinaryIO, path: Path, owner: int) -> None:
    if os.getpid() != owner:  # a fork has the object too
        return
    with suppress(OSError):
        file.close()
        path.unlink()


class ScratchTensor(MappedTensor):
    """A tensor in a temporary file that exists as long as this object does."""

    scratch: _ScratchFile


class Scratch:
    """Keeps computed tensors: in memory up to `IN_MEMORY` bytes, the further ones in a file."""

    def __init__(self) -> None:
        self._in_memory = 0
        self._file: _ScratchFile | None = None

    def keep(
        self, array: np.ndarray[Any, Any], dtype: ir.DataType | None, name: str | None = None
    ) -> ir.TensorProtocol:
        """A tensor of these elements."""
        tensor = ir.tensor(array, dtype=dtype, name=name)
        if tensor.dtype == ir.DataType.STRING or tensor.nbytes < _LEAST:
            return tensor
        if self._in_memory + tensor.nbytes <= IN_MEMORY:
            self._in_memory += tensor.nbytes
            return tensor
        try:
            return self._written(tensor)
        except OSError:  # no room for temporary files: memory may have some
            return tensor

    def _written(self, tensor: ir.TensorProtocol) -> ScratchTensor:
        if self._file is None:
            self._file = _ScratchFile()
        file = self._file.file
        file.seek(0, os.SEEK_END)
        offset = file.tell() + -file.tell() % _PAGE
        file.seek(offset)
        file.write(tensor.tobytes())
        file.flush()
        kept = ScratchTensor(
            str(self._file.path),
            offset,
            tensor.nbytes,
            tensor.dtype,
            shape=tensor.shape,  # type: ignore[arg-type]
            name=tensor.name or "",
        )
        kept.scratch = self._file
        return kept
