"""Long runs: `python -m tests.fuzzing --seeds 0..1000`.

A process of its own examines the seeds, so that one that crashes or does not end is a finding too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from .workers import Worker


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--seeds", default="0..100", help="A..B, or one seed")
    parser.add_argument("--costs", type=int, default=1, help="cost models drawn by lot, per saturation")
    parser.add_argument("--again", action="store_true", help="also optimise twice")
    parser.add_argument("--fast", action="store_true", help="do not run every e-node")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one seed")
    parser.add_argument("--save", type=Path, help="a folder for the models that go wrong")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("..")
    counts: Counter[str] = Counter()
    started = time.monotonic()
    worker = Worker(options)
    for seed in range(int(first), int(last or int(first) + 1)):
        code = worker.examine(seed, options.patience)
        if code is None:
            worker = Worker(options)
        counts[{0: "right", 1: "wrong", 2: "discarded"}.get(code, "crashed")] += 1  # type: ignore[arg-type]
    print(dict(counts), f"{time.monotonic() - started:.0f} s")
    return int(any(counts[kind] for kind in ("wrong", "crashed")))


if __name__ == "__main__":
    sys.exit(main())
