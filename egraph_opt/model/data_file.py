"""The file that the weights of a model are written to, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import onnx_ir as ir

from egraph_opt.model.external_data import SMALLEST, external_tensor, replaced, tensors_in

_PAGE = 4096
_ALIGNED_FROM = 2**20
_LARGEST_ALIGNMENT = 2**16
"""That of mappings on Windows; offsets are multiples of more only by chance."""


@contextmanager
def unloaded(model: ir.Model, file: BinaryIO, location: str) -> Iterator[None]:
    """Write the larger tensors of a model to `file`; while it lasts, they are external tensors there.

    Tensors that share a place in the input's data, or are one object, share it in the output.  Small external
    tensors are taken into the model.
    """
    places: dict[object, tuple[int, int]] = {}
    alignments = _alignments(model)

    def moved(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
        if tensor.dtype == ir.DataType.STRING:
            return tensor
        if tensor.nbytes < SMALLEST:
            return _in_memory(tensor) if isinstance(tensor, ir.ExternalTensor) else tensor
        key: object = id(tensor)
        if isinstance(tensor, ir.ExternalTensor):
            key = (tensor.path, tensor.offset, tensor.nbytes)
        if key not in places:
            places[key] = _append(tensor, file, alignments.get(_group(tensor), 1))
        return external_tensor(tensor, location, *places[key])

    with replaced(model, moved):
        yield


def _in_memory(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
    return ir.Tensor(
        tensor.numpy().copy(),
        dtype=tensor.dtype,
        name=tensor.name,
        doc_string=tensor.doc_string,
        metadata_props=dict(tensor.metadata_props),
    )


def _group(tensor: ir.TensorProtocol) -> tuple[str, bool]:
    """Tensors of a file that are aligned alike: writers treat large ones in their own way."""
    path = tensor.path if isinstance(tensor, ir.ExternalTensor) else ""
    return path, tensor.nbytes >= _ALIGNED_FROM


def _alignments(model: ir.Model) -> dict[tuple[str, bool], int]:
    """By group the power of two that all offsets in the input's files are multiples of."""
    found: dict[tuple[str, bool], int] = {}
    for tensor in tensors_in(model):
        if isinstance(tensor, ir.ExternalTensor) and tensor.offset:
            group = _group(tensor)
            found[group] = min(found.get(group, _LARGEST_ALIGNMENT), tensor.offset & -tensor.offset)
    return found


def _append(tensor: ir.TensorProtocol, file: BinaryIO, alignment: int) -> tuple[int, int]:
    """Write a tensor at the end of a file; its offset and length there.  Large ones begin on a page."""
    if tensor.nbytes >= _ALIGNED_FROM:
        alignment = max(alignment, _PAGE)
    file.write(b"\0" * (-file.tell() % alignment))
    offset = file.tell()
    if hasattr(tensor, "tofile"):
        tensor.tofile(file)  # between files the kernel copies, where it can
    else:
        file.write(tensor.tobytes())
    return offset, file.tell() - offset
