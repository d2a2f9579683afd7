"""JSON and TOML that anyone may have written: what cannot be read is a `ValueError`, endless nesting as well.

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
