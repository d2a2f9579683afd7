"""The user's cache folder: what is kept there can always be made again, and the folder be deleted."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

FOLDER_VARIABLE = "EGRAPH_OPT_CACHE"
"""Environment variable: the folder of caches; empty for none at all."""


def cache_folder() -> Path | None:
    """Where caches are kept; None where the environment says that there are none."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named == "":
        return None
    if named:
        return Path(named)
    import platformdirs  # not where the environment names a folder, or nothing is kept

    return Path(platformdirs.user_cache_dir("egraph-opt"))


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, so that another process reads the old one or the new one.

    Raises:
        OSError: it cannot be written; then nothing is left of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
