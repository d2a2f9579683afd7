"""Long runs: `python -m tests.fuzzing --seconds 60 --seed 0`, or `make fuzz SECONDS=60 SEED=0`.

Graph i of seed s is the same on any machine: `--only s:i` examines it alone.  `--growth` looks for small graphs
whose e-graphs are large instead.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .growing import MOST, climbs
from .keeping import keep
from .running import Run
from .workers import Task, examine_all


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long, besides shrinking")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first graph")
    parser.add_argument("--graphs", type=int, help="how many at most")
    parser.add_argument("--only", help="SEED:NUMBER, one graph")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=60, help="seconds for one graph")
    parser.add_argument("--save", type=Path, default=Path("build/fuzz"), help="a folder for what is found")
    parser.add_argument("--growth", action="store_true", help="look for graphs that grow, uphill")
    parser.add_argument("--no-shrink", action="store_true", help="keep what is found as it is")
    return parser.parse_args()


def tasks(given: argparse.Namespace) -> Iterator[Task]:
    """Seeds until the time is over."""
    if given.only:
        yield tuple(int(part) for part in given.only.split(":"))
        return
    end = time.monotonic() + given.seconds
    numbers = (
        itertools.count(given.first)
        if given.graphs is None
        else range(given.first, given.first + given.graphs)
    )
    for number in numbers:
        if time.monotonic() > end:
            return
        yield (given.seed, number)


def look_for_growth(given: argparse.Namespace) -> int:
    """Hills until the time is over; those that are too high are printed and kept."""
    hills = high = 0
    for number, examined in climbs(given.seed, given.seconds):
        hills += 1
        high += bool(examined.findings)
        for finding in examined.findings:
            kept = keep(given.save, f"growth-{given.seed}-{number}", examined)
            print(f"{given.seed}:{number} {finding.kind}: {finding.message}\n{kept}", flush=True)
    print(f"{hills} hills, {high} higher than {MOST:g} e-nodes a node")
    return int(high > 0)


def main() -> int:
    given = options()
    if given.growth:
        return look_for_growth(given)
    run = Run(given.save, shrink=not given.no_shrink, patience=given.patience)
    for task, examined in examine_all(tasks(given), given.workers, given.patience):
        run.add(task, examined)
    run.close()
    return int(run.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
