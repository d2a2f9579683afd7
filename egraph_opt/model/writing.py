"""Writing models.

Writing is atomic, and puts back what is no part of a graph: the interface as it was declared, opset imports,
metadata, training information and quantization annotations.

The file that the weights of a model are written to, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import onnx_ir as ir
from onnx import ModelProto

from egraph_opt.errors import EgraphOptError, OutputError
from egraph_opt.model import external_data
from egraph_opt.model.commits import replacing_model
from egraph_opt.model.external_data import SMALLEST, external_tensor, replaced, tensors_in
from egraph_opt.model.files import read_bytes
from egraph_opt.model.metadata import restore_metadata
from egraph_opt.model.reading import LoadedModel, innermost, original_proto, reread

EMBEDDED_LIMIT = 2**31 - 2**24
"""Bytes of weights up to which a model is one file: protobuf's 2 GB, less room for the graph itself."""


def to_proto(model: ir.Model, like: LoadedModel, *, embed: bool = True) -> ModelProto:
    """An optimized graph as a ModelProto, in the metadata of the model that was read.

    Args:
        model: the graph.
        like: what it was made from: interface, opsets, metadata and the like are taken from there.
        embed: load external data into the result, unless that is more than 2 GB; else, and above that,
        tensors
            that are in files stay there, by absolute locations.

    Raises:
        EgraphOptError: onnx_ir cannot serialize the graph.
    """
    try:
        proto = ir.to_proto(model)
    except (ir.serde.SerdeError, TypeError, ValueError) as error:
        raise EgraphOptError(f"{like.source}: the result cannot be serialized: {innermost(error)}") from error
    restore_metadata(proto, like.metadata)
    if embed and sum(tensor.nbytes for tensor in external_data.tensors_in(model)) <= EMBEDDED_LIMIT:
        external_data.embed(proto)
    return proto


def to_original_proto(like: LoadedModel) -> ModelProto:
    """The model as it was read, as a ModelProto of its own, with weights as `to_proto` has them."""
    proto = original_proto(like)
    if external_data.bytes_of(proto) <= EMBEDDED_LIMIT:
        external_data.embed(proto)
    return proto


def write_model(
    model: ir.Model,
    path: str | os.PathLike[str],
    *,
    like: LoadedModel,
    proto: ModelProto | None = None,
    in_place: bool = False,
) -> Path:
    """Write an optimized graph to a file, in the metadata of the model that was read.

    The file appears whole or not at all.  Weights go into a second file beside it, where the input had them
    in one or where they have more than 2 GB: `<name>.data`, or `<name>.<n>.data` where that exists.  The old
    model keeps its weights until the new one takes its place; then they are removed.  The files of the
    input's weights are neither written to nor removed, not even in place.

    Args:
        model: the graph; it is not changed.
        path: of the file to write; one that exists is replaced.
        like: what the graph was made from.
        proto: what `to_proto` made of the graph, which is then not serialised again.
        in_place: allow `path` to be the file that the model was read from.

    Returns:
        The path.

    Raises:
        OutputError: `path` is the input (without `in_place`), a directory, or cannot be written.
    """
    target = Path(path)
    _check_target(target, like, in_place)
    try:
        apart, inputs = _needs_data_file(model, like), _inputs(like)
        with replacing_model(target, with_data=apart, keep=inputs) as new:
            if new.weights is None:
                new.file.write(_bytes(to_proto(model, like) if proto is None else proto))
            else:
                with unloaded(model, new.weights, new.name):
                    new.file.write(_bytes(to_proto(model, like, embed=False)))
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error
    return target


def _needs_data_file(model: ir.Model, like: LoadedModel) -> bool:
    sizes = [tensor.nbytes for tensor in external_data.tensors_in(model)]
    apart = like.external or external_data.is_external(model) or sum(sizes) > EMBEDDED_LIMIT
    return apart and max(sizes, default=0) >= external_data.SMALLEST


def _bytes(proto: ModelProto) -> bytes:
    return bytes(proto.SerializeToString(deterministic=True))


def _inputs(like: LoadedModel) -> frozenset[Path]:
    """The files that the input is in."""
    return like.data_files | ({like.path} if like.path is not None else set())


def write_original(path: str | os.PathLike[str], *, like: LoadedModel, in_place: bool = False) -> Path:
    """Write the model as it was read, for when nothing was found or the result was wrong; see `write_model`.

    Without external data, the file is the same byte by byte; in place nothing happens.
    """
    target = Path(path)
    _check_target(target, like, in_place)
    if isinstance(like.original, Path) and _same_file(target, like.original):
        return target
    if like.external:
        return write_model(reread(like).model, target, like=like, in_place=in_place)
    try:
        with replacing_model(target, with_data=False, keep=_inputs(like)) as new:
            new.file.write(
                read_bytes(like.original) if isinstance(like.original, Path) else _bytes(like.original)
            )
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}") from error
    return target


def _same_file(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def check_target(target: Path, source: Path | None, *, in_place: bool = False) -> None:
    """Raise OutputError where a model made from `source` cannot, or may not, be written to `target`."""
    if target.is_dir():
        raise OutputError(f"{target}: is a directory; give the name of a file in it")
    if not target.parent.is_dir():
        raise OutputError(f"{target}: there is no folder {str(target.parent)!r}")
    if not in_place and source is not None and _same_file(target, source):
        raise OutputError(f"{target}: is the input itself; name another file, or ask for --in-place")


def _check_target(target: Path, like: LoadedModel, in_place: bool) -> None:
    check_target(target, like.path, in_place=in_place)
    if any(_same_file(target, file) for file in like.data_files):
        raise OutputError(f"{target}: holds the weights of the input; name another file")


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
