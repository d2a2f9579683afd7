"""One call of a command that times models: what it prints, line by line, until it ends or is ended."""

from __future__ import annotations

import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO

from egraph_opt.errors import TimingError
from egraph_opt.foreign_text import parsed_json

SHOWN = 200
"""Characters of what a command has printed that an error repeats."""

LONGEST = 1 << 24
"""Characters that a command may print."""

GRACE = 1.0
"""Seconds in which what a command has printed has to arrive once it ended."""

_TICK = 0.2

_GUARD = "import os, sys; sys.stdin.read(); os.killpg(int(sys.argv[1]), 9)"
"""Of a process that ends a command when the one that writes to it has ended, however that did."""


@dataclass(frozen=True)
class DeviceAnswer:
    """What a command says of a model.

    Attributes:
        micros: of a run; `error` is why there are none.
        device: its name.
        nodes: microseconds by the name of a node or of its first output, where the device has a profile.
    """

    micros: float = math.nan
    device: str = ""
    error: str = ""
    nodes: Mapping[str, float] = field(default_factory=dict)


class CallError(TimingError):
    """A call that was of no use."""


class LateError(CallError):
    """It did not end in time."""


def call(
    arguments: Sequence[str], files: Sequence[str], seconds: float, heard: Callable[[int, DeviceAnswer], None]
) -> dict[int, DeviceAnswer]:
    """The answers by the number of a file.

    Args:
        files: that it was given.
        seconds: that it may take for each; as long as that after an answer of a file the next one is due.
        heard: called with each answer that names its file, as soon as it is printed.

    Raises:
        CallError: it cannot be started, takes too long or fails, or prints no answer for some of them.
            What was heard until then holds.
    """
    number_of = {file: k for k, file in enumerate(files)}
    found: dict[int, DeviceAnswer] = {}
    lines: list[str] = []
    length = 0
    with _Process(arguments) as process:
        process.due = process.begun + seconds * len(files)
        for line in process.lines():
            said = _parsed(line)
            number = number_of.get(_model(said), -1)
            if number >= 0:
                found[number] = answer_of(said)
                heard(number, found[number])
                process.due = min(process.due, time.monotonic() + seconds)
            length += len(line)
            if length > LONGEST:
                raise CallError(f"it printed more than {LONGEST >> 20} million characters")
            lines.append(line)
        process.check(lines)
    if len(found) == len(files):
        return found
    if found:
        raise CallError(f"it answered for {len(found)} of {len(files)} models")
    return _together(lines, files)


def answer_of(said: object) -> DeviceAnswer:
    """An answer of what was printed of a model; with an error, where that is none."""
    if not isinstance(said, Mapping):
        return DeviceAnswer(error=f"no object: {str(said)[:SHOWN]}")
    if said.get("error"):
        return DeviceAnswer(error=str(said["error"])[:SHOWN])
    micros = said.get("micros")
    if not _is_time(micros) or not micros:
        return DeviceAnswer(error=f"`micros` is {repr(micros)[:SHOWN]}, and not a number above 0")
    nodes = said.get("nodes")
    known = nodes.items() if isinstance(nodes, Mapping) else ()
    times = {str(name): float(time) for name, time in known if _is_time(time)}
    return DeviceAnswer(float(micros), str(said.get("device", ""))[:SHOWN], nodes=times)


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15


def _parsed(text: str) -> object:
    try:
        return parsed_json(text)
    except ValueError:
        return None


def _model(said: object) -> str:
    """The file that an answer says it is of; "" where it does not."""
    model = said.get("model") if isinstance(said, Mapping) else None
    return model if isinstance(model, str) else ""


def _together(lines: Sequence[str], files: Sequence[str]) -> dict[int, DeviceAnswer]:
    """The answers in the last line that is JSON, or in all that was printed, by the number of a file.

    Raises:
        CallError: there are none, or another number of them, or it is not clear which file they are of.
    """
    printed = "".join(lines)
    for text in (*reversed(lines), printed):
        found = _parsed(text)
        if isinstance(found, (dict, list)):
            answers = found if isinstance(found, list) else [found]
            if len(answers) != len(files):
                raise CallError(f"it answered for {len(answers)} of {len(files)} models")
            numbers = _numbers([_model(each) for each in answers], files)
            return {k: answer_of(each) for k, each in zip(numbers, answers, strict=True)}
    raise CallError(f"it printed no JSON: {printed.strip()[:SHOWN]!r}")


def _numbers(models: Sequence[str], files: Sequence[str]) -> list[int]:
    """Of which file each answer is: that which it names, by its path or its last part; or in their order.

    Raises:
        CallError: names and order contradict each other.
    """
    bases = [PurePath(file).name for file in files]
    number_of = {base: k for k, base in enumerate(bases) if bases.count(base) == 1}
    number_of |= {file: k for k, file in enumerate(files)}
    named = [number_of.get(model, number_of.get(PurePath(model).name, -1)) for model in models]
    if sorted(named) == list(range(len(files))):
        return named
    for k, number in enumerate(named):
        if number not in (-1, k):
            raise CallError(
                f"its answer {k + 1} of {len(files)} names {models[k]!r}, and others are in order"
            )
    return list(range(len(files)))


class _Process:
    """A command that runs; when this ends nothing of it is left behind, whatever ended it, signals included.

    Attributes:
        due: when it is ended, as `time.monotonic` has it.

    Raises:
        CallError: it cannot be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.name = arguments[0]
        try:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CallError(f"{self.name} cannot be started: {reason}") from error
        guard = [sys.executable, "-ISc", _GUARD, str(self.process.pid)]
        self.guard: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without one the command ends where this block does
            self.guard = subprocess.Popen(
                guard, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )
        self.begun, self.due = time.monotonic(), math.inf
        self.printed: queue.Queue[str | None] = queue.Queue()
        self.complaint = ""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        for read, stream in ((self._read, self.process.stdout), (self._complain, self.process.stderr)):
            threading.Thread(target=read, args=(stream,), daemon=True).start()

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.guard is not None:
            self.guard.kill()
            self.guard.communicate()
        self.process.wait()

    def _read(self, stream: IO[str]) -> None:
        with suppress(ValueError, OSError):
            while line := stream.readline(LONGEST + 1):
                self.printed.put(line)
        self.printed.put(None)

    def _complain(self, stream: IO[str]) -> None:
        """Keep the last line that says something."""
        with suppress(ValueError, OSError):
            while line := stream.readline(LONGEST):
                self.complaint = line.strip() or self.complaint

    def lines(self) -> Iterator[str]:
        """What it prints, until it ends.

        Raises:
            LateError: it had to be ended.
        """
        ended = math.inf
        while time.monotonic() - ended < GRACE:
            if time.monotonic() > self.due:
                raise LateError(f"{self.name} did not end within {self.due - self.begun:.3g} s")
            try:
                line = self.printed.get(timeout=_TICK)
            except queue.Empty:
                # What it has started may keep the pipe open.
                if self.process.poll() is not None:
                    ended = min(ended, time.monotonic())
                continue
            if line is None:
                return
            yield line

    def check(self, lines: Sequence[str]) -> None:
        """Raises CallError where it failed."""
        try:
            code = self.process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return  # it has closed what it prints to, and does something else
        if code:
            said = [self.complaint, *(line.strip() for line in reversed(lines)), "it said nothing"]
            raise CallError(f"{self.name} failed with {code}: {next(filter(None, said))[:SHOWN]}")
