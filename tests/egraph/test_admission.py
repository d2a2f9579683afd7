"""A run of rules that match without end writes no more than limits let it, and ends in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from onnx import parser

from egraph_opt.egraph import saturation
from egraph_opt.egraph.admission import LEAST_SECONDS, Admission
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.laws import Law, Settings, Tensor, absent, eq, hosted, rewrite
from egraph_opt.operators import binary, unary
from egraph_opt.pipeline import saturate

WIDTH = 60


def law_of(function: Callable[..., Any]) -> Law:
    """A law that is not registered."""
    return Law("testing", function.__name__, function.__doc__ or "", "algebra", "bitwise", function, None)


def terms_of(node: str) -> Lowered:
    """A graph of many nodes `y<k> = ..` that are alike but for their number, {k}."""
    given, found = (", ".join(f"float[2] {name}{k}" for k in range(WIDTH)) for name in "xy")
    body = " ".join(node.format(k=k) for k in range(WIDTH))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({given}) => ({found}) {{{body}}}'
    region = saturate(parser.parse_model(text), rewrites=[]).region
    assert region is not None
    return region.lowered


def all_sums(x: Tensor, y: Tensor, z: Tensor, w: Tensor, other: Tensor) -> Iterator[Any]:
    """x + y = x + w, for any sum z + w, of the same type."""
    yield rewrite(
        binary("Add", x, y),
        binary("Add", x, w),
        eq(other, binary("Add", z, w)),
        because="one side is enough here",
    )


def test_one_run_writes_no_more_than_twice_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saturation, "OVERSHOOT", 1000)
    lowered, nodes = terms_of("y{k} = Add (x{k}, x{k})"), 200
    snapshot, report = saturate_terms(lowered, (law_of(all_sums),), {}, nodes=nodes, rounds=9, seconds=60)
    assert report.stop == "nodes"
    assert nodes < snapshot.n_nodes <= 2 * nodes + 1000 < WIDTH**2


@hosted()
def takes_its_time(one: Settings, other: Settings) -> bool:
    time.sleep(0.005)
    return False


def waits(x: Tensor, y: Tensor, a: Settings, b: Settings, other: Tensor) -> Iterator[Any]:
    """LeakyRelu_a(x) = Relu(LeakyRelu_a(x)), said of any two that a function says nothing of."""
    left, written = unary("LeakyRelu", a, x), eq(other, unary("LeakyRelu", b, y))
    yield rewrite(
        left, unary("Relu", (), left), written, takes_its_time(a, b), because="one side is enough here"
    )


def agrees(x: Tensor, y: Tensor, a: Settings, b: Settings, other: Tensor) -> Iterator[Any]:
    """LeakyRelu_a(x) = LeakyRelu_b(y), writing nothing, where a function says no."""
    written = eq(other, unary("LeakyRelu", b, y))
    yield rewrite(
        unary("LeakyRelu", a, x), other, written, absent(never_true(a, b)), because="one side is enough here"
    )


@hosted()
def never_true(one: Settings, other: Settings) -> bool:
    time.sleep(0.005)
    return True


@pytest.mark.parametrize("function", [waits, agrees])
def test_one_run_ends_in_time_and_what_nobody_answered_is_not_believed(function: Callable[..., Any]) -> None:
    lowered, started = terms_of("y{k} = LeakyRelu <alpha = 0.{k}1> (x{k})"), time.monotonic()
    snapshot, report = saturate_terms(
        lowered, (law_of(function),), {}, nodes=10_000, rounds=9, seconds=LEAST_SECONDS
    )
    assert time.monotonic() - started < 4, "all answers would take 18 s"
    assert (report.stop, report.matches) == ("seconds", {})
    assert report.classes == snapshot.n_nodes, "nothing was joined"


def test_without_limits_anything_is_admitted() -> None:
    admission = Admission()
    assert admission.admits(10**9)
    with admission.limited(10, time.monotonic() + 60):
        assert admission.admits(10) and not admission.admits(1) and not admission.admits(0)
    assert admission.ended_by == "nodes"
    assert admission.admits(10**9)
    with admission.limited(10, time.monotonic() + 60):
        assert admission.admits(10)
    assert admission.ended_by == ""
