"""Processes that examine seeds: one that crashes or does not end is replaced."""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
from multiprocessing.connection import Connection

import onnx

from .checking import REAL, check, idempotent
from .models import random_model

NO_ERRORS = ("models", "discarded", "again", "unstable")
"""Counts and findings that are no errors."""


def examine(seed: int, options: argparse.Namespace) -> int:
    """Print what is wrong with one seed: 0 nothing, 1 something, 2 there is no model."""
    model = random_model(seed)
    if model is None:
        return 2
    wrong = False
    findings = list(check(model, seed, costs=options.costs, every_node=not options.fast))
    if options.again:
        findings += [more for cost in REAL if (more := idempotent(model, cost)) is not None]
    for finding in findings:
        wrong |= finding.kind not in NO_ERRORS
        opset = model.opset_import[0].version
        print(f"seed {seed} (opset {opset}) {finding.kind}: {finding.message}", flush=True)
    if wrong and options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        onnx.save(model, options.save / f"{seed}.onnx")
    return int(wrong)


def work(pipe: Connection, options: argparse.Namespace) -> None:
    """Examine the seeds that come through a pipe; answer with their codes."""
    while True:
        seed = pipe.recv()
        try:
            pipe.send(examine(seed, options))
        except Exception as error:
            print(f"seed {seed} crash: {type(error).__name__}: {error}", flush=True)
            pipe.send(1)


class Worker:
    """A process that examines seeds, and that may crash or be ended."""

    def __init__(self, options: argparse.Namespace) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, options), daemon=True)
        self.process.start()
        other.close()

    def examine(self, seed: int, patience: float) -> int | None:
        """The code of a seed; None where the process died or took too long."""
        self.pipe.send(seed)
        if self.pipe.poll(patience):
            with contextlib.suppress(EOFError, ConnectionError):
                return int(self.pipe.recv())
        self.process.join(0.5)
        ended = self.process.exitcode
        self.process.kill()
        self.process.join()
        print(f"seed {seed} " + ("takes too long" if ended is None else f"died ({ended})"), flush=True)
        return None
