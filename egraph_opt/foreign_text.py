"""Text that anyone may have written: JSON and TOML are read, and names are printed, without harm.

What cannot be read is a `ValueError`, endless nesting as well.

Python's parsers descend into nested brackets, and a text of nothing but `[` ends in a `RecursionError`, of
which a caller who reads a file does not think.  Where they are that deep, the collector must not run either:
finalizers of other objects would fail there in their place.
"""

from __future__ import annotations

import gc
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def printable(text: str) -> str:
    """A name in a line of text: what would break the line, steer a terminal, or is not seen, is escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """JSON in which strings have what is not seen as JSON escapes it."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def parsed_json(text: str | bytes) -> Any:
    """What a JSON text says.

    Raises:
        ValueError: it is no JSON, or nested more deeply than Python's recursion goes.
    """
    with _nothing_else_runs():
        return json.loads(text)


def parsed_toml(text: str) -> dict[str, Any]:
    """What a TOML text says.

    Raises:
        ValueError: it is no TOML, or nested more deeply than Python's recursion goes.
    """
    with _nothing_else_runs():
        return tomllib.loads(text)


@contextmanager
def _nothing_else_runs() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    finally:
        if collects:
            gc.enable()
