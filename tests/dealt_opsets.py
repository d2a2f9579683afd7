"""Of tests that differ in their opset alone one is run, another opset for other tests; ALL_OPSETS=1 runs all.

A law that fires in one opset fires in another; what is written for an opset is tried where operators are
(`tests/operators`), with all of them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from zlib import crc32

import pytest

DEALT = ("knowledge_bases", "rewrites")
"""Folders of tests that optimise the same graph in several opsets."""


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that are not run."""
    if os.environ.get("ALL_OPSETS"):
        return []
    alike: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "opset" in parameters and item.path.parent.name in DEALT:
            others = {name: repr(value) for name, value in parameters.items() if name != "opset"}
            alike[f"{item.nodeid.partition('[')[0]} {sorted(others.items())}"].append(item)
    return [
        item
        for key, several in alike.items()
        for k, item in enumerate(several)
        if k != crc32(key.encode()) % len(several)
    ]
