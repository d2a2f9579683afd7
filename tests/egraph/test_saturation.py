"""Saturation stops where it is told to, survives a wrong law, and does the same each time."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.egraph import saturation
from egraph_opt.egraph.engines import forget_engines
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport, saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import UnsoundLawError
from egraph_opt.laws import Law, Permutation, Settings, String, Tensor, hosted, rewrite
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import select
from egraph_opt.operators import binary, transpose, unary
from egraph_opt.pipeline import Limits, saturate

WIDE = """(float[2, 3, 4] x, float[2, 3, 4] z) => (float[3, 4, 2] y) {
    a = Relu (x) b = Relu (a) s = Add (b, z) t = Transpose <perm = [2, 0, 1]> (s)
    y = Transpose <perm = [2, 0, 1]> (t)
}"""


@hosted()
def successor(settings: Settings) -> Settings:
    ((name, value),) = settings
    return ((name, value + 1.0),)


def endless(x: Tensor, s: Settings) -> Iterator[Any]:
    """LeakyRelu_a(x) = LeakyRelu_(a + 1)(x), which no round is the last to find."""
    yield rewrite(
        unary("LeakyRelu", s, x), unary("LeakyRelu", successor(s), x), because="one side is enough here"
    )


def forgets_to_transpose(x: Tensor, p: Permutation) -> Iterator[Any]:
    """Transpose_p(x) = x, of another type; writes no e-node."""
    yield rewrite(transpose(x, p), x, because="one side is enough here")


def forgets_to_transpose_a_sum(op: String, x: Tensor, y: Tensor, p: Permutation) -> Iterator[Any]:
    """Transpose_p(x + y) = y + x, of another type; writes an e-node."""
    yield rewrite(transpose(binary(op, x, y), p), binary(op, y, x), because="one side is enough here")


CALLS: list[Settings] = []


@hosted()
def hangs_the_second_time(s: Settings) -> Settings:
    CALLS.append(s)
    while len(CALLS) == 2:
        time.sleep(0.001)
    return s


def calls_what_hangs(x: Tensor, s: Settings) -> Iterator[Any]:
    """Relu(x) = Relu(x)"""
    yield rewrite(
        unary("Relu", s, x), unary("Relu", hangs_the_second_time(s), x), because="one side is enough here"
    )


def test_law(function: Callable[..., Any]) -> Law:
    """A law that is not registered."""
    text = (function.__doc__ or "").splitlines()[0]
    return Law("testing", function.__name__, text, "algebra", "bitwise", function, None)


test_law.__test__ = False  # type: ignore[attr-defined]


def model_of(text: str, *initializers: onnx.TensorProto) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    model.graph.initializer.extend(initializers)
    return model


def terms_of(text: str) -> Lowered:
    region = saturate(model_of(text), rewrites=[]).region
    assert region is not None
    return region.lowered


def saturated(
    text: str, *laws: Law, nodes: int = 10_000, rounds: int = 10, seconds: float = 600, strict: bool = True
) -> tuple[Snapshot, SaturationReport]:
    return saturate_terms(
        terms_of(text), laws, {}, nodes=nodes, rounds=rounds, seconds=seconds, strict=strict
    )


ENDLESS = "(float[2] x) => (float[2] y) { y = LeakyRelu (x) }"


def test_without_laws_nothing_happens() -> None:
    snapshot, report = saturated(WIDE)
    assert (report.rounds, report.stop, report.matches) == (0, "saturated", {})
    assert report.nodes == snapshot.n_nodes == report.classes == 7
    assert not snapshot.made_by.any()


def test_it_stops_by_itself_when_a_round_changes_nothing() -> None:
    _, report = saturated(WIDE, *select(["elementwise", "transpose"]))
    assert report.stop == "saturated"
    assert 1 < report.rounds < 10
    assert set(report.seconds) == {"elementwise", "transpose", "analysis"}


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_rounds_end_it(rounds: int) -> None:
    snapshot, report = saturated(ENDLESS, test_law(endless), rounds=rounds)
    assert (report.rounds, report.stop) == (rounds, "rounds")
    assert sorted(a[1][0][1] for a in snapshot.attributes if len(a) == 2) == pytest.approx(
        [0.01 + k for k in range(rounds + 1)]
    )


def test_nodes_end_it() -> None:
    snapshot, report = saturated(ENDLESS, test_law(endless), nodes=20, rounds=1000)
    assert report.stop == "nodes"
    assert report.nodes == snapshot.n_nodes == 21


def test_seconds_end_it() -> None:
    snapshot, report = saturated(ENDLESS, test_law(endless), rounds=10**9, seconds=1e-9)
    assert (report.rounds, report.stop) == (1, "seconds")
    assert snapshot.n_nodes > 2, "what was found until then counts"


def test_a_snapshot_that_a_limit_cut_short_is_as_good_as_any() -> None:
    result = optimize(model_of(WIDE), "nodes", limits=Limits(nodes=1, rounds=1), strict=True)
    assert result.report.saturation is not None and result.report.saturation.stop == "nodes"
    assert result.report.verification.status == "passed"


@pytest.mark.parametrize("function", [forgets_to_transpose, forgets_to_transpose_a_sum])
def test_strict_names_a_law_of_contradicting_types(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsoundLawError, match=f"testing.{function.__name__}"):
        saturated(WIDE, *select(["elementwise"]), test_law(function))


@pytest.mark.parametrize("function", [forgets_to_transpose, forgets_to_transpose_a_sum])
def test_both_types_that_contradict_each_other_are_named(function: Callable[..., Any]) -> None:
    text = """(float[2, 3] x, float[2, 3] z) => (float[3, 2] y) {
        s = Add (x, z) y = Transpose <perm = [1, 0]> (s)
    }"""
    with pytest.raises(UnsoundLawError) as error:
        saturated(text, test_law(function))
    types = "float\\[(2, 3|3, 2)\\]"
    found = re.search(f"in one class: {types} and {types}: ", str(error.value))
    assert found and found[1] != found[2]


@pytest.mark.parametrize("function", [forgets_to_transpose, forgets_to_transpose_a_sum])
def test_otherwise_that_law_is_left_out_and_the_others_go_on(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = test_law(function)
    monkeypatch.setitem(registered, bad.key, bad)
    result = optimize(model_of(WIDE), "nodes")
    (warning,) = result.report.warnings
    assert "left out" in warning and bad.key in warning
    assert result.report.verification.status == "passed"
    assert sorted(node.op_type for node in result.model.graph.node) == ["Add", "Relu", "Transpose"]
    with pytest.raises(UnsoundLawError, match=bad.key):
        optimize(model_of(WIDE), "nodes", strict=True)


def test_a_law_that_is_right_is_not_left_out_with_the_wrong_one() -> None:
    laws = (*select(["elementwise", "transpose"]), test_law(forgets_to_transpose_a_sum))
    snapshot, report = saturated(WIDE, *laws, strict=False)
    assert [text.split(":")[0] for text in report.dropped] == ["testing.forgets_to_transpose_a_sum"]
    assert set(snapshot.laws) == {entry.key for entry in laws[:-1]}
    assert snapshot.clashes() == []


def test_a_function_that_hangs_while_a_wrong_law_is_sought_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    forget_engines()
    monkeypatch.setattr(saturation, "watched", lambda: watched(0.3))
    seek = saturation._offending_law

    def seek_anew(*arguments: Any) -> str | None:
        forget_engines()  # and with them the answer, which would not be asked for a second time
        return seek(*arguments)

    monkeypatch.setattr(saturation, "_offending_law", seek_anew)
    wrong = test_law(forgets_to_transpose_a_sum)
    text = """(float[2, 3, 4] x, float[2, 3, 4] z) => (float[4, 2, 3] y) {
        r = Relu (x) s = Add (r, z) y = Transpose <perm = [2, 0, 1]> (s)
    }"""
    _, report = saturated(text, wrong, test_law(calls_what_hangs), strict=False)
    assert len(CALLS) == 3, "with all laws, with one after the other, and without the wrong one"
    assert [text.split(":")[0] for text in report.dropped] == [wrong.key]


def test_matches_and_chosen_nodes_are_counted_by_law() -> None:
    report = optimize(model_of(WIDE), "nodes", strict=True).report
    rows = {f"{row.ruleset}.{row.name}": row for row in report.rewrites}
    composed = rows["transpose.compose_transposes"]
    assert composed.matches >= 1 and composed.used == 1
    assert sum(row.used for row in report.rewrites) <= 3, "Relu and Add are there; two laws drop a Relu"
    assert all(row.matches or row.used for row in report.rewrites)


def branching() -> ModelProto:
    """A model with ties: many orders of equal cost."""
    weights = np.random.default_rng(0).standard_normal((3, 4, 4)).astype(np.float32)
    text = """(float[N, 4] x) => (float[N, 4] y, float[N, 8] z) {
        a = MatMul (x, w0) b = MatMul (x, w1) c = MatMul (x, w2)
        s = Add (a, b) t = Add (s, c) u = Mul (t, half) v = Add (b, c) y = Sub (u, v)
        z = Concat <axis = 1> (u, v)
    }"""
    initializers = [numpy_helper.from_array(w, f"w{k}") for k, w in enumerate(weights)]
    return model_of(text, *initializers, numpy_helper.from_array(np.array(0.5, np.float32), "half"))


def fingerprint() -> str:
    model = optimize(branching(), "flops", strict=True).model
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()


def test_two_runs_write_the_same_bytes() -> None:
    assert fingerprint() == fingerprint()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_writes_the_same_bytes(seed: str) -> None:
    code = (
        "import importlib.util as u, sys;"
        f"s = u.spec_from_file_location('apart', {__file__!r}); m = u.module_from_spec(s);"
        "sys.modules['apart'] = m; s.loader.exec_module(m); print(m.fingerprint())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [fingerprint()]
