"""What a test declares is forgotten after it; the end of the run counts wrong laws."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..laws.conftest import _nothing_stays  # noqa: F401


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many wrong laws the gate accepted: the last word on each."""
    found: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            verdicts = [
                value for name, value in getattr(report, "user_properties", ()) if name == "wrong law"
            ]
            found.update(verdicts[-1:])
    if found:
        terminalreporter.section("the gate")
        terminalreporter.write_line(
            f"wrong laws accepted: {found['accepted']} of {found.total()}"
            f" (refused for want of a term to try: {found['not tried']})"
        )
