"""An e-graph serves the thread that made it; used or dropped elsewhere, nothing panics or is lost."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from onnx import parser

from egraph_opt import optimize, saturate
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.engines import _kept, forget_engines
from egraph_opt.egraph.ownership import OwnedGraph, _of_thread
from egraph_opt.errors import EngineError
from egraph_opt.imports import bindings
from egraph_opt.laws.selection import select

FAILED = r"the engine of e-graphs failed: .*(no more|pop).*the next model gets a new e-graph"

SPAN = bindings.RustSpan("", 0, 0)

TRANSPOSES = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x) => (float[4, 2, 3] y) {
    a = Relu (x) t = Transpose <perm = [2, 0, 1]> (a) u = Transpose <perm = [2, 0, 1]> (t)
    y = Transpose <perm = [2, 0, 1]> (u) }"""


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Python could only tell of, such as an e-graph that cannot be dropped."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(what.exc_value))
    return told


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What a function answers in a thread, which has ended then."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(function()))
    thread.start()
    thread.join()
    return answers.pop()


def test_an_engine_of_another_thread_says_what_to_do() -> None:
    engine = Engine(select(["transpose"]))
    with ThreadPoolExecutor(1) as pool, pytest.raises(EngineError, match="hand on what `saturate` returns"):
        pool.submit(engine.size).result()
    assert engine.size() == 0


def test_an_engine_whose_thread_has_ended_says_what_to_do() -> None:
    engine = in_a_thread(lambda: Engine(select(["transpose"])))
    with pytest.raises(EngineError, match="only the thread that made it"):
        engine.size()


def test_what_fails_in_the_engine_is_an_error_of_ours_and_the_next_graph_is_served() -> None:
    model = parser.parse_model(TRANSPOSES)
    forget_engines()
    expected = optimize(model, "nodes", verify=False).model.SerializeToString()
    for command in (bindings.Pop(SPAN, 9), bindings.ActionCommand(bindings.Panic(SPAN, "no\nmore"))):
        (engine,) = _kept.engines
        with pytest.raises(EngineError, match=FAILED):
            engine._do(command)
        assert optimize(model, "nodes", verify=False).model.SerializeToString() == expected


def test_a_panic_which_is_no_exception_is_an_error_of_ours() -> None:
    graph = OwnedGraph()
    raw = graph.graph

    def elsewhere() -> None:
        engine = Engine(select(["transpose"]))
        _of_thread.graphs.made[engine._owned._number] = raw  # what no thread of ours does
        try:
            engine.size()
        finally:
            _of_thread.graphs.made.clear()

    with ThreadPoolExecutor(1) as pool, pytest.raises(EngineError, match="unsendable"):
        pool.submit(elsewhere).result()


@pytest.mark.parametrize("alive", [True, False])
def test_an_e_graph_may_be_dropped_in_any_thread(unraisable: list[Any], alive: bool) -> None:
    with ThreadPoolExecutor(1) as pool:
        held = [pool.submit(OwnedGraph).result()]
        if alive:
            held.clear()
            gc.collect()
            pool.submit(OwnedGraph).result()
    held.clear()
    gc.collect()
    assert not unraisable


def test_a_graph_dropped_elsewhere_is_freed_with_the_next() -> None:
    def made() -> set[int]:
        return set(OwnedGraph()._graphs().made)  # type: ignore[union-attr]

    with ThreadPoolExecutor(1) as pool:
        mine = pool.submit(OwnedGraph).result()
        number = mine._number
        assert number in pool.submit(made).result()
        del mine
        assert number not in pool.submit(made).result()


def test_an_error_of_a_thread_is_held_and_dropped_in_another(unraisable: list[Any]) -> None:
    def failing() -> None:
        engine = Engine(select(["transpose"]))
        engine._do(bindings.Pop(SPAN, 9))

    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(failing).exception()
    assert isinstance(error, EngineError)
    del error
    gc.collect()
    assert not unraisable


def test_what_was_saturated_in_one_thread_is_extracted_in_others() -> None:
    model = parser.parse_model(TRANSPOSES)
    expected = optimize(model, "nodes", verify=False).model.SerializeToString()
    theirs, mine = in_a_thread(lambda: saturate(model)), saturate(model)

    def extracted(saturated: Any) -> bytes:
        found: bytes = saturated.extract("nodes", verify=False, restarts=True).model.SerializeToString()
        return found

    assert extracted(theirs) == expected
    assert in_a_thread(lambda: extracted(mine)) == expected
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(extracted, [theirs, mine] * 3)) == [expected] * 6


def test_the_process_ends_in_silence_while_a_thread_has_e_graphs() -> None:
    program = (
        "import threading, time\n"
        "from egraph_opt.egraph.ownership import OwnedGraph\n"
        "made = threading.Event()\n"
        "def work():\n"
        "    mine = OwnedGraph(); made.set(); time.sleep(100)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "made.wait()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_rules_run_in_one_thread_whatever_the_environment_says() -> None:
    program = (
        "import os\n"
        "from egraph_opt.egraph.ownership import OwnedGraph\n"
        "OwnedGraph()\n"
        "assert os.environ['RAYON_NUM_THREADS'] == '4'\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("this system does not tell its threads")
    environment = {**os.environ, "RAYON_NUM_THREADS": "4"}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert ended.stdout == "2\n", ended.stderr  # Python's, and the one of egglog's pool
