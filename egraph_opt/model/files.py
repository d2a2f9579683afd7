"""Files of models: their bytes on the way in, and replacing them in one step on the way out."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial, reduce
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import ModelProto

from egraph_opt.errors import EgraphOptError, InvalidModelError, ModelReadError, OutputError
from egraph_opt.model.locks import ending_cleanly, free_name, left_over, new_locked_file
from egraph_opt.model.streams import end_of_links, is_stream, read_stream, written_through

TOKEN = "[a-z0-9_]{8}"
"""What tells the temporary files of one target apart; also those of earlier releases."""

_TEMPORARY = ".tmp"


def read_bytes(path: Path) -> bytes:
    """The bytes of a model's file; raises ModelReadError where there is no such thing."""
    if path.is_dir():
        raise ModelReadError(f"{path}: is a directory; give the .onnx file in it")
    data = content_of(path, ModelReadError)
    if not data:
        raise ModelReadError(f"{path}: the file is empty")
    return data


def content_of(path: Path, failure: type[EgraphOptError]) -> bytes:
    """The bytes of any file; raises an error of the kind given where they cannot be read."""
    try:
        return read_stream(path) if is_stream(path) else path.read_bytes()
    except FileNotFoundError:
        raise failure(f"{path}: there is no such file") from None
    except OSError as error:
        raise failure(f"{path}: cannot be read: {error.strerror or error}") from None


def parse_model(data: bytes, source: str) -> ModelProto:
    """A ModelProto from its bytes; raises ModelReadError, which says whether they are cut off."""
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        kept = _whole_fields(data)
        if kept == len(data):
            raise ModelReadError(
                f"{source}: the file is damaged, or its bodies are nested deeper than protobuf reads:"
                " a hundred messages within each other, which are some thirty bodies"
            ) from None
        if kept:
            raise ModelReadError(
                f"{source}: the file is truncated or damaged: its {len(data)} bytes end inside a field"
                f" that starts at byte {kept}"
            ) from None
        raise ModelReadError(f"{source}: is no ONNX model: the file is not a protobuf") from None
    if not proto.HasField("graph"):
        if not proto.ir_version and not proto.opset_import:
            raise ModelReadError(f"{source}: is no ONNX model: it has neither a version nor a graph")
        raise InvalidModelError(f"{source}: the model has no graph")
    return proto


def _whole_fields(data: bytes) -> int:
    """How many bytes of `data` are whole fields of a ModelProto; 0 if it does not begin as one."""
    known = {descriptor.number for descriptor in ModelProto.DESCRIPTOR.fields}
    position = 0
    while position < len(data):
        tag, after = _varint(data, position)
        if tag is None or tag >> 3 not in known:
            return position
        if tag & 7 == 0:
            value, after = _varint(data, after)
            if value is None:
                return position
        elif tag & 7 == 2:
            length, after = _varint(data, after)
            if length is None or after + length > len(data):
                return max(position, 1)
            after += length
        else:
            return position
        position = after
    return position


def _varint(data: bytes, position: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            return None, position
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    return None, position


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends well, and vanishes when it does not.

    It is written in the same folder, flushed to the disk, and renamed; whoever has the old file open keeps
    it.  What a killed process has left is removed first.  A stream is written through, and of a link what it
    leads to is replaced.
    """
    path = end_of_links(path)
    if is_stream(path):
        with written_through(path) as stream:
            yield stream
        return
    with ending_cleanly(partial(clear_leftovers, path)):
        clear_leftovers(path)
        with in_place_of(path) as (file, _):
            yield file


@contextmanager
def in_place_of(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """As `replacing`, but nothing else; the temporary file, locked until it is renamed, and its path."""
    temporary = free_name(path.parent, f".{path.name}.", _TEMPORARY)
    file = None
    try:
        file, mode = new_locked_file(temporary), mode_of(path)
        os.chmod(temporary, mode | OWN)
        yield file, temporary
        file.flush()
        os.fsync(file.fileno())
        os.chmod(temporary, mode)
        if os.name == "nt":  # where an open file cannot be renamed
            file.close()
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        if file is not None:
            file.close()


def sync_folder(folder: Path) -> None:
    """Renamed files of a folder have their new names also after the power fails."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clear_leftovers(path: Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote `path`."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{TOKEN}{re.escape(_TEMPORARY)}")
    with suppress(OSError):
        for file in left_over([file for file in path.parent.iterdir() if pattern.fullmatch(file.name)]):
            file.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


OWN = 0o600
"""What the owner may do with a file while it is written: what a killed process leaves is removed."""


def mode_of(*paths: Path) -> int:
    """The permissions that all of the files have that are replaced, or those of any new file."""
    modes = [path.stat().st_mode & 0o777 for path in paths if path.exists()]
    if modes:
        return reduce(operator.and_, modes)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
