"""Names of what is no regular file: links, pipes, devices, and what a process has open.

They are never replaced by a file.  What is written to a stream goes through it, at once and when it is whole;
a link stays, and what it leads to is replaced.  `-` is standard input where something is read, and standard
output where something is written.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_OPEN_FILES = re.compile(r"/dev/(std(in|out|err)|fd/[0-9]+)|/proc/(self|[0-9]+)(/task/[0-9]+)?/fd/[0-9]+")
"""Names of what a process has open; that may be a regular file, whose name this is not."""

STDIO = Path("-")
"""Standard input or output."""

_OWN_FILE = re.compile(r"/dev/fd/([0-9]+)|/proc/self/fd/([0-9]+)")

_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

MOST_READ = 2**31
"""Bytes that are read of what has no size; a model in one file has less."""


def is_stream(path: Path) -> bool:
    """Whether a name leads to something that is neither a regular file nor a folder, or to an open file."""
    if path == STDIO or _OPEN_FILES.fullmatch(os.path.abspath(path)):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_stdout(path: Path | None) -> bool:
    """Whether a name is one of standard output."""
    return path is not None and (path == STDIO or _descriptor(path) == 1)


def _descriptor(path: Path) -> int | None:
    """The number under which this process has a file open, where that is what a name says."""
    name = os.path.abspath(path)
    if name in _STANDARD:
        return _STANDARD[name]
    found = _OWN_FILE.fullmatch(name)
    return int(found[1] or found[2]) if found else None


def end_of_links(path: Path) -> Path:
    """What is written where a name leads to: at the end of links, which stay; raises OSError.

    As in the kernel, where others may plant links (a folder that all may write), those of others are not
    followed.
    """
    seen = 0
    while not is_stream(path) and path.is_symlink():
        link, folder = path.lstat(), path.parent.stat()
        if hasattr(os, "geteuid") and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise OSError("it is a link of another user")
        seen += 1
        if seen > _MOST_LINKS:
            raise OSError("its links lead in a circle")
        path = path.parent / os.readlink(path)
    return path


_MOST_LINKS = 40


def refused(path: Path) -> str:
    """Why nothing is written to a stream; nothing where something may be."""
    if path == STDIO:
        return ""
    mode = path.stat().st_mode if path.exists() else 0
    if stat.S_ISBLK(mode):
        return "is a disk"
    return "is a socket" if stat.S_ISSOCK(mode) else ""


@contextmanager
def written_through(path: Path) -> Iterator[BinaryIO]:
    """A file whose bytes go to a stream when the block ends well; raises OSError."""
    if reason := refused(path):
        raise OSError(f"it {reason}")
    buffer = BytesIO()
    yield buffer
    if path == STDIO:
        sys.stdout.flush()
        sys.stdout.buffer.write(buffer.getbuffer())
        sys.stdout.buffer.flush()
        return
    number = _descriptor(path)
    if number is not None:  # to open a file again would begin anew, and what is printed later overwrite it
        sys.stdout.flush()
        number = os.dup(number)
    with open(path if number is None else number, "wb", buffering=0) as stream:
        left = buffer.getbuffer()
        while left:
            left = left[stream.write(left) :]


def read_stream(path: Path) -> bytes:
    """All bytes of a stream, of which there may be more than of any model: those are cut off."""
    if path == STDIO:
        return sys.stdin.buffer.read(MOST_READ)
    with open(path, "rb") as stream:
        return stream.read(MOST_READ)
