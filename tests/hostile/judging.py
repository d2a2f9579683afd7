"""What has to hold of any file on the command line: one line or a model, in time, and nothing raw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx

from .running import Outcome, Worker

INTERNAL = "an internal error"
MEGABYTES = 4096
ARGUMENTS = ("-v", "--cost", "nodes", "--limit-seconds", "5")


def examine(
    worker: Worker, source: Path, target: Path, *, patience: float, slow: float
) -> tuple[Outcome, list[str]]:
    """Optimise a file: what came of it, and what is wrong with that."""
    outcome = worker.run(["optimize", str(source), str(target), *ARGUMENTS], patience)
    return outcome, list(findings(outcome, source, target, slow))


def findings(outcome: Outcome, source: Path, target: Path, slow: float) -> Iterator[str]:
    if outcome.raised:
        yield f"raises {outcome.raised.strip().splitlines()[-1][:200]}"
        return
    if outcome.seconds > slow:
        yield f"takes {outcome.seconds:.1f} s"
    if outcome.megabytes > MEGABYTES:
        yield f"takes {outcome.megabytes:.0f} MB"
    left = sorted(path.name for path in target.parent.iterdir() if path != target)
    if left:
        yield f"leaves {left}"
    if outcome.code == 0:
        yield from _of_result(outcome, target)
    elif outcome.code == 1:
        yield from _of_error(_lines(outcome.said), source, target)
    else:
        yield f"exits with {outcome.code}: {outcome.said[:200]}"


def _lines(text: str) -> Sequence[str]:
    return text.strip("\n").split("\n")


def _of_error(lines: Sequence[str], source: Path, target: Path) -> Iterator[str]:
    if len(lines) != 1 or not lines[0].startswith("egraph-opt: error: "):
        yield f"says {lines[:3]}"
    elif str(source) not in lines[0]:
        yield f"does not name the file: {lines[0][:200]}"
    if target.exists():
        yield "leaves an output beside an error"


def _of_result(outcome: Outcome, target: Path) -> Iterator[str]:
    shown = " ".join(outcome.shown.split())
    if INTERNAL in shown:
        yield f"is an internal error: {shown[shown.index(INTERNAL) :][:300]}"
    if "a law was left out" in shown:
        yield "blames a law"
    if shown.startswith("fallback"):
        yield f"is said to be wrong: {shown[:200]}"
    try:
        onnx.load(target, load_external_data=False)
    except Exception as error:
        yield f"has an output that does not load: {type(error).__name__}"
