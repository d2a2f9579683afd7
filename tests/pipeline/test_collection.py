"""While a model is optimised Python's collector runs rarely, and afterwards as it did before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.pipeline.collection import RARELY, collected_rarely

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) y = Relu (a) }"""


@pytest.fixture(autouse=True)
def usual() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(600, 9, 8)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_it_is_as_before_after_an_optimisation(usual: tuple[int, int, int]) -> None:
    seen = set()
    optimize(parser.parse_model(MODEL), "nodes", progress=lambda stage, done: seen.add(gc.get_threshold()))
    assert RARELY in seen
    assert gc.get_threshold() == usual


def test_it_is_as_before_after_an_error(usual: tuple[int, int, int]) -> None:
    @collected_rarely()
    def fails() -> None:
        assert gc.get_threshold() == RARELY
        raise ValueError("as it does")

    with pytest.raises(ValueError, match="as it does"):
        collected_rarely()(fails)()
    assert gc.get_threshold() == usual


def test_it_runs_rarely_until_the_last_thread_is_done(usual: tuple[int, int, int]) -> None:
    inside, leave = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def work() -> None:
        with collected_rarely():
            inside.wait()
            leave.wait()

    thread = Thread(target=work)
    with collected_rarely():
        thread.start()
        inside.wait()
    assert gc.get_threshold() == RARELY
    leave.wait()
    thread.join()
    assert gc.get_threshold() == usual


def test_where_it_is_off_or_set_by_others_it_is_left_alone() -> None:
    gc.set_threshold(0)
    with collected_rarely():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
    gc.set_threshold(600, 9, 8)
    with collected_rarely():
        gc.set_threshold(1234, 5, 6)
    assert gc.get_threshold() == (1234, 5, 6)
