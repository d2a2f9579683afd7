"""The user's cache folder: what is kept there can always be made again, and the folder be deleted.

It is the user's alone: a folder that others own, read or write is passed over, with a line that says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from glob import glob
from importlib import import_module
from pathlib import Path

_log = logging.getLogger(__name__)

FOLDER_VARIABLE = "EGRAPH_OPT_CACHE"
"""Environment variable: the folder of caches; empty for none at all."""


_refused: set[str] = set()
"""What has been said of folders, each once in a process."""


def cache_folder() -> Path | None:
    """Where caches are kept; None where the environment says that there are none, or others can get there."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named == "":
        return None
    folder = Path(named) if named else _default_folder()
    reason = _not_private(folder)
    if not reason:
        return folder
    line = f"{folder}: nothing is kept there: {reason}; or name another folder by {FOLDER_VARIABLE}"
    if line not in _refused:
        _refused.add(line)
        _log.warning("%s", line)
    return None


def _default_folder() -> Path:
    """The folder that has our name; earlier releases let others read it."""
    import platformdirs  # not where the environment names a folder, or nothing is kept

    folder = Path(platformdirs.user_cache_dir("egraph-opt"))
    with suppress(OSError):
        if _not_private(folder) and _is_ours(folder.lstat()):
            folder.chmod(0o700)
    return folder


def _is_ours(found: os.stat_result) -> bool:
    """Whether it is a folder of this user, and no link to one that may be anything."""
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _not_private(folder: Path) -> str:
    """Why a folder is not the user's alone; nothing where it is, or is not there yet."""
    if not hasattr(os, "geteuid"):  # Windows, where the profile is
        return ""
    try:
        found = folder.stat()
    except OSError:
        return ""
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    mode = stat.S_IMODE(found.st_mode)
    return f"others may use it (mode {mode:o}): `chmod 700` it" if mode & 0o077 else ""


def make_folder(folder: Path) -> None:
    """Make a cache folder that is not there, for the user alone; raises OSError."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


MOST_BYTES = 2**26
"""Of a file that is read: ours have less than a megabyte."""


def kept_text(path: Path) -> str:
    """What a file of ours says.

    Raises:
        OSError: it cannot be read, is another user's, or no regular file: a pipe would be waited for, a
            device has no end.
        ValueError: it is larger than files of ours, or no text in UTF-8.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no regular file")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise OSError("it belongs to another user")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return content.decode("utf-8")


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, so that another process reads the old one or the new one.

    Raises:
        OSError: it cannot be written; then nothing is left of it.
    """
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep_newest(folder: Path, pattern: str, most: int) -> None:
    """Remove the oldest of some files, as far as there are more of them than `most`."""
    for old in sorted(folder.glob(pattern), key=_age)[most:]:
        with suppress(OSError):  # another process was first
            old.unlink()


def _age(path: Path) -> float:
    with suppress(OSError):
        return -path.stat().st_mtime
    return 0.0


def digest_of_code(packages: Iterable[str], *said: object) -> str:
    """A digest of the text of packages, and of what else decides what is kept; raises OSError."""
    digest = hashlib.sha256(repr(said).encode())
    for package in packages:
        folder = Path(import_module(package).__path__[0])
        for name in sorted(glob("**/*.py", root_dir=folder, recursive=True)):
            digest.update(name.encode())
            with open(f"{folder}/{name}", "rb", buffering=0) as file:
                digest.update(file.read())
    return digest.hexdigest()[:24]
