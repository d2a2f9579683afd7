"""`python -m tests.hostile --files 1000`: the corpus and damaged models through the command line, by seed."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .corpus import CASES
from .judging import examine
from .making import Make
from .mutations import mutated
from .running import Outcome, Worker


def cases(files: int, seed: int) -> Iterator[tuple[str, Make]]:
    """The corpus, then damaged models, as many files in all."""
    yield from list(CASES.items())[:files]
    for number in range(seed, seed + files - len(CASES)):
        yield f"mutation {number}", lambda folder, number=number: _written(folder, mutated(number))  # type: ignore[misc]


def _written(folder: Path, content: bytes) -> Path:
    path = folder / "bad.onnx"
    path.write_bytes(content)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="the corpus among them")
    parser.add_argument("--seed", type=int, default=0, help="of the first damaged model")
    parser.add_argument("--patience", type=float, default=60, help="seconds for one file")
    parser.add_argument("--slow", type=float, default=5, help="seconds of the processor that are too many")
    parser.add_argument("--only", help="a part of the names of files")
    parser.add_argument("--save", type=Path, help="a folder for the files that something is wrong with")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    started, slowest = time.monotonic(), ("", Outcome(None))
    worker = Worker()
    for name, make in cases(options.files, options.seed):
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            places = [Path(folder, part) for part in ("in", "out")]
            for place in places:
                place.mkdir()
            source = make(places[0])
            outcome, wrong = examine(
                worker, source, places[1] / "out.onnx", patience=options.patience, slow=options.slow
            )
            counts["wrong" if wrong else {0: "handed on", 1: "refused"}.get(outcome.code or 0, "wrong")] += 1
            slowest = max(slowest, (name, outcome), key=lambda item: item[1].seconds)
            for finding in wrong:
                print(f"{name}: {finding}", flush=True)
            if wrong and options.save is not None:
                shutil.copytree(places[0], options.save / name.replace(" ", "_"), dirs_exist_ok=True)
    worker.close()
    print(
        dict(counts), f"{time.monotonic() - started:.0f} s; slowest: {slowest[0]}, {slowest[1].seconds:.1f} s"
    )
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
