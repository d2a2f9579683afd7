"""Models timed on a device behind a command: a board, a phone, a server with a GPU.

The command takes files of ONNX models and prints JSON: for each file an object with `micros`, what a run
takes, and if it likes `device`, its name; or `error`, why it does not run.  Where the command has `{models}`
one call gets all files and prints a list; where it has `{model}` each file has a call of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from egraph_opt.errors import ArgumentError, TimingError
from egraph_opt.measurement.whole import Latency
from egraph_opt.model.streams import is_stream

ONE, ALL = "{model}", "{models}"

GRAPHS = 4
"""Graphs that are timed besides the original, unless asked otherwise."""

SHOWN = 200
"""Characters of what a command has printed that an error repeats."""


@dataclass(frozen=True)
class DeviceAnswer:
    """What a command says of a model: microseconds, or why there are none (`error`)."""

    micros: float = math.nan
    device: str = ""
    error: str = ""


@dataclass(frozen=True)
class Runner:
    """A command that times models.

    Attributes:
        command: with `{model}` or `{models}` where files go; it is split as a shell would, and run by none.
        graphs: so many good graphs are timed besides the original.
        rounds: times that each is timed, in turns with the others.
        timeout: seconds that a call may take, for each of its models.
        retries: calls that follow one that failed.
        journal: a file that keeps what was measured, line by line: another optimisation goes on from it.

    Raises:
        ArgumentError: a command without a place for files, numbers that make no sense, or a journal that
            is no file.
    """

    command: str
    graphs: int = GRAPHS
    rounds: int = 3
    timeout: float = 600.0
    retries: int = 1
    journal: Path | None = None

    def __post_init__(self) -> None:
        if not any(place in self.command for place in (ONE, ALL)):
            raise ArgumentError(
                f"runner: the command has no place for the file: {f'{self.command} {ONE}'!r} has one"
            )
        try:
            shlex.split(self.command)
        except ValueError as error:
            raise ArgumentError(f"runner: {self.command!r}: {error}") from error
        if self.journal is not None and (self.journal.is_dir() or is_stream(self.journal)):
            raise ArgumentError(f"runner: {self.journal}: is no file that can be read again: name another")
        if self.graphs < 1 or self.rounds < 1 or self.retries < 0 or not self.timeout > 0:
            raise ArgumentError("runner: graphs and rounds are 1 or more, retries 0 or more, seconds above 0")

    def time(self, models: Sequence[Path]) -> list[DeviceAnswer]:
        """One answer a model, from one call or from a call each."""
        if ALL in self.command:
            return self._asked(models)
        return [self._asked([model])[0] for model in models]

    def _asked(self, models: Sequence[Path]) -> list[DeviceAnswer]:
        answers: list[DeviceAnswer] = []
        for _ in range(self.retries + 1):
            answers = self._call(models)
            if not all(answer.error for answer in answers):
                break
        return answers

    def _call(self, models: Sequence[Path]) -> list[DeviceAnswer]:
        files = [str(model) for model in models]
        arguments: list[str] = []
        for word in shlex.split(self.command):
            if word == ALL:
                arguments += files
            else:
                arguments.append(word.replace(ALL, " ".join(files)).replace(ONE, files[0]))
        try:
            printed = _printed(arguments, self.timeout * len(models))
            return _read(printed, len(models))
        except TimingError as error:
            return [DeviceAnswer(error=str(error))] * len(models)


def _printed(arguments: Sequence[str], seconds: float) -> str:
    """What a command prints.

    Raises:
        TimingError: it cannot be started, takes too long, or fails.
    """
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise TimingError(f"{arguments[0]} cannot be started: {error.strerror or error}") from error
    try:
        printed, complaints = process.communicate(timeout=seconds)
    except BaseException as error:  # nothing of it is left behind, whatever ended the wait
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimingError(f"{arguments[0]} did not end within {seconds:g} s") from error
        raise
    if process.returncode:
        said = (complaints.strip() or printed.strip()).splitlines()[-1:] or ["it said nothing"]
        raise TimingError(f"{arguments[0]} failed with {process.returncode}: {said[0][:SHOWN]}")
    return printed


def _read(printed: str, count: int) -> list[DeviceAnswer]:
    """The answers in what a command printed: the last line that is JSON, or all of it.

    Raises:
        TimingError: there is none.
    """
    for text in (*reversed(printed.strip().splitlines()), printed):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, (dict, list)):
            answers = [_answer(each) for each in (found if isinstance(found, list) else [found])]
            if len(answers) != count:
                raise TimingError(f"it answered for {len(answers)} of {count} models")
            return answers
    raise TimingError(f"it printed no JSON: {printed.strip()[:SHOWN]!r}")


def _answer(said: object) -> DeviceAnswer:
    if not isinstance(said, Mapping):
        return DeviceAnswer(error=f"no object: {str(said)[:SHOWN]}")
    if said.get("error"):
        return DeviceAnswer(error=str(said["error"])[:SHOWN])
    micros = said.get("micros")
    if isinstance(micros, bool) or not isinstance(micros, (int, float)) or not 0 < micros < math.inf:
        return DeviceAnswer(error=f"`micros` is {micros!r}, and not a number above 0")
    return DeviceAnswer(float(micros), str(said.get("device", "")))


class TimesJournal:
    """What was measured, by command, model and round: lines of JSON, each written when it is known."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[tuple[str, str, int], DeviceAnswer] = {}
        text = path.read_text(encoding="utf-8", errors="replace") if path and path.exists() else ""
        self._ends = not text or text.endswith("\n")
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: str) -> None:
        try:
            said: Any = json.loads(line)
            key = str(said["command"]), str(said["model"]), int(said["round"])
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
            return  # half a line, where a process was killed
        answer = _answer(said)
        if not answer.error:
            self.known[key] = answer

    def add(self, key: tuple[str, str, int], answer: DeviceAnswer) -> None:
        self.known[key] = answer
        if self.path is not None:
            said = dict(zip(("command", "model", "round"), key, strict=True))
            with self.path.open("a", encoding="utf-8") as file:
                if not self._ends:
                    print(file=file)
                self._ends = True
                print(json.dumps({**said, "micros": answer.micros, "device": answer.device}), file=file)


