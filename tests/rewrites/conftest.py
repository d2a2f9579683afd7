"""Shows, after the tests of laws, how many checks were made and which were left out."""

from __future__ import annotations

from collections import Counter
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: dict[str, Counter[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", ()):
            if name == "checks":
                for kind, found in value.items():
                    counts.setdefault(kind, Counter()).update(found)
    if not counts:
        return
    terminalreporter.section("checks of laws")
    for kind, found in counts.items():
        terminalreporter.write_line(f"{kind}: {sum(found.values())}")
        for reason, count in sorted(found.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"  {count:6}  {reason}")
