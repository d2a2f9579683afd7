"""How much memory this process has, and how much more there is for it.

What is mapped from files does not count: the system takes it back when it needs it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SHARE = 0.75
"""Of the memory that is free, for what has no other limit."""


def anonymous_bytes() -> int:
    """The memory that this process has and that no file stands behind; 0 where the system does not say.

    A few microseconds: it is looked at after every ruleset.
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            fields = file.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def free_bytes() -> float:
    """The memory that processes can still take, in the container if there is one; infinite if not known."""
    return min(_available(), _left_in_container())


def _available() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    found = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return float(found[0]) if found else float("inf")


_CONTAINERS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.stat"), "anon "),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.stat"),
        "total_rss ",
    ),
)
"""Of both versions of control groups: the limit, and the file and the name of anonymous memory."""


def _left_in_container() -> float:
    for limit, statistics, name in _CONTAINERS:
        try:
            most = limit.read_text(encoding="ascii").strip()
            lines = statistics.read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        used = sum(int(line.split()[1]) for line in lines if line.startswith(name))
        return float("inf") if most == "max" else max(float(most) - used, 0.0)
    return float("inf")


@dataclass(frozen=True)
class MemoryBudget:
    """The memory that this process may have.

    Attributes:
        ceiling: anonymous bytes, at most.
    """

    ceiling: float = float("inf")

    @classmethod
    def of(cls, bytes_: float | None) -> MemoryBudget:
        """So many bytes more than now; by default a share of what is free."""
        return cls(anonymous_bytes() + (SHARE * free_bytes() if bytes_ is None else bytes_))

    @property
    def left(self) -> float:
        """Bytes that may still be taken; 0 where there are none."""
        return max(self.ceiling - anonymous_bytes(), 0.0)

    def share(self, part: float) -> MemoryBudget:
        """A budget of this part of what is left."""
        return MemoryBudget(self.ceiling - (1 - part) * self.left)


UNLIMITED = MemoryBudget()
