"""Which mutants no test notices: `python -m tests.mutants [--only TEXT] [--workers N]`, or `make mutants`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .declared import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
CONTENT = ("rewrites", "cost_models")
"""Folders that are packages of egraph_opt where it is installed."""


def tree(folder: Path) -> None:
    """The files of the checkout in a folder from which they can be imported."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    for name in CONTENT:
        (folder / "egraph_opt" / name).symlink_to(folder / name, target_is_directory=True)


def is_noticed(mutant: Mutant, folder: Path, workers: int) -> str | None:
    """The first test that fails of a tree with this mutant; None where none does."""
    file = folder / mutant.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"-n{workers}"]
    try:
        run = subprocess.run(
            [*command, *mutant.tests],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
        )
    finally:
        file.write_text(text, encoding="utf-8")
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if run.returncode and not failed:
        raise SystemExit(f"{mutant.what}: pytest ended with {run.returncode}\n{run.stdout}{run.stderr}")
    return failed[0].split(" - ")[0] if failed else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants with this text in their description")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if given.only in mutant.what]
    survivors = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        tree(folder)
        for mutant in chosen:
            started = time.monotonic()
            test = is_noticed(mutant, folder, given.workers)
            took = f"{time.monotonic() - started:.0f} s"
            print(f"{mutant.what} ({mutant.file}): {test or 'SURVIVES'}, {took}", flush=True)
            survivors += [mutant.what] if test is None else []
    print(f"mutants: {len(chosen)}, noticed: {len(chosen) - len(survivors)}")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
