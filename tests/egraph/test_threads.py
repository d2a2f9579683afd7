"""Several threads, and a forked process, optimise without disturbing each other."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from onnx import ModelProto, parser

from egraph_opt import optimize
from egraph_opt.egraph.engines import engine_for
from egraph_opt.laws.selection import select


def model(width: int) -> ModelProto:
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, {width}] x) => (float[{width}, 2, 3] y) {{
            a = Relu (x) b = Relu (a)
            t = Transpose <perm = [2, 0, 1]> (b) u = Transpose <perm = [2, 0, 1]> (t)
            y = Transpose <perm = [2, 0, 1]> (u) }}"""
    )


def optimized(width: int) -> bytes:
    result = optimize(model(width), "nodes", verify=False)
    assert result.report.nodes.after < 5
    return result.model.SerializeToString()


def in_threads(*functions: Callable[[], Any]) -> list[Any]:
    answers: list[Any] = [None] * len(functions)

    def run(k: int) -> None:
        answers[k] = functions[k]()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_a_thread_then_the_main_one_then_a_thread() -> None:
    (first,) = in_threads(lambda: optimized(4))
    assert first == optimized(4)
    assert in_threads(lambda: optimized(4)) == [first]


def test_two_threads_at_once() -> None:
    widths = (4, 5, 6, 7)
    expected = [optimized(width) for width in widths]

    def several(turn: int) -> list[bytes]:
        return [optimized(widths[(k + turn) % 4]) for k in range(8)]

    for turn, answers in enumerate(in_threads(lambda: several(0), lambda: several(1))):
        assert answers == [expected[(k + turn) % 4] for k in range(8)]


def test_a_thread_has_engines_of_its_own() -> None:
    laws = select(["transpose"])
    assert engine_for(laws) is engine_for(laws)
    (other,) = in_threads(lambda: id(engine_for(laws)))
    assert other != id(engine_for(laws))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_engines_of_its_own() -> None:
    expected = optimized(4)
    laws = select(["transpose"])
    mine = engine_for(laws)

    def child(answers: Any) -> None:
        assert engine_for(laws) is not mine
        answers.send([optimized(4) for _ in range(3)] + in_threads(lambda: optimized(4)))

    here, there = multiprocessing.Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads may hang
        process = multiprocessing.get_context("fork").Process(target=child, args=(there,))
        process.start()
    if not here.poll(30):
        process.kill()
        pytest.fail("the child hangs")
    assert here.recv() == [expected] * 4
    process.join(60)
    assert process.exitcode == 0
    assert optimized(4) == expected
