"""What rules of our own laws are about, kept in the user's cache folder: which terms each matches and writes.

Only rules whose terms occur in a graph are written (`relevance`), which are a quarter of them; to know
which, all statements would have to be made and checked in every process.  What is kept is names of terms:
egglog never gets anything of a file, and a file that lies keeps rules out of an e-graph, or lets them in that
find nothing.

A file that is broken, foreign or cannot be read or written is passed over, with one line for who debugs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from egraph_opt.cache import cache_folder, digest_of_code, keep_newest, kept_text, replace_text
from egraph_opt.egraph.relevance import Head, Terms
from egraph_opt.foreign_text import parsed_json
from egraph_opt.forking import lock_across_forks
from egraph_opt.laws.law import Auxiliary, Law, statements_are_declared_in

_log = logging.getLogger(__name__)

FORMAT = 2
"""Of the file; one of another format is not read."""

SOURCES = ("egraph", "facts", "inference", "laws", "operators", "rewrites")
"""The packages whose text decides what rules are about."""

MOST_FILES = 4
"""Of several installations and versions; the oldest go."""

_SUFFIX = re.compile(r"#[0-9]{1,4}<?")
"""What the name of a rule has behind that of its law."""

_lock = lock_across_forks()

TermsOfRules = Mapping[str, Terms]
"""By what the name of a rule has behind that of its law, in order."""


def is_ours(entry: Law | Auxiliary) -> bool:
    """Whether a law is one of those whose text `installation` is a digest of, and no variant."""
    return statements_are_declared_in(entry, "egraph_opt.rewrites")


class PreparedTerms:
    """What is known of the rules of laws, and the file that it comes from; None for no file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rules: dict[str, TermsOfRules] = {}
        self._changed = False
        if path is not None:
            self._read(path)

    def of(self, entry: Law | Auxiliary, key: str, find: Callable[[], TermsOfRules]) -> TermsOfRules:
        """The terms of the rules of a law, as they were found before, or as `find` finds them now.

        Args:
            key: tells them from others of this law.
        """
        if self.path is None or not is_ours(entry):
            return find()
        with _lock:
            if key not in self.rules:
                self.rules[key] = find()
                self._changed = True
            return self.rules[key]

    def keep(self) -> None:
        """Write down what was not in the file; of two processes the last one's is kept."""
        with _lock:  # while it is written, too: of two threads the last one's would not be the larger
            if self.path is None or not self._changed:
                return
            self._changed = False
            try:
                self._write(self.path)
            except OSError as error:
                _log.debug("%s: terms of rules are not kept: %s", self.path, error)

    def _write(self, path: Path) -> None:
        content = json.dumps(_encoded(self.rules))
        head = json.dumps({"format": FORMAT, "digest": _digest(content)})
        replace_text(path, f"{head}\n{content}")
        keep_newest(path.parent, "rules-*.json", MOST_FILES)

    def _read(self, path: Path) -> None:
        try:
            head, _, content = kept_text(path).partition("\n")
            if parsed_json(head) != {"format": FORMAT, "digest": _digest(content)}:
                raise ValueError("it is broken, or of another format")
            self.rules = _decoded(parsed_json(content))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            _log.debug("%s: terms of rules are found anew: %s", path, error)


def _encoded(rules: Mapping[str, TermsOfRules]) -> dict[str, Any]:
    """As JSON has it: every term once, and rules with the numbers of theirs."""
    numbers: dict[Head, int] = {}
    kept = {
        key: [
            [suffix, *([numbers.setdefault(head, len(numbers)) for head in sorted(heads)] for heads in both)]
            for suffix, terms in of_law.items()
            for both in [(terms.matched, terms.written)]
        ]
        for key, of_law in rules.items()
    }
    return {"heads": list(numbers), "rules": kept}


def _decoded(found: Any) -> dict[str, TermsOfRules]:
    """The inverse of `_encoded`; raises where it is nothing of the kind."""
    heads = [(_text(function), _text(name)) for function, name in found["heads"]]
    return {
        key: {
            _suffix(suffix): Terms(frozenset(heads[k] for k in matched), frozenset(heads[k] for k in written))
            for suffix, matched, written in of_law
        }
        for key, of_law in found["rules"].items()
    }


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is no name")
    return value


def _suffix(value: Any) -> str:
    if not _SUFFIX.fullmatch(value):
        raise ValueError(f"{value!r} is no rule of a law")
    return _text(value)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def installation() -> str:
    """A digest of what decides what rules are about: versions, the text of laws and of what reads them."""
    packages = (f"egraph_opt.{name}" for name in SOURCES)
    return digest_of_code(packages, FORMAT, sys.version, version("egraph-opt"), version("egglog"))


@cache
def _kept_in(folder: Path | None) -> PreparedTerms:
    if folder is None:
        return PreparedTerms(None)
    try:
        return PreparedTerms(folder / f"rules-{installation()}.json")
    except (OSError, LookupError) as error:  # installed without its sources
        _log.debug("terms of rules are not kept: %s", error)
        return PreparedTerms(None)


def prepared_terms() -> PreparedTerms:
    """What is kept in the user's cache folder."""
    return _kept_in(cache_folder())
