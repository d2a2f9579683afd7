"""Weights in files of their own: where they may lie, and how a model refers to them.

Reading keeps them on disk.  The files that the input's weights are in are never written to, since those may
be mapped into memory, and other models may share them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx_ir as ir
from onnx import ModelProto, StringStringEntryProto, TensorProto

from egraph_opt.errors import ExternalDataError, InvalidModelError
from egraph_opt.model.encoding import tensors_of
from egraph_opt.model.mapping import MappedTensor

SMALLEST = 1024
"""Bytes from which on a tensor goes into the data file, where there is one."""


def external_tensors(model: ModelProto) -> list[TensorProto]:
    """The tensors of a model whose data is in another file."""
    return [tensor for tensor in tensors_of(model) if tensor.data_location == TensorProto.EXTERNAL]


def locate(tensor: TensorProto, folders: tuple[Path, ...], source: str) -> tuple[Path, int, int]:
    """The file of an external tensor, and where in it the data starts and ends, in bytes.

    `folders` are where the file may be, the first is what its location is relative to.  They are resolved
    paths; a model that is a symbolic link (as in caches of model hubs) has a second one.

    Raises:
        ExternalDataError: no location, outside the folders, missing, too short.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    what = f"{source}: the data of tensor {tensor.name!r}"
    location = entries.get("location", "")
    if not location:
        raise ExternalDataError(f"{what} is said to be in another file, but not in which")
    start, stated = (_number(entries.get(key, "0"), what) for key in ("offset", "length"))
    try:
        lexical = Path(os.path.normpath(folders[0] / location))
        path = Path(os.path.realpath(lexical))
        is_file = path.is_file()
    except (OSError, ValueError):  # no name that a file can have: too long, or with a NUL
        shown = location if len(location) <= 100 else f"{location[:97]}..."
        raise ExternalDataError(f"{what} is in {shown!r}, which cannot be the name of a file") from None
    inside = any(lexical.is_relative_to(folder) for folder in folders)
    if os.path.isabs(location) or not inside or not any(path.is_relative_to(folder) for folder in folders):
        raise ExternalDataError(f"{what} is in {location!r}, outside the model's folder; move it there")
    if not is_file:
        raise ExternalDataError(f"{what} is missing: there is no file {location!r} beside the model")
    needed = _nbytes(tensor, source)
    if stated and stated != needed:
        raise ExternalDataError(f"{what} has {stated} bytes, but its type and shape need {needed}")
    size = path.stat().st_size
    if start < 0 or start + needed > size:
        raise ExternalDataError(
            f"{what} is cut off: {location!r} has {size} bytes, the tensor ends at {start + needed}"
        )
    return path, start, start + needed


