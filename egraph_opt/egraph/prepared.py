"""Rules of our own laws, kept in the user's cache folder as egglog's text.

Checking the statements of all laws and writing them down takes a tenth of a second, and comes out the same
until a law or a version changes.  What is kept is text with marks: for the number of the law, which depends
on the other laws of an engine, and for functions and constants, which egglog takes as objects.  Functions are
named and looked up among ours, constants are Python literals: nothing is pickled, and nothing that a file
says is run.

A file that is broken, foreign or cannot be read or written is passed over, with one line for who debugs.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from egraph_opt.cache import cache_folder, replace_text
from egraph_opt.egraph.relevance import Terms
from egraph_opt.egraph.vocabulary import object_text, texts_of_objects
from egraph_opt.forking import lock_across_forks
from egraph_opt.laws.law import Auxiliary, Law, statements_are_declared_in
from egraph_opt.operators.host import HostFunction

_log = logging.getLogger(__name__)

FORMAT = 1
"""Of the file; one of another format is not read."""

SOURCES = ("egraph", "facts", "inference", "laws", "operators", "rewrites")
"""The packages whose text decides how rules are written."""

MOST_FILES = 4
"""Of several installations and versions; the oldest go."""

LAW = "\ue000law\ue001"
"""The mark for the number of the law."""

_lock = lock_across_forks()
_MARK = re.compile("\ue000(\\w+)\ue001")
_OBJECT = re.compile(r'\(py-object "[^"]*"\)')


@dataclass(frozen=True)
class PreparedRule:
    """A rule's name, its text, and the terms it is about."""

    name: str
    text: str
    terms: Terms


Write = Callable[[int | str], Iterable[PreparedRule]]
"""Writes the rules of a law, given the law's number."""


class PreparedRules:
    """What is known of the rules of laws, and the file that it comes from; None for no file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rules: dict[str, list[Any]] = {}
        self.objects: list[str] = []
        self._texts: dict[int, str] = {}
        self._changed = False
        if path is not None:
            self._read(path)

    def of(self, entry: Law | Auxiliary, key: str, law: int, write: Write) -> list[PreparedRule]:
        """The rules of a law, as they were written before, or as `write` writes them now.

        Args:
            key: tells them from others of this law.
            law: its number.
        """
        if self.path is None or not statements_are_declared_in(entry, "egraph_opt.rewrites"):
            return list(write(law))
        with _lock:
            return self._kept(key, law, write) or list(write(law))

    def _kept(self, key: str, law: int, write: Write) -> list[PreparedRule] | None:
        """The rules of a law that may be kept; None where they name what has no name."""
        if key not in self.rules:
            marked = [self._marked(rule) for rule in write(LAW)]
            if None in marked:
                return None
            self.rules[key] = marked
            self._changed = True
        try:
            return [self._filled(rule, str(law)) for rule in self.rules[key]]
        except (ImportError, AttributeError, LookupError, TypeError, ValueError, SyntaxError) as error:
            _log.debug("%s: the rules of %s are written anew: %s", self.path, key, error)
            return None

    def keep(self) -> None:
        """Write down what was not in the file; of two processes the last one's is kept."""
        with _lock:
            if self.path is None or not self._changed:
                return
            self._changed = False
            content = json.dumps({"objects": self.objects, "rules": self.rules}, sort_keys=True)
        try:
            head = json.dumps({"format": FORMAT, "digest": _digest(content)})
            replace_text(self.path, f"{head}\n{content}")
            for old in sorted(self.path.parent.glob("rules-*.json"), key=_age)[MOST_FILES:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            _log.debug("%s: rules are not kept: %s", self.path, error)

    def _read(self, path: Path) -> None:
        try:
            head, _, content = path.read_text(encoding="utf-8").partition("\n")
            if json.loads(head) != {"format": FORMAT, "digest": _digest(content)}:
                raise ValueError("it is broken, or of another format")
            found = json.loads(content)
            self.objects, self.rules = list(found["objects"]), dict(found["rules"])
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            _log.debug("%s: rules are written anew: %s", path, error)
            self.objects, self.rules = [], {}

    def _marked(self, rule: PreparedRule) -> list[Any] | None:
        """A rule as JSON has it, with marks for the objects that it names; None where one has no name."""
        text = rule.text
        for written in sorted(set(_OBJECT.findall(text))):
            name = _name_of(texts_of_objects[written])
            if name is None:
                return None
            if name not in self.objects:
                self.objects.append(name)
            text = text.replace(written, f"\ue000{self.objects.index(name)}\ue001")
        return [rule.name, text, sorted(rule.terms.matched), sorted(rule.terms.written)]

    def _filled(self, kept: list[Any], law: str) -> PreparedRule:
        name, marked, matched, written = kept
        text = _MARK.sub(lambda mark: law if mark[1] == "law" else self._object(int(mark[1])), marked)
        return PreparedRule(name, text, Terms(frozenset(map(tuple, matched)), frozenset(map(tuple, written))))

    def _object(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = object_text(_named(self.objects[number]))
        return self._texts[number]


def _name_of(value: Any) -> str | None:
    """How an object is written down: a host function by its place, a constant as a literal."""
    if isinstance(value, HostFunction):
        name = f"{value.__module__}:{value.name}"
        return name if _is_ours(value.__module__) and "<" not in name else None
    try:
        text = repr(value)
        return f"={text}" if repr(ast.literal_eval(text)) == text else None
    except (ValueError, SyntaxError, RecursionError):
        return None


def _named(name: str) -> Any:
    """The object of a name; raises ValueError where it is none of ours."""
    if name.startswith("="):
        return ast.literal_eval(name[1:])
    module, _, function = name.partition(":")
    if not _is_ours(module):
        raise ValueError(f"{name} is no function of ours")
    found = getattr(import_module(module), function)
    if not isinstance(found, HostFunction):
        raise ValueError(f"{name} is no host function")
    return found


def _is_ours(module: str) -> bool:
    return module.startswith(tuple(f"egraph_opt.{package}." for package in SOURCES))


def _age(path: Path) -> float:
    return -path.stat().st_mtime


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def installation() -> str:
    """A digest of all that rules are written by: versions, the text of laws and of what writes them."""
    digest = hashlib.sha256()
    digest.update(repr((FORMAT, sys.version, version("egraph-opt"), version("egglog"))).encode())
    for package in SOURCES:
        folder = Path(import_module(f"egraph_opt.{package}").__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


@cache
def _kept_in(folder: Path | None) -> PreparedRules:
    if folder is None:
        return PreparedRules(None)
    try:
        return PreparedRules(folder / f"rules-{installation()}.json")
    except (OSError, LookupError) as error:  # installed without its sources
        _log.debug("rules are not kept: %s", error)
        return PreparedRules(None)


def prepared_rules() -> PreparedRules:
    """The rules that are kept in the user's cache folder."""
    return _kept_in(cache_folder())
