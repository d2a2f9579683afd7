"""Saturated e-graphs in files: arrays and JSON in one `.npz`, never pickles.

Only the snapshots are stored, with the model (or, if its weights are in files of their own, its path): what
the terms stand for follows from the model, by the same stages as before.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.validation import check_account, check_snapshot
from egraph_opt.errors import ModelReadError
from egraph_opt.foreign_text import parsed_json
from egraph_opt.graph.content import tensor_key
from egraph_opt.model.files import replacing
from egraph_opt.operators.stored_values import decode, encode

VERSION = 2
_ARRAYS = ("node_class", "child_ptr", "child", "made_by", "term_node")


@dataclass(frozen=True)
class StoredRegion:
    """A saturated graph, without its ONNX nodes.

    Attributes:
        terms: the `fingerprint` of the terms that the snapshot is of.
    """

    snapshot: Snapshot
    saturation: SaturationReport
    terms: str


def fingerprint(lowered: Lowered) -> str:
    """Equal for graphs of the same terms, with the same facts and constants."""
    tensors = [lowered.constants.tensors.get(value) for value in lowered.leaves]
    leaves = [None if tensor is None else tensor_key(tensor) for tensor in tensors]
    content = repr((lowered.opset, lowered.terms, lowered.facts, leaves))
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Stored:
    """What a file holds.

    Attributes:
        model: the serialized model, or None where `path` says where it is.
        header: settings, as JSON has them.
        regions: in the order in which graphs are visited.
    """

    model: bytes | None
    path: str | None
    header: Mapping[str, Any]
    regions: Sequence[StoredRegion]


def _pool(values: Sequence[Any]) -> tuple[list[Any], np.ndarray[Any, Any]]:
    """Distinct values, and per value its index among them."""
    index: dict[str, int] = {}
    distinct: list[Any] = []
    indices = []
    for value in values:
        key = repr(value)
        if key not in index:
            index[key] = len(distinct)
            distinct.append(encode(value))
        indices.append(index[key])
    return distinct, np.array(indices, dtype=np.int32)


def _json(value: Any) -> np.ndarray[Any, Any]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def write_saturated(target: str | os.PathLike[str], stored: Stored) -> Path:
    """Write a file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    arrays: dict[str, Any] = {}
    described = []
    for k, region in enumerate(stored.regions):
        snapshot = region.snapshot
        for name in _ARRAYS:
            arrays[f"{k}.{name}"] = getattr(snapshot, name)
        tables = {}
        for name in ("operator", "attributes", "facts"):
            tables[name], arrays[f"{k}.{name}"] = _pool(getattr(snapshot, name))
        account = dataclasses.asdict(dataclasses.replace(region.saturation, record=None))
        described.append(
            {"tables": tables, "laws": snapshot.laws, "saturation": account, "terms": region.terms}
        )
    header = {"version": VERSION, "path": stored.path, "header": stored.header, "regions": described}
    arrays["json"] = _json(header)
    if stored.model is not None:
        arrays["model"] = np.frombuffer(stored.model, dtype=np.uint8)
    path = Path(target)
    with replacing(path) as file:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        file.write(buffer.getvalue())
    return path


_UNREADABLE = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError),
    *(MemoryError, NotImplementedError, RuntimeError),
)
"""What numpy, its decompression, and our reading of what is inside raise on any other file."""


def read_saturated(source: str | os.PathLike[str]) -> Stored:
    """Read a file that `write_saturated` wrote.

    Raises:
        ModelReadError: it is no such file, or of another version, or its parts do not go together.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            return _stored(_arrays(archive, os.path.getsize(source)))
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelReadError(f"{source}: not a saturated model: {reason}") from error


FREELY, MOST_TIMES = 2**26, 64
"""Bytes that a file may inflate to whatever its size, and above that how many times its size."""


def _arrays(archive: zipfile.ZipFile, size: int) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a file, whose sizes are looked at before anything is inflated."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > max(FREELY, MOST_TIMES * size):
        raise ValueError(f"its {size} bytes would inflate to {total}")
    return {member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in members}


def _array(content: bytes) -> np.ndarray[Any, Any]:
    """One array in NumPy's format: integers in one row, as many as there are bytes of."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(
        version
    )
    if read is None:
        raise ValueError(f"an array in format {version}")
    shape, _, dtype = read(file)
    start = file.tell()
    if dtype.kind not in "iu" or len(shape) != 1 or shape[0] * dtype.itemsize != len(content) - start:
        raise ValueError(f"an array of {dtype} and shape {shape} in {len(content) - start} bytes")
    return np.frombuffer(content, dtype=dtype, offset=start)


def _stored(arrays: Mapping[str, np.ndarray[Any, Any]]) -> Stored:
    if "json" not in arrays:
        raise ValueError("it has no description")
    described = parsed_json(arrays["json"].tobytes())
    if described["version"] != VERSION:
        raise ValueError(
            f"version {described['version']}, this release reads {VERSION}; saturate the model again"
        )
    regions = []
    for k, entry in enumerate(described["regions"]):
        columns: dict[str, Any] = {name: arrays[f"{k}.{name}"].astype(np.int32) for name in _ARRAYS}
        for name in ("operator", "attributes", "facts"):
            distinct = [decode(value) for value in entry["tables"][name]]
            places = arrays[f"{k}.{name}"]
            if places.size and not 0 <= int(places.min()) <= int(places.max()) < len(distinct):
                raise ValueError(f"{name} beyond the {len(distinct)} that there are")
            columns[name] = tuple(distinct[i] for i in places.tolist())
        snapshot = Snapshot(laws=tuple(entry["laws"]), **columns)
        check_snapshot(snapshot)
        account = dict(entry["saturation"])
        lists = ("dropped", "raised", "rested", "by_round")
        account |= {name: tuple(account.get(name, ())) for name in lists}
        check_account(account)
        regions.append(StoredRegion(snapshot, SaturationReport(**account), entry["terms"]))
    model = arrays["model"].tobytes() if "model" in arrays else None
    return Stored(model, described["path"], described["header"], regions)
