"""A model and the file of its weights take the place of an older pair in one step.

The new weights get a name that no file has, then the model is renamed, which is the step, then the weights
that only the old model used are removed.  A journal beside the model names both, so that the next run
finishes what a killed one has begun: whichever of them the model that is there does not use goes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import ModelProto

from egraph_opt.foreign_text import parsed_json
from egraph_opt.model.external_data import locations
from egraph_opt.model.files import OWN, TOKEN, clear_leftovers, in_place_of, mode_of
from egraph_opt.model.locks import ending_cleanly, left_over, new_locked_file
from egraph_opt.model.mapping import mapped_file
from egraph_opt.model.streams import end_of_links, is_stream, written_through

_JOURNAL = ".journal"


@dataclass(frozen=True)
class Replacement:
    """What is being written.

    Attributes:
        file: of the model.
        weights: the file of its weights, where it has one.
        name: what the model calls that file.
    """

    file: BinaryIO
    weights: BinaryIO | None
    name: str


@contextmanager
def replacing_model(
    path: Path, *, with_data: bool, keep: frozenset[Path], weights: frozenset[Path] = frozenset()
) -> Iterator[Replacement]:
    """New files that take the place of a model and its weights when the block ends well, in one step.

    A link to a model stays, and its model is replaced, with its weights beside it.

    Args:
        with_data: the new model has weights in a file of their own; not of a stream.
        keep: files that are not removed, though the model at `path` has its weights there: the input's.
        weights: files of any name that it has its weights in: who may not read them, or the model, may not
            read the new ones.
    """
    path = end_of_links(path)
    if is_stream(path):
        with written_through(path) as stream:
            yield Replacement(stream, None, "")
        return
    with ending_cleanly(partial(finish_killed_runs, path)):
        finish_killed_runs(path)
        old = [file.name for file in _used_data(path) or () if not any(_same(file, other) for other in keep)]
        data = None
        try:
            with in_place_of(path) as (file, temporary):
                mode = mode_of(path, *weights, *(path.parent / name for name in old))
                data = _new_data_file(path, mode | OWN) if with_data else None
                name = Path(data.name).name if data is not None else ""
                journal = temporary.with_suffix(_JOURNAL)
                if name or old:
                    _write_journal(journal, name, old)
                yield Replacement(file, data, name)
                if data is not None:
                    data.flush()
                    os.fsync(data.fileno())
                    os.chmod(data.name, mode)
        finally:
            if data is not None:
                data.close()
            finish_killed_runs(path)


def _same(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def _write_journal(journal: Path, new: str, old: list[str]) -> None:
    with journal.open("x", encoding="utf-8") as file:
        json.dump({"new": new, "old": old}, file)
        file.flush()
        os.fsync(file.fileno())


def _remove(folder: Path, names: list[str]) -> None:
    for name in names:
        with suppress(OSError):  # somebody has it open, as Windows has it: it stays
            (folder / name).unlink()


def _is_data_name(path: Path, name: str) -> bool:
    """Whether weights of a model at `path` are written under this name."""
    return re.fullmatch(rf"{re.escape(path.name)}(\.[0-9]+)?\.data", name) is not None


def _new_data_file(path: Path, mode: int) -> BinaryIO:
    """`<path>.data`, or the first `<path>.<n>.data` that does not exist; locked, with these permissions."""
    number = 0
    while True:
        candidate = path.with_name(f"{path.name}{f'.{number}' if number else ''}.data")
        try:
            file = new_locked_file(candidate)
        except FileExistsError:
            number += 1
            continue
        os.chmod(candidate, mode)
        return file


def _data_files(path: Path) -> list[Path]:
    """All files that have the name of weights of a model at `path`."""
    return [file for file in path.parent.iterdir() if _is_data_name(path, file.name)]


def named_by_others(data: Path, path: Path) -> bool:
    """Whether another model beside that at `path` has the name of a file of weights in it, or may have it."""
    name = os.fsencode(data.name)
    try:
        others = [file for file in path.parent.glob("*.onnx") if file.is_file() and not _same(file, path)]
        return any(file.stat().st_size and mapped_file(str(file)).find(name) >= 0 for file in others)
    except OSError:
        return True


def _used_data(path: Path) -> list[Path] | None:
    """Of those the files that the model at `path` has its weights in; None where there is no model."""
    model = ModelProto()
    files = _data_files(path)
    try:
        if files:  # a model may be large
            model.ParseFromString(path.read_bytes())
    except (OSError, DecodeError):
        return None
    names = locations(model)
    return [file for file in files if file.name in names]


def _settle(path: Path, journal: Path) -> None:
    """Remove what the model at `path` does not use of the weights that a journal names, and the journal."""
    used = _used_data(path)
    kept = {file.name for file in used or ()}
    new, old = _read_journal(journal)
    unused = [name for name in (new, *(old if used is not None else ())) if name not in kept]
    _remove(path.parent, [name for name in unused if _is_data_name(path, name)])
    with suppress(OSError):
        journal.unlink()


def _read_journal(journal: Path) -> tuple[str, list[str]]:
    """The new weights and the old ones; nothing where it was not written to the end."""
    if journal.is_symlink() or not journal.is_file():  # a pipe would be waited for
        return "", []
    try:
        entry = parsed_json(journal.read_text(encoding="utf-8"))
        return str(entry["new"]), [str(name) for name in entry["old"]]
    except (OSError, ValueError, KeyError, TypeError):
        return "", []


def finish_killed_runs(path: Path) -> None:
    """Finish what killed runs have begun with the model at `path` and its weights."""
    clear_leftovers(path)
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{TOKEN}{re.escape(_JOURNAL)}")
    for journal in [file for file in path.parent.iterdir() if pattern.fullmatch(file.name)]:
        if not journal.with_suffix(".tmp").exists():  # or its process lives
            _settle(path, journal)
    empty = [file for file in _data_files(path) if file.stat().st_size == 0]
    _remove(path.parent, [file.name for file in left_over(empty)])
