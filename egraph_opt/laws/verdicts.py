"""Which laws of files the gate has accepted, kept in the user's cache folder.

A note is a file whose name and content follow from all that a verdict depends on (`digest_of_sources_of`, our
own code, versions).  It counts where its content is what would be written now, letter by letter, so nothing
that is read there goes any further.  A refusal is never kept.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from egraph_opt.cache import cache_folder, digest_of_code, keep_newest, kept_text, replace_text
from egraph_opt.laws.law import Law
from egraph_opt.laws.sources import Unseen, digest_of_sources_of

_log = logging.getLogger(__name__)

MOST_NOTES = 1000
"""Of which the oldest go; a note has less than 4 kB."""

PACKAGES = ("egraph_opt", "egraph_opt.rewrites", "egraph_opt.cost_models")
DEPENDENCIES = ("egglog", "ml_dtypes", "numpy", "onnx", "onnx-ir", "onnxruntime")


@dataclass(frozen=True)
class Note:
    """That a law was accepted: the file that says so, and what is in it."""

    path: Path
    text: str

    def is_kept(self) -> bool:
        """Whether the law was accepted before, as it is now."""
        try:
            return kept_text(self.path) == self.text
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            _log.debug("%s: the law is tried anew: %s", self.path, error)
            return False

    def keep(self) -> None:
        """Write down that the law was accepted."""
        try:
            replace_text(self.path, self.text)
            keep_newest(self.path.parent, "accepted-*.txt", MOST_NOTES)
        except (OSError, ValueError) as error:
            _log.debug("%s: the verdict is not kept: %s", self.path, error)


def note_of(law: Law, *settings: object) -> Note | None:
    """The note that a law passed the gate; None where none could say enough, or nothing is kept.

    Args:
        settings: what else a verdict depends on: how thoroughly the gate tries, and where.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        said = (gate(), settings, digest_of_sources_of(law))
    except (Unseen, OSError, LookupError, ImportError) as reason:
        _log.debug("%s: the verdict is not kept: %s", law.key, reason)
        return None
    digest = hashlib.sha256(repr(said).encode()).hexdigest()
    return Note(folder / f"accepted-{digest[:24]}.txt", f"{law.key!a} was accepted by the gate\n{digest}\n")


@cache
def gate() -> str:
    """A digest of what judges: our own code, Python, and what it computes with."""
    return digest_of_code(
        PACKAGES, sys.version, sys.flags.optimize, *((name, version(name)) for name in DEPENDENCIES)
    )
