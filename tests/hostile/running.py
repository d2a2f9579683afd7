"""The command line on a file, in a process of its own that may crash or be ended."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import select
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MEMORY = 3 * 2**30
"""A worker has so many bytes of data: what asks for more is a finding."""


@dataclass(frozen=True)
class Outcome:
    """What came of a file.

    Attributes:
        code: the exit code; None where there was none.
        said: all lines on stderr.
        raised: what was raised besides an exit.
        seconds: of the processor.
        megabytes: resident at most.
    """

    code: int | None
    said: str = ""
    shown: str = ""
    raised: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


def run(arguments: Sequence[str]) -> Outcome:
    """The command line in this process."""
    from egraph_opt.cli import app

    said, shown, raised, code = io.StringIO(), io.StringIO(), "", None
    _forget_peak()
    started = time.process_time()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
        try:
            app(list(arguments))
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 0
        except BaseException:
            raised = traceback.format_exc()
    return Outcome(code, said.getvalue(), shown.getvalue(), raised, time.process_time() - started, _peak())


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work() -> None:
    """Answer, a line of JSON each, for the command lines that come in as lines of JSON."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    import egraph_opt.pipeline.stages  # noqa: F401 - so that the first file is as fast as the others

    answers = sys.stdout
    for line in sys.stdin:
        print(json.dumps(asdict(run(json.loads(line)))), file=answers, flush=True)


class Worker:
    """A process that takes command lines; one that dies or takes too long is replaced."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, arguments: Sequence[str], patience: float) -> Outcome:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        print(json.dumps(list(arguments)), file=process.stdin, flush=True)
        ready, _, _ = select.select([process.stdout], [], [], patience)
        answer = process.stdout.readline() if ready else ""
        if answer:
            return Outcome(**json.loads(answer))
        self.close()
        self._start()
        return Outcome(None, raised=f"died ({process.returncode})" if ready else "takes too long")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    work()
