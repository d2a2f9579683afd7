"""Whole models timed by a command beside each other, and the journal of what it has answered."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from egraph_opt.errors import TimingError
from egraph_opt.foreign_text import parsed_json
from egraph_opt.measurement.device_call import DeviceAnswer, answer_of
from egraph_opt.measurement.runner import Runner
from egraph_opt.measurement.whole import Latency

Key = tuple[str, str, int]
"""A command, a digest of the model, and a round."""


class TimesJournal:
    """What was measured, by command, model and round: lines of JSON, each written when it is known.

    All times of a command are of one device: of two they would be compared.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[Key, DeviceAnswer] = {}
        self._devices: defaultdict[str, set[str]] = defaultdict(set)
        text = path.read_text(encoding="utf-8", errors="replace") if path and path.exists() else ""
        self._ends = not text or text.endswith("\n")
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: str) -> None:
        try:
            said: Any = parsed_json(line)
            key = str(said["command"]), str(said["model"]), int(said["round"])
        except (ValueError, LookupError, TypeError, OverflowError):
            return  # half a line, where a process was killed
        answer = answer_of(said)
        if not answer.error:
            self._know(key, answer)

    def _know(self, key: Key, answer: DeviceAnswer) -> None:
        self.known[key] = answer
        self._devices[key[0]].add(answer.device)

    def check(self, command: str) -> None:
        """Raises TimingError where it has times of several devices."""
        devices = sorted(self._devices[command])
        if len(devices) > 1:
            named = ", ".join(map(repr, devices))
            raise TimingError(f"times of several devices: {named}; take another journal")

    def add(self, key: Key, answer: DeviceAnswer) -> None:
        """Keep an answer.

        Raises:
            TimingError: it is of another device than those before it.
        """
        self._know(key, answer)
        self.check(key[0])
        if self.path is not None:
            said: dict[str, object] = dict(zip(("command", "model", "round"), key, strict=True))
            said |= {"micros": answer.micros, "device": answer.device}
            if answer.nodes:
                said["nodes"] = dict(answer.nodes)
            with self.path.open("a", encoding="utf-8") as file:
                if not self._ends:
                    print(file=file)
                self._ends = True
                print(json.dumps(said), file=file)


class Rounds:
    """Models that a command times round by round, but for what the journal knows.

    Args:
        first: what the first model is, for messages: it has to run.

    Attributes:
        answers: per model those of the rounds so far; after an error there are no more.
    """

    def __init__(self, runner: Runner, models: Sequence[Path], first: str) -> None:
        self.runner, self.models, self.first = runner, models, first
        self.journal = TimesJournal(runner.journal)
        self.journal.check(runner.command)
        self.digests = [hashlib.sha256(model.read_bytes()).hexdigest() for model in models]
        self.answers: list[list[DeviceAnswer]] = [[] for _ in models]

    def run(self, number: int, batches: Callable[[Sequence[int]], Iterable[Sequence[int]]]) -> None:
        """One round.

        Args:
            batches: how those that are to be timed are called.

        Raises:
            TimingError: the first model was not timed, or on another device than others.
        """
        keys = [(self.runner.command, digest, number) for digest in self.digests]
        going = [k for k, answers in enumerate(self.answers) if not any(a.error for a in answers)]
        waiting = [k for k in going if keys[k] not in self.journal.known]
        for batch in batches(waiting):
            some = [self.models[k] for k in batch]
            said = self.runner.time(some, partial(self._keep, [keys[k] for k in batch]))
            refused = {k: answer for k, answer in zip(batch, said, strict=True) if answer.error}
            for k, answer in refused.items():
                self.answers[k].append(answer)
            if 0 in refused:
                raise TimingError(f"{self.first}: {refused[0].error}")
        for k in going:
            if keys[k] in self.journal.known:
                self.answers[k].append(self.journal.known[keys[k]])

    def _keep(self, keys: Sequence[Key], number: int, answer: DeviceAnswer) -> None:
        self.journal.add(keys[number], answer)


def latencies_on(runner: Runner, models: Sequence[Path]) -> list[Latency | str]:
    """How fast models are beside the first one, in turns; of one that does not run the reason.

    Raises:
        TimingError: the first one was not timed, or others on another device.
    """
    rounds = Rounds(runner, models, "the original")
    for number in range(runner.rounds):
        rounds.run(number, lambda waiting: [waiting])
    first = [answer.micros for answer in rounds.answers[0]]
    return [
        next((a.error for a in answers if a.error), None) or _latency(first, [a.micros for a in answers])
        for answers in rounds.answers
    ]


def _latency(first: Sequence[float], own: Sequence[float]) -> Latency:
    """The median of the rounds' ratios; the interval has all of them."""
    ratios = np.array(first) / np.array(own)
    low, middle, high = (float(share) for share in np.quantile(ratios, (0, 0.5, 1)))
    return Latency(float(np.median(own)), middle, low, high, len(own))
