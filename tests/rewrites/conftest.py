"""After the tests of laws: how many checks were made, which were left out, and, of all laws, which passed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .accepted import renew

TESTS_A_LAW = 2
"""Of the gate, and of what conditions are for."""


def _properties(terminalreporter: Any, name: str) -> Iterator[Any]:
    """What passed tests recorded under a name."""
    for report in terminalreporter.stats.get("passed", []):
        yield from (value for key, value in getattr(report, "user_properties", ()) if key == name)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: dict[str, Counter[str]] = {}
    for value in _properties(terminalreporter, "checks"):
        for kind, found in value.items():
            counts.setdefault(kind, Counter()).update(found)
    if not counts:
        return
    terminalreporter.section("checks of laws")
    for kind, found in counts.items():
        terminalreporter.write_line(f"{kind}: {sum(found.values())}")
        for reason, count in sorted(found.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"  {count:6}  {reason}")
    if os.environ.get("LAWS"):
        passed = Counter(map(tuple, _properties(terminalreporter, "passes")))
        renew({key: digest for (key, digest), tests in passed.items() if tests == TESTS_A_LAW})
