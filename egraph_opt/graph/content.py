"""Which constants are equal: dtype, shape and bytes, read as little as possible.

Large tensors are told apart by a sample of their bytes, and compared whole only where that agrees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from egraph_opt.model.mapping import MappedTensor

SAMPLED_FROM = 2**20
"""Bytes from which on a tensor is not read whole to tell it from others."""

SAMPLES, SAMPLE_BYTES = 16, 256
_BLOCK = 2**24


def tensor_key(tensor: ir.TensorProtocol) -> tuple[int, tuple[int, ...], bytes]:
    """Equal exactly for tensors of equal dtype, shape and bytes; reads all of it."""
    if tensor.dtype == ir.DataType.STRING:
        digest = hashlib.sha256(repr(tensor.numpy().tolist()).encode())
    else:
        digest = hashlib.sha256(tensor_bytes(tensor))
    return int(tensor.dtype), tuple(tensor.shape.numpy()), digest.digest()


def tensor_bytes(tensor: ir.TensorProtocol) -> memoryview:
    """The bytes of a tensor, not copied where it is in a file."""
    return tensor.content() if isinstance(tensor, MappedTensor) else memoryview(tensor.tobytes())


def default_of(graph: ir.Graph, name: str) -> ir.TensorProtocol | None:
    """What an input is where none is given: the constant of its name, where there is one."""
    given = graph.initializers.get(name)
    return None if given is None else given.const_value


@dataclass
class Contents:
    """Keys of tensors, equal exactly for those of equal dtype, shape and bytes among the ones seen."""

    _by_place: dict[Hashable, tuple[ir.TensorProtocol, Hashable]] = field(default_factory=dict)
    _alike: dict[Hashable, list[ir.TensorProtocol]] = field(default_factory=dict)

    def key(self, tensor: ir.TensorProtocol) -> Hashable:
        if tensor.dtype == ir.DataType.STRING or tensor.nbytes < SAMPLED_FROM:
            return tensor_key(tensor)
        kind = int(tensor.dtype), tuple(tensor.shape.numpy())
        place: Hashable = id(tensor)
        if isinstance(tensor, MappedTensor):
            place = (tensor.path, tensor.offset)
        if (place, kind) not in self._by_place:
            # With the tensor, as long as which lives no other one has its identity.
            self._by_place[place, kind] = tensor, self._compared(tensor, kind)
        return self._by_place[place, kind][1]

    def _compared(self, tensor: ir.TensorProtocol, kind: Hashable) -> Hashable:
        content = tensor_bytes(tensor)
        sampled = kind, b"".join(_samples(content))
        alike = self._alike.setdefault(sampled, [])
        number = next((k for k, other in enumerate(alike) if same_bytes(content, tensor_bytes(other))), None)
        if number is None:
            number = len(alike)
            alike.append(tensor)
        return sampled, number


def _samples(content: memoryview) -> Iterator[bytes]:
    """Bytes from the ends and at even distances between."""
    last = len(content) - SAMPLE_BYTES
    for k in range(SAMPLES):
        start = last * k // (SAMPLES - 1)
        yield bytes(content[start : start + SAMPLE_BYTES])


def same_bytes(a: memoryview, b: memoryview) -> bool:
    one, other = np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8)
    return len(one) == len(other) and all(
        np.array_equal(one[start : start + _BLOCK], other[start : start + _BLOCK])
        for start in range(0, len(one), _BLOCK)
    )
