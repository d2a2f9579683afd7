"""Weights in files, read through one mapping a file.

onnx_ir maps the whole file once for every tensor: 240 tensors in 3 GB take 700 GB of address space.
"""

from __future__ import annotations

import mmap
import os
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import onnx_ir as ir

from egraph_opt.forking import lock_across_forks

_MAPPINGS: WeakValueDictionary[tuple[int, int, int, int], mmap.mmap] = WeakValueDictionary()
_LOCK = lock_across_forks()

PACKED_BITS = 8
"""Elements of fewer bits share bytes."""


def mapped_file(path: str) -> mmap.mmap:
    """The bytes of a file, mapped once for all that use them at a time; raises OSError, as `open` does."""
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        with _LOCK:
            mapping = _MAPPINGS.get(key)
            if mapping is None:
                mapping = _MAPPINGS[key] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return mapping


class MappedTensor(ir.ExternalTensor):
    """A tensor in a file at an absolute location; its pages are read when they are used."""

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The elements: a view of the file, except for types that share bytes, which are unpacked."""
        shape = self.shape.numpy()
        if self.size == 0:
            return np.empty(shape, dtype=self.dtype.numpy())
        if self.dtype.bitwidth < PACKED_BITS:
            packed = np.frombuffer(self.content(), dtype=np.uint8)
            return ir.PackedTensor(packed, self.dtype, shape=self.shape).numpy()
        elements = np.dtype(self.dtype.numpy()).newbyteorder("<")
        return np.frombuffer(self.content(), dtype=elements).reshape(shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=bool(copy))

    def content(self) -> memoryview:
        """The bytes in the file, not copied."""
        if self.nbytes == 0:
            return memoryview(b"")
        start = self.offset or 0
        return memoryview(mapped_file(self.path))[start : start + self.nbytes]

    def tobytes(self) -> bytes:
        return bytes(self.content())
