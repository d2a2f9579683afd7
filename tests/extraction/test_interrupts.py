"""A search that is told to stop, by a caller or by Ctrl-C, returns the best it has, or raises where asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize, saturate
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.extraction import ExtractionProblem, check, extract
from egraph_opt.extraction.strategies.budget import interruptible

from .egraphs import problem_of

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[2, 3, 4] x) => (float[2, 3, 4] y)
{
    t = Transpose <perm = [0, 2, 1]> (x)
    r = Relu (t)
    y = Transpose <perm = [0, 2, 1]> (r)
}
"""


@pytest.fixture(autouse=True)
def _ctrl_c_is_python_s() -> Iterator[None]:
    """A shell lets what it starts in the background ignore SIGINT; Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def knotted(classes: int = 60) -> ExtractionProblem:
    """Too wide for dynamic programming: every extractor has to solve programs."""
    rng = np.random.default_rng(5)
    nodes = []
    for here in range(classes):
        for way in range(4):  # the first cannot close a cycle
            top = here if way == 0 else classes
            below = tuple(rng.integers(0, top, 2).tolist()) if here > classes // 15 else ()
            nodes.append((here, below, float(rng.integers(1, 9)), 0.0))
    return problem_of(nodes, list(range(classes - 10, classes)))


def at_the(number: int, then: Callable[[], bool]) -> Callable[[], bool]:
    """A question that is answered with no until it is asked for the nth time."""
    asked = 0

    def ask() -> bool:
        nonlocal asked
        asked += 1
        return then() if asked >= number else False

    return ask


def interrupt() -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["auto", "ilp", "exact"])
@pytest.mark.parametrize("asked", [1, 3, 10])
def test_a_search_that_is_told_to_stop_returns_what_it_has(name: str, asked: int) -> None:
    problem = knotted()
    incumbent = extract(problem, "tree").choice
    solution = extract(problem, name, incumbent=incumbent, iterations=5, stop=at_the(asked, lambda: True))
    check(problem, solution)
    assert solution.interrupted
    assert solution.cost <= float(problem.cost[incumbent[incumbent >= 0]].sum())


def test_more_patience_never_makes_it_worse() -> None:
    problem = knotted()
    costs = [extract(problem, "ilp", stop=at_the(n, lambda: True), iterations=3).cost for n in (1, 4, 1000)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("name", ["auto", "ilp", "exact"])
@pytest.mark.parametrize("asked", [1, 3, 10])
def test_what_the_question_raises_comes_out_of_the_solver(name: str, asked: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(knotted(), name, iterations=5, stop=at_the(asked, interrupt))
    assert extract(knotted(20), name, iterations=2).cost > 0  # the solver works as before


def test_a_search_that_is_not_stopped_is_not_interrupted() -> None:
    problem = knotted(30)
    plain = extract(problem, "ilp", iterations=2)
    asked = extract(problem, "ilp", iterations=2, stop=lambda: False)
    assert not asked.interrupted
    np.testing.assert_array_equal(plain.choice, asked.choice)


def test_ctrl_c_becomes_an_answer_and_the_second_one_raises() -> None:
    with interruptible() as pressed:
        assert pressed is not None
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_no_search_noticed_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_inside_the_solver_ends_it_there() -> None:
    problem = knotted()
    with interruptible() as pressed:
        assert pressed is not None

        def press() -> bool:
            signal.raise_signal(signal.SIGINT)
            return pressed()

        solution = extract(problem, "exact", iterations=5, stop=at_the(10, press))
    check(problem, solution)
    assert solution.interrupted


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    answers: list[object] = []

    def elsewhere() -> None:
        with interruptible() as pressed:
            answers.append(pressed)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    with interruptible("raise") as pressed:
        answers.append(pressed)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible() as pressed:
            answers.append(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
    assert answers == [None, None, None]
    with pytest.raises(ValueError, match="must be 'best' or 'raise'"), interruptible("never"):  # type: ignore[arg-type]
        pass


class Pressing(CostModel):
    """Counts nodes, and presses Ctrl-C when it is asked for the first price."""

    name = "pressing"
    unit = "nodes"

    def __init__(self) -> None:
        self.pressed = False

    def cost(self, node: NodeView) -> float:
        if not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)
        return 1.0


def test_optimize_hands_back_the_best_found_with_a_warning() -> None:
    result = optimize(parser.parse_model(MODEL), Pressing())
    onnx.checker.check_model(result.model)
    assert any("interrupted" in warning for warning in result.report.warnings)
    assert result.report.cost.after <= result.report.cost.before


def test_optimize_raises_where_that_was_asked_for() -> None:
    saturated = saturate(parser.parse_model(MODEL))
    for method in (saturated.extract, saturated.solve):
        with pytest.raises(KeyboardInterrupt):
            method(Pressing(), on_interrupt="raise")
    assert saturated.solve(Pressing()).solution.interrupted
    with pytest.raises(KeyboardInterrupt):
        optimize(parser.parse_model(MODEL), Pressing(), on_interrupt="raise")


ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.extraction.test_interrupts import knotted
from egraph_opt.extraction import check, extract
from egraph_opt.extraction.strategies.budget import interruptible

problem = knotted(300)
with interruptible() as stop:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    solution = extract(problem, "exact", iterations=100_000, stop=stop)
check(problem, solution)
print("interrupted" if solution.interrupted else "finished")
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to oneself")
def test_a_real_signal_reaches_a_search_that_would_take_minutes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "interrupted", done.stderr
