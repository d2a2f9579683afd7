"""What a process keeps from one model to the next has bounds."""

from __future__ import annotations

import gc
from multiprocessing import get_context
from pathlib import Path

import pytest
from onnx import parser

from egraph_opt import optimize, saturate
from egraph_opt.egraph import engine as engines
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.ownership import _of_thread
from egraph_opt.egraph.saturation import run_rounds
from egraph_opt.laws.selection import select

STATM = Path("/proc/self/statm")

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x) => (float[4, 2, 3] y) {
    a = Relu (x) b = Mul (a, a) t = Transpose <perm = [2, 0, 1]> (b) u = Transpose <perm = [2, 0, 1]> (t)
    y = Transpose <perm = [2, 0, 1]> (u) }"""


def lowered_model() -> Lowered:
    region = saturate(parser.parse_model(MODEL), rewrites=()).region
    assert region is not None
    return region.lowered


@pytest.fixture
def lowered() -> Lowered:
    return lowered_model()


def e_graphs() -> int:
    """How many egglog has for this thread."""
    gc.collect()
    return len(_of_thread.graphs.made)


def saturated(engine: Engine, graph: Lowered, times: int) -> None:
    for _ in range(times):
        engine.load(graph, {})
        run_rounds(engine, lambda rule: True, nodes=1000, rounds=10, seconds=60)


def test_an_e_graph_that_has_run_much_is_made_anew_and_the_old_one_is_freed(
    lowered: Lowered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MOST_REPORTED", 100)
    engine = Engine(select(["transpose", "elementwise"]))
    numbers, before = set(), e_graphs()
    for _ in range(5):
        saturated(engine, lowered, 1)
        numbers.add(engine._owned._number)
        assert e_graphs() == before
    assert 2 <= len(numbers) <= 5


def test_a_model_is_the_same_in_an_e_graph_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parser.parse_model(MODEL)
    found = {optimize(model, "nodes", verify=False).model.SerializeToString() for _ in range(2)}
    monkeypatch.setattr(engines, "MOST_REPORTED", 0)
    found |= {optimize(model, "nodes", verify=False).model.SerializeToString() for _ in range(2)}
    assert len(found) == 1


def growth(runs: int, most_reported: int) -> int:
    """Bytes that are resident more after so many runs of one engine."""
    engines.MOST_REPORTED = most_reported
    graph, engine = lowered_model(), Engine(select(["transpose", "elementwise", "reshape"]))
    saturated(engine, graph, 50)
    before = int(STATM.read_text().split()[1])
    saturated(engine, graph, runs)
    return (int(STATM.read_text().split()[1]) - before) * 4096


@pytest.mark.skipif(not STATM.exists(), reason="this system does not tell what is resident")
def test_what_egglog_keeps_of_earlier_graphs_goes() -> None:
    """Without new e-graphs they would be 5.6 MB; in a process of its own, since other tests leave garbage."""
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(growth, (200, 3000)) < 4 << 20