def _number(text: str, what: str) -> int:
    """An offset or a length; digits of other scripts are none."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ExternalDataError(f"{what} has an offset or length that is no number: {text[:30]!r}")
    return int(text)


def _nbytes(tensor: TensorProto, source: str) -> int:
    try:
        bits = ir.DataType(tensor.data_type).bitwidth
    except (ValueError, TypeError):
        raise InvalidModelError(
            f"{source}: tensor {tensor.name!r} has an element type {tensor.data_type} that cannot be external"
        ) from None
    count = 1
    for dim in tensor.dims:
        count *= dim
    return (count * bits + 7) // 8


def pin(model: ModelProto, folders: tuple[Path, ...], source: str) -> frozenset[Path]:
    """Check all external tensors and make their locations absolute, in place; the files they are in.

    onnx_ir maps an absolute location without further checks of its own, which refuse files with hard links.
    """
    files: set[Path] = set()
    for tensor in external_tensors(model):
        path, start, end = locate(tensor, folders, source)
        files.add(path)
        del tensor.external_data[:]
        for key, value in (("location", str(path)), ("offset", str(start)), ("length", str(end - start))):
            tensor.external_data.add(key=key, value=value)
    return frozenset(files)


def _entries(model: ModelProto, key: str) -> list[StringStringEntryProto]:
    """What external tensors have under a key."""
    entries = (entry for tensor in external_tensors(model) for entry in tensor.external_data)
    return [entry for entry in entries if entry.key == key]


def locations(model: ModelProto) -> set[str]:
    """Where the external tensors of a model have their data, as it says."""
    return {entry.value for entry in _entries(model, "location")}


def share_folder(model: ModelProto) -> str | None:
    """Make the locations of pinned external tensors relative, in place; the folder that they are relative to.

    onnxruntime 1.31 refuses absolute locations, and links that lead out of the folder.  None without any.

    Raises:
        ExternalDataError: the files are on several drives.
    """
    entries = _entries(model, "location")
    if not entries:
        return None
    try:
        folder = os.path.commonpath([os.path.dirname(entry.value) for entry in entries])
    except ValueError:
        raise ExternalDataError(
            "the weights are on several drives, where onnxruntime cannot read them: put them into one folder"
        ) from None
    for entry in entries:
        entry.value = Path(entry.value).relative_to(folder).as_posix()
    return str(folder)


def bytes_of(model: ModelProto) -> int:
    """Bytes of a model once the data of its pinned external tensors is in it."""
    lengths = (int(entry.value) for entry in _entries(model, "length"))
    return int(model.ByteSize()) + sum(lengths)


def embed(model: ModelProto) -> None:
    """Load the data of pinned external tensors into a model, in place."""
    for tensor in external_tensors(model):
        entries = {entry.key: entry.value for entry in tensor.external_data}
        with open(entries["location"], "rb") as file:
            file.seek(int(entries.get("offset", "0")))
            data = file.read(int(entries["length"])) if "length" in entries else file.read()
        tensor.raw_data = data
        tensor.ClearField("data_location")
        del tensor.external_data[:]


def _graphs(model: ir.Model) -> Iterator[ir.Graph]:
    yield from model.graphs()
    for function in model.functions.values():
        yield from function.subgraphs()


def _nodes(model: ir.Model) -> Iterator[ir.Node]:
    yield from model.graph.all_nodes()
    for function in model.functions.values():
        yield from function.all_nodes()


def _owned(model: ir.Model) -> Iterator[tuple[ir.Value, ir.TensorProtocol]]:
    for graph in _graphs(model):
        for value in graph.initializers.values():
            if value.const_value is not None:
                yield value, value.const_value


def _attributes(model: ir.Model) -> Iterator[tuple[ir.Node, ir.Attr, tuple[ir.TensorProtocol, ...]]]:
    """The attributes that hold tensors."""
    for node in _nodes(model):
        for attribute in node.attributes.values():
            if attribute.is_ref():
                continue
            if attribute.type == ir.AttributeType.TENSOR:
                yield node, attribute, (attribute.as_tensor(),)
            elif attribute.type == ir.AttributeType.TENSORS:
                yield node, attribute, tuple(attribute.as_tensors())


def tensors_in(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """All initializers and all tensors in attributes, those of bodies and functions too."""
    yield from (tensor for _, tensor in _owned(model))
    for _, _, tensors in _attributes(model):
        yield from tensors


def is_external(model: ir.Model) -> bool:
    """Whether any tensor of the model has its data in a file."""
    return any(isinstance(tensor, ir.ExternalTensor) for tensor in tensors_in(model))


@contextmanager
def replaced(model: ir.Model, new: Callable[[ir.TensorProtocol], ir.TensorProtocol]) -> Iterator[None]:
    """While it lasts, every tensor of the model is what `new` makes of it."""
    values = list(_owned(model))
    attributes = list(_attributes(model))
    try:
        for value, tensor in values:
            value.const_value = new(tensor)
        for node, attribute, tensors in attributes:
            node.attributes[attribute.name] = _with_tensors(attribute, [new(tensor) for tensor in tensors])
        yield
    finally:
        for value, tensor in values:
            value.const_value = tensor
        for node, attribute, _ in attributes:
            node.attributes[attribute.name] = attribute


def external_tensor(tensor: ir.TensorProtocol, location: str, offset: int, length: int) -> ir.ExternalTensor:
    """A tensor like `tensor`, with its data elsewhere."""
    return MappedTensor(
        location,
        offset,
        length,
        tensor.dtype,
        shape=tensor.shape,  # type: ignore[arg-type]
        name=tensor.name or "",
        doc_string=tensor.doc_string,
        metadata_props=dict(tensor.metadata_props),
    )


def _absolute(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
    """A tensor whose file, if it is in one, is named in full; mapped with the others there."""
    if not isinstance(tensor, ir.ExternalTensor):
        return tensor
    return external_tensor(tensor, os.path.realpath(tensor.path), tensor.offset or 0, tensor.nbytes)


def map_files(model: ir.Model) -> None:
    """Read the external tensors of a model through one mapping a file from now on; it is changed."""
    exchange(model, _absolute)


def exchange(model: ir.Model, new: Callable[[ir.TensorProtocol], ir.TensorProtocol]) -> None:
    """Make every tensor of the model what `new` makes of it, where that is another."""
    for value, tensor in list(_owned(model)):
        value.const_value = new(tensor)
    for node, attribute, tensors in list(_attributes(model)):
        found = [new(tensor) for tensor in tensors]
        if any(a is not b for a, b in zip(tensors, found, strict=True)):
            node.attributes[attribute.name] = _with_tensors(attribute, found)


def _with_tensors(attribute: ir.Attr, tensors: list[ir.TensorProtocol]) -> ir.Attr:
    content = tensors[0] if attribute.type == ir.AttributeType.TENSOR else tensors
    return ir.Attr(attribute.name, attribute.type, content, doc_string=attribute.doc_string)


@contextmanager
def pinned(model: ir.Model, source: str) -> Iterator[frozenset[Path]]:
    """While it lasts, the external tensors of the model have absolute locations; yields their files.

    Raises:
        ExternalDataError: a file is missing or too short.
    """
    files: set[Path] = set()
    for tensor in tensors_in(model):
        if isinstance(tensor, ir.ExternalTensor):
            path = Path(os.path.realpath(tensor.path))
            if not path.is_file():
                raise ExternalDataError(
                    f"{source}: the data of tensor {tensor.name!r} is missing: no file {path}"
                )
            if path.stat().st_size < (tensor.offset or 0) + tensor.nbytes:
                raise ExternalDataError(f"{source}: the data of tensor {tensor.name!r} is cut off in {path}")
            files.add(path)

    with replaced(model, _absolute):
        yield frozenset(files)
