"""The account of a run: what was examined and found, what never happened."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

from .examining import Examined
from .keeping import keep
from .planting import plantable
from .shrinking import shrunk
from .workers import Task

EVERY = 10.0
"""Seconds between two lines of progress."""

ENOUGH = 500
"""Graphs after which a law that never matched is worth a word."""


class Run:
    """What was seen so far.

    Attributes:
        failed: graphs with a failure.
    """

    def __init__(self, folder: Path, *, shrink: bool, patience: float) -> None:
        self.folder, self.shrink, self.patience = folder, shrink, patience
        self.started = self.told = time.monotonic()
        self.graphs = self.failed = 0
        self.seen = Examined()
        self.kinds: Counter[str] = Counter()
        self.kept: list[tuple[Task, Examined]] = []

    def add(self, task: Task, examined: Examined) -> None:
        """Count a graph; print and keep what is wrong with it."""
        self.graphs += 1
        self.seen.add(examined)
        for finding in examined.findings:
            self.kinds[finding.kind] += 1
            print(f"{':'.join(map(str, task))} {finding.kind}: {finding.message}", flush=True)
        self.failed += bool(examined.failures)
        if examined.notable:
            self.kept.append((task, examined))
            if examined.case is not None:
                keep(self.folder, _stem(task), examined)
        if time.monotonic() - self.told > EVERY:
            self.told = time.monotonic()
            print(self.line(), flush=True)

    def shrink_all(self) -> None:
        """Make what failed smaller, once for all that failed alike, and print it."""
        alike: set[str] = set()
        for task, examined in self.kept:
            about = alike_by(examined)
            if about in alike:
                continue
            alike.add(about)
            found = shrunk(task, examined, self.patience)
            if found.case is not None:
                print(keep(self.folder, _stem(task), found), flush=True)

    def line(self) -> str:
        """Counts, in one line."""
        took = time.monotonic() - self.started
        parts = [f"{self.graphs} graphs in {took:.0f} s ({self.graphs / max(took, 1e-9):.1f}/s)"]
        parts += [f"{count} {name}" for name, count in sorted(self.seen.cases.items())]
        laws = sum(count > 0 for count in self.seen.laws.values())
        parts.append(f"{laws} of {len(plantable())} laws matched")
        parts.append(f"{len(self.seen.operators)} operators")
        parts += [f"{count} {kind}!" for kind, count in sorted(self.kinds.items())]
        return ", ".join(parts)

    def close(self) -> None:
        """Shrink what failed, write what laws and operators were seen how often, and say what laws never matched, and the counts."""
        if self.shrink:
            self.shrink_all()
        never = [law.key for law in plantable() if not self.seen.laws[law.key]]
        if self.graphs >= ENOUGH:
            print(f"laws that never matched: {', '.join(never) or 'none'}")
        self.folder.mkdir(parents=True, exist_ok=True)
        seen = {"matched": self.seen.laws, "used": self.seen.used, "operators": self.seen.operators}
        plain = {key: dict(counts.most_common()) for key, counts in seen.items()}
        (self.folder / "coverage.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        print(f"{self.line()}, {self.failed} failed")


def _stem(task: Task) -> str:
    return "_".join(map(str, task))


def alike_by(examined: Examined) -> str:
    """What failures that have one cause agree in: their kinds, and messages without numbers and names."""
    return "; ".join(f"{f.kind} {re.sub(r'[0-9.e+-]+', '#', f.message)}" for f in examined.notable)