def latencies_on(runner: Runner, models: Sequence[Path]) -> list[Latency | str]:
    """How fast models are beside the first one, in turns; of one that does not run the reason.

    Raises:
        TimingError: the first one was not timed, or on another device than the journal's.
    """
    journal = TimesJournal(runner.journal)
    digests = [hashlib.sha256(model.read_bytes()).hexdigest() for model in models]
    failed: dict[int, str] = {}
    for number in range(runner.rounds):
        keys = [(runner.command, digest, number) for digest in digests]
        waiting = [k for k, key in enumerate(keys) if key not in journal.known and k not in failed]
        for k, answer in zip(waiting, runner.time([models[k] for k in waiting]), strict=True):
            if answer.error:
                failed[k] = answer.error
            else:
                journal.add(keys[k], answer)
        if 0 in failed:
            raise TimingError(f"the original: {failed[0]}")
    by_model = [
        [journal.known.get((runner.command, digest, number)) for number in range(runner.rounds)]
        for digest in digests
    ]
    devices = sorted({answer.device for answers in by_model for answer in answers if answer})
    if len(devices) > 1:
        raise TimingError(f"times of several devices: {', '.join(map(repr, devices))}; take another journal")
    times = [[answer.micros for answer in answers if answer] for answers in by_model]
    return [failed[k] if k in failed else _latency(times[0], own) for k, own in enumerate(times)]


def _latency(first: Sequence[float], own: Sequence[float]) -> Latency:
    """The median of the rounds' ratios; the interval has all of them."""
    ratios = np.array(first) / np.array(own)
    low, middle, high = (float(share) for share in np.quantile(ratios, (0, 0.5, 1)))
    return Latency(float(np.median(own)), middle, low, high, len(own))
