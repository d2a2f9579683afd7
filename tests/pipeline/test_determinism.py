"""The same model becomes the same bytes, whatever the process did before, with any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("digests.py")


def started(*arguments: str, threads: int, hash_seed: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_bytes_depend_on_no_thread_hash_seed_or_history() -> None:
    processes = [started(threads=1, hash_seed=0), started("history", threads=4, hash_seed=7)]
    lines = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        lines.append(sorted(out.splitlines()))
    assert len(lines[0]) == 3
    assert lines[0] == lines[1]
