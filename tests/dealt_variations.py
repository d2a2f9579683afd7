"""Variations of a test that are run: of several opsets one, of many graphs a fifth; ALL_VARIATIONS=1: all.

Tests of laws optimise the same graph in several opsets, shapes and spellings, which takes most of the time of
the suite.  Which of them are run, follows from the sources of the engine and of its laws: the same sources
run the same tests, and others, after a change, another fifth of them.  `make laws` runs all of its tests.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from zlib import crc32

import pytest

DEALT = ("knowledge_bases", "rewrites")
"""Folders of tests of which variations are dealt."""

MANY, SHARE = 4, 5
"""Variations of which a fifth are run."""

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("egraph_opt", "rewrites", "cost_models")


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests that are not run."""
    if os.environ.get("ALL_VARIATIONS") or os.environ.get("LAWS"):  # a law is accepted by both of its tests
        return []
    begin = _digest_of_sources()
    found = [item for item in items if item.path.parent.name in DEALT and hasattr(item, "callspec")]
    of_one_opset = _dealt(found, _but_for_the_opset, lambda count: 1, begin)
    run = _dealt(of_one_opset, _function, lambda count: -(-count // SHARE) if count >= MANY else count, begin)
    kept = set(run)
    return [item for item in found if item not in kept]


def _dealt(
    items: Iterable[pytest.Item], key: Callable[[pytest.Item], str], share: Callable[[int], int], begin: int
) -> list[pytest.Item]:
    """Of the tests that have a key in common as many as `share` says of their number."""
    alike: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        alike[key(item)].append(item)
    shuffled = (
        sorted(found, key=lambda item: crc32(item.nodeid.encode(), begin)) for found in alike.values()
    )
    return [item for found in shuffled for item in found[: share(len(found))]]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _but_for_the_opset(item: pytest.Item) -> str:
    parameters = item.callspec.params  # type: ignore[attr-defined]
    others = sorted((name, repr(value)) for name, value in parameters.items() if name != "opset")
    return f"{_function(item)} {others}" if "opset" in parameters else item.nodeid


def _digest_of_sources() -> int:
    paths = (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))
    found = 0
    for path in paths:
        found = crc32(path.read_bytes(), found)
    return found
