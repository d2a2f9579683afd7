"""The command line on a file, in a process of its own that may crash or be ended."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import resource
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
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


def work(pipe: Connection) -> None:
    """Answer for the command lines that come through a pipe."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    import egraph_opt.pipeline.stages  # noqa: F401 - so that the first file is as fast as the others

    while True:
        with contextlib.suppress(EOFError):
            pipe.send(run(pipe.recv()))
            continue
        return


class Worker:
    """A process that takes command lines; one that dies or takes too long is replaced."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=work, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def run(self, arguments: Sequence[str], patience: float) -> Outcome:
        self._pipe.send(list(arguments))
        if self._pipe.poll(patience):
            with contextlib.suppress(EOFError, ConnectionError):
                return self._pipe.recv()  # type: ignore[no-any-return]
        self._process.join(0.5)
        ended = self._process.exitcode
        self.close()
        self._start()
        return Outcome(None, raised="takes too long" if ended is None else f"died ({ended})")

    def close(self) -> None:
        self._process.kill()
        self._process.join()
