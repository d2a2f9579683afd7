"""Writing models.

Writing is atomic, and puts back what is no part of a graph: the interface as it was declared, opset imports,
metadata, training information and quantization annotations.

The file that the weights of a model are written to, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import onnx_ir as ir
from onnx import ModelProto

from egraph_opt.errors import EgraphOptError, OutputError
from egraph_opt.model import external_data
from egraph_opt.model.commits import named_by_others, replacing_model
from egraph_opt.model.external_data import SMALLEST, exchange, external_tensor, replaced, tensors_in
from egraph_opt.model.files import read_bytes
from egraph_opt.model.input_shapes import fix_output_shapes
from egraph_opt.model.metadata import restore_metadata
from egraph_opt.model.reading import LoadedModel, innermost, original_proto, reread
from egraph_opt.model.streams import end_of_links, is_stream, refused

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
        proto = ir.serde.serialize_model(model)
    except (ir.serde.SerdeError, TypeError, ValueError) as error:
        raise EgraphOptError(f"{like.source}: the result cannot be serialized: {innermost(error)}") from error
    inferred = {info.name: info.type for info in proto.graph.output}
    restore_metadata(proto, like.metadata)
    if like.input_shapes:
        fix_output_shapes(proto, inferred)
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
    model keeps its weights until the new one takes its place; then they are removed, in place as well: of the
    files of the input's weights those of such a name that no other model of the folder names.  What is no
    regular file is written through, and gets all weights; of a link what it leads to is replaced.

    Args:
        model: the graph; in place its weights are those of the new file from then on, else it is not changed.
        path: of the file to write; one that exists is replaced.
        like: what the graph was made from.
        proto: what `to_proto` made of the graph, which is then not serialised again.
        in_place: allow `path` to be the file that the model was read from.

    Returns:
        The path.

    Raises:
        OutputError: `path` is the input (without `in_place`), a directory, or cannot be written.
    """
    target = _check_target(Path(path), like, in_place)
    moved: Moved | None = None
    try:
        apart, kept = _needs_data_file(model, like) and not is_stream(target), _kept(like, target)
        if apart and not _same_file(target.parent, Path(path).parent):
            raise OutputError(
                f"{path}: leads to another folder, and its weights have to be beside it: name {target}"
            )
        replaced_weights = like.data_files if like.path and _same_file(target, like.path) else frozenset()
        with replacing_model(target, with_data=apart, keep=kept, weights=replaced_weights) as new:
            if new.weights is None:
                new.file.write(in_one_file(model, like, proto))
            else:
                moved = Moved(new.weights, new.name, _alignments(model))
                with replaced(model, moved):
                    new.file.write(_bytes(to_proto(model, like, embed=False)))
            if goes := not like.data_files <= kept:
                exchange(model, lambda tensor: _in_memory(tensor) if tensor.nbytes < SMALLEST else tensor)
        if goes and moved is not None:
            exchange(model, moved.to(target.parent))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return Path(path)


def in_one_file(model: ir.Model, like: LoadedModel, proto: ModelProto | None = None) -> bytes:
    """The bytes of an optimized graph with all weights in it; raises OutputError where these are too many."""
    found = to_proto(model, like) if proto is None else proto
    if external_data.external_tensors(found):
        raise OutputError(
            f"{like.source}: more than 2 GB of weights do not fit into one file: name a new file"
        )
    return _bytes(found)


def original_in_one_file(like: LoadedModel) -> bytes:
    """As `in_one_file`, of the model as it was read: byte by byte, where it was in one file."""
    if isinstance(like.original, Path) and not like.external:
        return read_bytes(like.original)
    return in_one_file(like.model, like, to_original_proto(like))


def _kept(like: LoadedModel, target: Path) -> frozenset[Path]:
    """Of the files that the input is in those that stay when the model at `target` is replaced.

    In place the weights of the input are those of the old model, which go where they are nobody else's.
    """
    inputs = like.data_files | ({like.path} if like.path is not None else set())
    if like.path is None or not _same_file(target, like.path):
        return inputs
    return frozenset(file for file in inputs if named_by_others(file, target))


def _needs_data_file(model: ir.Model, like: LoadedModel) -> bool:
    sizes = [tensor.nbytes for tensor in external_data.tensors_in(model)]
    apart = like.external or external_data.is_external(model) or sum(sizes) > EMBEDDED_LIMIT
    return apart and max(sizes, default=0) >= external_data.SMALLEST


def _bytes(proto: ModelProto) -> bytes:
    return bytes(proto.SerializeToString(deterministic=True))


def write_original(path: str | os.PathLike[str], *, like: LoadedModel, in_place: bool = False) -> Path:
    """Write the model as it was read, for when nothing was found or the result was wrong; see `write_model`.

    Without external data, the file is the same byte by byte; in place nothing happens.
    """
    target = _check_target(Path(path), like, in_place)
    if isinstance(like.original, Path) and _same_file(target, like.original):
        return Path(path)
    if like.external:
        return write_model(reread(like).model, path, like=like, in_place=in_place)
    try:
        with replacing_model(target, with_data=False, keep=_kept(like, target)) as new:
            new.file.write(original_in_one_file(like))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    return Path(path)


def _same_file(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def check_target(name: Path, source: Path | None, *, in_place: bool = False) -> Path:
    """What is written by that name; OutputError where no model made from `source` can, or may, be there."""
    try:
        target = end_of_links(name)
    except OSError as error:
        raise OutputError(f"{name}: {error.strerror or error}; name a file") from error
    if target.is_dir():
        raise OutputError(f"{name}: is a directory; give the name of a file in it")
    if not target.parent.is_dir():
        raise OutputError(f"{name}: there is no folder {str(target.parent)!r}")
    if reason := refused(target):
        raise OutputError(f"{name}: {reason}; name a file")
    if not in_place and source is not None and _same_file(target, source):
        raise OutputError(f"{name}: is the input itself; name another file, or ask for --in-place")
    return target


def _check_target(name: Path, like: LoadedModel, in_place: bool) -> Path:
    target = check_target(name, like.path, in_place=in_place)
    if any(_same_file(target, file) for file in like.data_files):
        raise OutputError(f"{name}: holds the weights of the input; name another file")
    return target


_PAGE = 4096
_ALIGNED_FROM = 2**20
_LARGEST_ALIGNMENT = 2**16
"""That of mappings on Windows; offsets are multiples of more only by chance."""


@dataclass
class Moved:
    """Writes the larger tensors of a model to `file`, and answers external tensors there.

    Tensors that share a place in the input's data, or are one object, share it in the output.  Small external
    tensors are taken into the model.
    """

    file: BinaryIO
    location: str
    alignments: Mapping[tuple[str, bool], int]
    places: dict[object, tuple[int, int]] = field(default_factory=dict)

    def __call__(self, tensor: ir.TensorProtocol) -> ir.TensorProtocol:
        if tensor.dtype == ir.DataType.STRING:
            return tensor
        if tensor.nbytes < SMALLEST:
            return _in_memory(tensor)
        key: object = id(tensor)
        if isinstance(tensor, ir.ExternalTensor):
            key = (tensor.path, tensor.offset, tensor.nbytes)
        if key not in self.places:
            self.places[key] = _append(tensor, self.file, self.alignments.get(_group(tensor), 1))
        return external_tensor(tensor, self.location, *self.places[key])

    def to(self, folder: Path) -> Moved:
        """The same from where the folder is that they are in."""
        return replace(self, location=str(folder.resolve() / self.location))


def _in_memory(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
    """A tensor whose elements are in no file."""
    if not isinstance(tensor, ir.ExternalTensor):
        return tensor
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
