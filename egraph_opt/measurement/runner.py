"""Models timed on a device behind a command: a board, a phone, a server with a GPU.

The command takes files of ONNX models and prints JSON: for each file an object with `micros`, what a run
takes, and if it likes `device`, its name, and `nodes`, microseconds by name; or `error`, why it does not run.
Where the command has `{models}` one call gets all files; where it has `{model}` each file has a call of its
own.  A command that prints a line for each file as soon as it is timed, with the file's path as `model`,
loses nothing when it is ended; another prints a list in the end.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from egraph_opt.cache import cache_folder, make_folder
from egraph_opt.errors import ArgumentError
from egraph_opt.measurement.device_call import CallError, DeviceAnswer, LateError, call
from egraph_opt.model.streams import is_stream

ONE, ALL = "{model}", "{models}"

GRAPHS = 4
"""Graphs that are timed besides the original, unless asked otherwise."""

IN_A_ROW, AS_LATE = 32, 4
"""So many calls without an answer, and the command is given up; one that took too long counts as some."""

Heard = Callable[[int, DeviceAnswer], None]


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

    @property
    def takes_many(self) -> bool:
        """Whether one call gets several models."""
        return ALL in self.command

    def time(self, models: Sequence[Path], heard: Heard = lambda number, answer: None) -> list[DeviceAnswer]:
        """One answer a model.

        A call that fails costs the model at fault: the others are called again, in halves, or from where the
        command had got to.

        Args:
            heard: called with the number of a model and its time, as soon as that is known.
        """
        return _Calls(self, models, heard).answers()

    def arguments(self, models: Sequence[Path]) -> list[str]:
        """The command for some models."""
        files = [str(model) for model in models]
        arguments: list[str] = []
        for word in shlex.split(self.command):
            if word == ALL:
                arguments += files
            else:
                arguments.append(word.replace(ALL, " ".join(files)).replace(ONE, files[0]))
        return arguments


class _Calls:
    """Models, of which a command is asked until all have an answer."""

    def __init__(self, runner: Runner, models: Sequence[Path], heard: Heard) -> None:
        self.runner, self.models, self.heard = runner, models, heard
        self.found: dict[int, DeviceAnswer] = {}
        self.failures = 0

    def answers(self) -> list[DeviceAnswer]:
        every = range(len(self.models))
        pending = [list(every)] if self.runner.takes_many and self.models else [[k] for k in every]
        reason = ""
        while pending and self.failures < IN_A_ROW:
            batch = pending.pop(0)
            # In between, where it is found which model is at fault, no call is made twice.
            more = self.runner.retries if len(batch) in (1, len(every)) else 0
            left = batch
            for _ in range(more + 1):
                reason = self._call(left)
                left = [k for k in left if k not in self.found]
                if not left or self.failures >= IN_A_ROW:
                    break
            if len(left) == 1:
                self.found[left[0]] = DeviceAnswer(error=reason)
            elif left:
                cut = 1 if len(left) < len(batch) else len(left) // 2
                pending[:0] = [left[:cut], left[cut:]]
        return [self.found.get(k, DeviceAnswer(error=reason)) for k in every]

    def _call(self, numbers: Sequence[int]) -> str:
        """Why some have no answer; "" where all have."""
        models = [self.models[k] for k in numbers]

        def heard(k: int, answer: DeviceAnswer) -> None:
            self.failures = 0
            self.found[numbers[k]] = answer
            if not answer.error:
                self.heard(numbers[k], answer)

        try:
            with queue_of_one(self.runner.command):
                arguments = self.runner.arguments(models)
                answers = call(arguments, list(map(str, models)), self.runner.timeout, heard)
        except CallError as error:
            self.failures += AS_LATE if isinstance(error, LateError) else 1
            return str(error)
        for k, answer in answers.items():
            if numbers[k] not in self.found:
                heard(k, answer)
        return ""


@contextmanager
def queue_of_one(command: str) -> Iterator[None]:
    """One call of a command at a time, in all processes and threads of the user.

    What shares a device times nothing.
    """
    folder = cache_folder()
    if folder is None:
        yield
        return
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock

        make_folder(folder)
        file = (folder / f"runner-{crc32(command.encode()):08x}.lock").open("ab")
    except (ImportError, OSError):  # no such locks here, or nowhere to keep them
        yield
        return
    with file:
        with suppress(OSError):
            flock(file, LOCK_EX)  # of the open file, so that threads wait for each other as well
        try:
            yield
        finally:
            with suppress(OSError):
                flock(file, LOCK_UN)  # what was forked meanwhile has the file open, too
