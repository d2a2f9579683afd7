"""The journal of a sweep: a line for each batch that is done, so that a sweep goes on where it was killed.

The first line says of what sweep it is.  Whatever ends a process, a batch is in the file whole or not at all:
a last line that is cut off is taken away before the next is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import IO, Any

from egraph_opt.errors import RunsError
from egraph_opt.foreign_text import parsed_json
from egraph_opt.lab.sweep.work import Done, RunRow
from egraph_opt.model.files import replacing
from egraph_opt.model.streams import is_stream

FORMAT = "egraph-opt sweep"
VERSION = 1

COLUMNS = tuple(entry.name for entry in fields(RunRow))

MOVE = "move it away, or name another file with -o"
"""What to do with a journal that is of no use here."""


class Journal:
    """A journal that is open: what it has, and a way to add to it.  See `open_journal`."""

    def __init__(self, path: Path, file: IO[bytes], done: dict[int, Done]) -> None:
        self.path, self.done, self._file = path, done, file

    def add(self, batch: Done) -> None:
        """Keep a batch, unless it is there: workers may have answered it twice.

        Raises:
            RunsError: the disk is full, or does not take it; what was there before is whole.
        """
        if batch.batch in self.done:
            return
        entry = {"batch": batch.batch, "rows": [astuple(row) for row in batch.rows]}
        before = self._file.tell()
        try:
            _write_all(self._file, json.dumps(entry).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(before)
            self._file.seek(before)
            reason = f"{error.strerror or error}: the runs until here are kept"
            raise RunsError(f"{self.path}: cannot be written: {reason}") from None
        self.done[batch.batch] = batch

    def rows(self) -> list[RunRow]:
        """The rows that there are, by number."""
        return sorted((row for done in self.done.values() for row in done.rows), key=lambda row: row.number)


@contextmanager
def open_journal(path: Path, digests: Mapping[str, str], runs: int) -> Iterator[Journal]:
    """Begin a journal, or go on with one.

    Args:
        digests: what the answers depend on; has to be what it was when the journal was begun.

    Raises:
        RunsError: it is of another sweep or version, damaged, in use, or cannot be written.
    """
    header = {"format": FORMAT, "version": VERSION, "digests": dict(digests), "runs": runs}
    with _opened(path, header) as file:
        _lock(file, path)
        yield Journal(path, file, _read(file, path, digests))


def _opened(path: Path, header: Mapping[str, Any]) -> IO[bytes]:
    """The file, which has at least its first line."""
    if is_stream(path):
        raise RunsError(f"{path}: is no file that can be read again: name another with -o")
    try:
        if not path.exists():
            with replacing(path) as new:
                new.write(json.dumps(header).encode() + b"\n")
        return open(path, "r+b", buffering=0)
    except OSError as error:
        raise RunsError(f"{path}: cannot be written: {error.strerror or error}") from None


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep others from writing it, where the system can: the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunsError(f"{path}: another process is making these runs: wait for it, or end it") from None


def _write_all(file: IO[bytes], data: bytes) -> None:
    """Write to a file without a buffer, which may take a part at a time."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _read(file: IO[bytes], path: Path, digests: Mapping[str, str]) -> dict[int, Done]:
    """The batches in a journal, which is cut off behind the last whole one."""
    *lines, _ = file.read().split(b"\n")
    _check_header(_parsed(lines[0] if lines else b"", path, 1), path, digests)
    done: dict[int, Done] = {}
    for number, line in enumerate(lines[1:], start=2):
        entry = _parsed(line, path, number)
        try:
            found = Done(entry["batch"], tuple(RunRow(*row) for row in entry["rows"]))
        except (KeyError, TypeError):
            raise _damaged(path, number) from None
        if type(found.batch) is not int or not all(map(_is_row, found.rows)):
            raise _damaged(path, number)
        done.setdefault(found.batch, found)
    whole = sum(len(line) + 1 for line in lines)
    file.truncate(whole)
    file.seek(whole)
    return done


def _check_header(header: Mapping[str, Any], path: Path, digests: Mapping[str, str]) -> None:
    if header.get("format") != FORMAT:
        raise RunsError(f"{path}:1: is no journal of a sweep: {MOVE}")
    if header.get("version") != VERSION:
        raise RunsError(
            f"{path}:1: is of version {header.get('version')}, this release reads {VERSION}: finish it with"
            f" the release that began it, or {MOVE}"
        )
    known = header.get("digests", {})
    differing = [name for name, digest in digests.items() if known.get(name) != digest]
    if differing:
        told = " and ".join(differing)
        raise RunsError(f"{path}:1: is of another sweep: {told} has changed since: {MOVE}")


def _parsed(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        found = parsed_json(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _damaged(path, number)
    return found


def _is_row(row: RunRow) -> bool:
    """Whether every cell is of the kind that its column has; a whole number may stand for a float."""
    return all(
        type(value) is type(usual) or (type(usual) is float and type(value) is int)
        for value, usual in zip(astuple(row), astuple(RunRow(0)), strict=True)
    )


def _damaged(path: Path, number: int) -> RunsError:
    if number == 1:
        return RunsError(f"{path}:1: is no journal of a sweep: {MOVE}")
    return RunsError(f"{path}:{number}: is damaged: {MOVE}")
