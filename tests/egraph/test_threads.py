"""Several threads, and processes started in any way, optimise without disturbing each other."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from onnx import ModelProto, parser

from egraph_opt import optimize
from egraph_opt.egraph.engines import engine_for
from egraph_opt.forking import cached_property, lock_across_forks
from egraph_opt.laws.selection import select


def model(width: int) -> ModelProto:
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, {width}] x) => (float[{width}, 2, 3] y) {{
            a = Relu (x) b = Relu (a)
            t = Transpose <perm = [2, 0, 1]> (b) u = Transpose <perm = [2, 0, 1]> (t)
            y = Transpose <perm = [2, 0, 1]> (u) }}"""
    )


def optimized(width: int, verify: bool = False) -> bytes:
    result = optimize(model(width), "nodes", verify=verify)
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


def wait_for(children: Iterable[BaseProcess], seconds: float = 60) -> list[int | None]:
    """The exit codes of processes; None of one that hangs."""
    end = time.monotonic() + seconds
    codes = []
    for child in children:
        child.join(max(end - time.monotonic(), 0))
        codes.append(child.exitcode)
        child.kill()
    return codes


def check(expected: bytes) -> None:
    """Verify in the main thread and in another; what a child does."""
    assert optimized(4, verify=True) == expected
    assert in_threads(lambda: optimized(4, verify=True)) == [expected]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_is_forked_at_any_point_of_what_other_threads_do() -> None:
    expected, stop = optimized(4), threading.Event()

    def work() -> None:
        while not stop.is_set():
            optimized(5)

    threads = [threading.Thread(target=work) for _ in range(2)]
    context, children = multiprocessing.get_context("fork"), []
    try:
        for thread in threads:
            thread.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for turn in range(5):
                time.sleep(0.01 * turn)
                children.append(context.Process(target=check, args=(expected,)))
                children[-1].start()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wait_for(children) == [0] * 5
    check(expected)


@pytest.mark.parametrize("method", sorted({*multiprocessing.get_all_start_methods()} - {"fork"}))
def test_a_started_process_optimises_after_its_parent_has(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    child = context.Process(target=check, args=(optimized(4),))
    child.start()
    assert wait_for([child]) == [0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_lock_that_another_thread_holds_is_free_in_a_fork() -> None:
    lock, held, free = lock_across_forks(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            free.wait(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = multiprocessing.get_context("fork").Process(target=lock.acquire)
        child.start()
    thread.join()
    assert wait_for([child], 20) == [0]
    assert not lock.locked()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_property_that_another_thread_computes_is_there_in_a_fork() -> None:
    asked, answered, parent = threading.Event(), threading.Event(), os.getpid()

    class Holder:
        @cached_property
        def process(self) -> int:
            asked.set()
            if os.getpid() == parent:
                answered.wait(30)
            return os.getpid()

    holder = Holder()
    thread = threading.Thread(target=lambda: holder.process)
    thread.start()
    asked.wait()

    def child() -> None:
        assert holder.process == Holder().process == os.getpid()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
    codes = wait_for([process], 20)
    answered.set()
    thread.join()
    assert codes == [0]
