"""Large inputs are drawn in blocks and once, and what there is no time for is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from egraph_opt.verification import inputs, random_inputs, verify
from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.comparison import same_bytes
from egraph_opt.verification.execution import ExecutionError, Session
from egraph_opt.verification.interface import interface
from egraph_opt.verification.odd_values import spread
from egraph_opt.verification.planning import LATE, PlanSearch
from egraph_opt.verification.seen import Seen
from egraph_opt.verification.sizes import MAX_ELEMENTS

from .models import model

RELUS = model("g (float[3, 8] x) => (float[3, 8] y) { a = Relu (x) y = Relu (a) }")
WRONG = model("g (float[3, 8] x) => (float[3, 8] y) { a = Relu (x) y = Neg (a) }")
EVERY = model(
    "g (float[6, 100] x, int64[6, 100] i, string[6, 100] s, bool[6, 100] b, float[6, 8] z)"
    " => (float[6, 100] y) { y = Relu (x) }"
)

Counted = dict[str, int]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("inputs", "odd_values"):
        monkeypatch.setattr(f"egraph_opt.verification.{place}.MAX_ELEMENTS", 100)
        monkeypatch.setattr(f"egraph_opt.verification.{place}.BLOCK", 97)
    for place in ("comparison", "seen"):
        monkeypatch.setattr(f"egraph_opt.verification.{place}.BLOCK", 97)


@pytest.mark.usefixtures("small_blocks")
def test_large_inputs_repeat_a_block_and_small_ones_do_not() -> None:
    found = random_inputs(EVERY)
    for name in "xisb":
        flat = found[name].reshape(-1)
        assert np.array_equal(flat[97:], flat[:-97])
        assert len({row.tobytes() for row in found[name]}) == 6
    assert found["x"].dtype == np.float32
    assert len(set(found["z"].reshape(-1).tolist())) == 48


def test_blocks_are_of_a_prime_number_of_elements() -> None:
    """Of another, channels of 2048 x 2048 would be alike, and no mistake of theirs would show."""
    assert all(inputs.BLOCK % k for k in range(2, 2**11))
    assert inputs.BLOCK <= MAX_ELEMENTS < 2**22 + 1


def test_small_inputs_are_those_that_they_were() -> None:
    generator = np.random.default_rng([0, inputs.number_of("x")])
    drawn = generator.standard_normal((6, 100)).astype(np.float32)
    assert np.array_equal(random_inputs(EVERY)["x"], drawn)


@pytest.mark.usefixtures("small_blocks")
def test_odd_values_of_large_inputs_are_made_for_a_block() -> None:
    given = {"x": np.zeros((6, 100), np.float32)}
    near = spread(given, "near", (), 0)["x"].reshape(-1)
    assert np.array_equal(near[97:], near[:-97])
    level = spread(given, "level", (), 0)["x"]
    assert (level == level[:, :1]).all()
    assert (np.diff(spread(given, "rising", (), 0)["x"].reshape(-1)) >= 0).all()


@pytest.mark.usefixtures("small_blocks")
def test_the_last_element_counts() -> None:
    zeros, other = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    other[-1] = 1.0
    assert same_bytes(zeros, zeros.copy())
    assert not same_bytes(zeros, other)
    reasons = []
    for array in (zeros, other, other + 1):
        seen = Seen(elements=array.size)
        seen.look(array)
        reasons.append(seen.says_little)
    assert reasons == ["constant", "", ""]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """How often inputs are drawn and models run."""
    found = {"drawn": 0, "run": 0}

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            found[name] += 1
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(inputs, "random_tensor", counting("drawn", inputs.random_tensor))
    monkeypatch.setattr(Session, "run", counting("run", Session.run))
    return found


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("budget", "course"):
        monkeypatch.setattr(f"egraph_opt.verification.{place}.LEAST_SECONDS", 0.0)


@pytest.mark.usefixtures("no_grace")
def test_without_time_models_are_compared_once_and_the_rest_is_said(counted: Counted) -> None:
    found = verify(RELUS, RELUS, end=0.0, budget=RunBudget(end=0.0, longest=1.0))
    assert counted == {"drawn": 1, "run": 2}
    assert found.status == "passed"
    assert found.detail.startswith("1 runs agree; fewer random inputs than usual, as the limit of seconds")
    assert "no odd values, as the limit of seconds was reached" in found.detail
    assert "not compared with the optimisations of ONNX Runtime" in found.detail
    assert verify(RELUS, WRONG, end=0.0, budget=RunBudget(end=0.0)).status == "failed"


@pytest.mark.usefixtures("no_grace")
def test_without_time_constant_outputs_get_no_further_inputs(counted: Counted) -> None:
    constant = model("g (float[3, 8] x) => (float[3, 8] y) { a = Sub (x, x) y = Relu (a) }")
    found = verify(constant, constant, end=0.0, budget=RunBudget(end=0.0, longest=1.0))
    assert counted == {"drawn": 1, "run": 2}
    assert "constant on all inputs tried: y" in found.detail


def test_with_time_nothing_is_left_out(counted: Counted) -> None:
    found = verify(RELUS, RELUS)
    assert found.detail == "3 runs agree"
    assert counted["run"] > 20


def test_a_search_for_inputs_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where no input is found: it tried hundreds."""
    clock = [0.0]
    monkeypatch.setattr("egraph_opt.verification.planning.time.monotonic", lambda: clock[0])

    def run(feeds: object, sizes: object) -> list[Any]:
        clock[0] += 3.0
        raise ExecutionError("it does not")

    any_size = model("g (float[n, h, w] x) => (float[n, h, w] y) { y = Relu (x) }")
    search = PlanSearch(interface(any_size).required, run, budget=RunBudget(bytes=1e9, end=10.0))
    with pytest.raises(BudgetError, match=LATE):
        search.plan()
    assert clock[0] == 12.0


def test_a_search_that_found_inputs_takes_them_when_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("egraph_opt.verification.planning.time.monotonic", lambda: clock[0])

    def run(feeds: object, sizes: object) -> list[Any]:
        clock[0] += 30.0
        return []

    any_size = model("g (int64[n] x) => (int64[n] y) { y = Abs (x) }")
    plan = PlanSearch(interface(any_size).required, run, budget=RunBudget(bytes=1e9, end=10.0)).plan()
    assert clock[0] == 30.0
    assert (plan.sizes, plan.integers) == (({"n": 2},), {"x": (0, 1)})
