"""Names of what is no regular file: pipes, devices, and what a process has open.

They are never replaced by a file: what is written there goes through them, at once and when it is whole.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_OPEN_FILES = re.compile(r"/dev/(std(in|out|err)|fd/[0-9]+)|/proc/(self|[0-9]+)(/task/[0-9]+)?/fd/[0-9]+")
"""Names of what a process has open; that may be a regular file, whose name this is not."""

MOST_READ = 2**31
"""Bytes that are read of what has no size; a model in one file has less."""


def is_stream(path: Path) -> bool:
    """Whether a name leads to something that is neither a regular file nor a folder, or to an open file."""
    if _OPEN_FILES.fullmatch(os.path.abspath(path)):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refused(path: Path) -> str:
    """Why nothing is written to a stream; nothing where something may be."""
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
    with open(path, "wb", buffering=0) as stream:
        left = buffer.getbuffer()
        while left:
            left = left[stream.write(left) :]


def read_stream(path: Path) -> bytes:
    """All bytes of a stream, of which there may be more than of any model: those are cut off."""
    with open(path, "rb") as stream:
        return stream.read(MOST_READ)
