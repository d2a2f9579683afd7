"""What the scripts share: a tool that is run, and a line of JSON for each file when it is timed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def run(*arguments: str, folder: Path | None = None) -> str:
    """What a tool prints; raises with the last line that says something where it fails."""
    done = subprocess.run(
        arguments,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        raise RuntimeError(f"{Path(arguments[0]).name} failed with {done.returncode}: {lines[-1:]}")
    return done.stdout


def number_in(text: str, pattern: str) -> float:
    """The number that a tool has printed."""
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"it printed no {pattern!r}: {text.strip()[-200:]!r}")
    return float(found[1])


def setting(name: str, default: str) -> str:
    """A setting of the script, which the environment may change."""
    return os.environ.get(name, default)


def answer_all(time: Callable[[Path, Path], dict[str, object]]) -> None:
    """Time each file of the command line: `time` takes its path and a folder, and returns what is printed."""
    for file in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            said: dict[str, object]
            try:
                said = time(Path(file).resolve(), Path(folder))
            except Exception as error:
                said = {"error": " ".join(str(error).split()) or type(error).__name__}
        print(json.dumps({"model": file, **said}), flush=True)
