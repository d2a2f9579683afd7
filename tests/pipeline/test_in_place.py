"""Prices in their place: what a profile of whole graphs says of their nodes decides the next choice."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest
from onnx import parser

from egraph_opt import Runner, optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.facts.fact import Fact
from egraph_opt.measurement.specimen import specimen_key
from egraph_opt.measurement.store import Store
from egraph_opt.pipeline.candidates import ByPlace, FewestNodes, PlacePrices

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
softmax (float[16,64] x) => (float[16,64] y)
{ a = Neg (x) b = Neg (a) s = Softmax <axis = -1> (b) y = Relu (s) }
"""

PRIMITIVES = ("default", "composites.primitives")

DEVICE = """
    import json, sys, onnx

    TABLE = {"Softmax": 12.0, "Relu": 2.0, "Neg": 2.0}
    for file in sys.argv[1:]:
        times = {n.output[0]: TABLE.get(n.op_type, 30.0) for n in onnx.load(file).graph.node}
        said = {"model": file, "micros": sum(times.values()), "device": "d"}
        print(json.dumps({**said, "nodes": times} if NODES else said), flush=True)
"""
"""A device on which a Softmax takes 12 microseconds, and each of what it can be spelled with 30."""


class Spelled(CostModel):
    """Takes a Softmax for slower than all that it can be spelled with."""

    name = "spelled"
    unit = "us"
    elsewhere = True

    def cost(self, node: NodeView) -> float:
        return 20.0 if node.op_type == "Softmax" else 2.0


def device(folder: Path, *, nodes: bool) -> Runner:
    script = folder / "device.py"
    script.write_text(textwrap.dedent(DEVICE).replace("NODES", str(nodes)))
    return Runner(f"{sys.executable} {script} {{models}}", graphs=1, rounds=1, journal=folder / "journal")


def test_a_profile_of_the_device_corrects_the_choice(tmp_path: Path) -> None:
    model = parser.parse_model(MODEL)
    report = optimize(model, Spelled(), rewrites=PRIMITIVES, measure=device(tmp_path, nodes=True)).report
    assert report.latency is not None and report.latency.places is not None
    assert (report.latency.before, report.latency.after) == (18.0, 12.0)
    assert report.latency.candidates == 2, "the spelled one, and what its profile made of it"
    places = report.latency.places
    assert places.profiled >= 3 and places.changed >= 2
    assert (places.before_alone, places.before_in_place) == (26.0, 18.0)
    assert (places.after_alone, places.after_in_place) == (20.0, 12.0)
    assert "+44 % and +67 % of the time measured" in str(report)
    assert "+0 % and +0 % of the time measured" in str(report)


def test_without_a_profile_there_is_no_other_choice(tmp_path: Path) -> None:
    report = optimize(
        parser.parse_model(MODEL), Spelled(), rewrites=PRIMITIVES, measure=device(tmp_path, nodes=False)
    ).report
    assert report.status == "unchanged", "spelled out it is slower than the original"
    assert report.latency is not None
    assert (report.latency.candidates, report.latency.places) == (1, None)


def test_what_a_profile_cost_is_in_the_journal(tmp_path: Path) -> None:
    runner = device(tmp_path, nodes=True)
    first = optimize(parser.parse_model(MODEL), Spelled(), rewrites=PRIMITIVES, measure=runner)
    lines = (tmp_path / "journal").read_text().splitlines()
    assert all(json.loads(line)["nodes"] for line in lines)
    again = optimize(parser.parse_model(MODEL), Spelled(), rewrites=PRIMITIVES, measure=runner)
    assert (tmp_path / "journal").read_text().splitlines() == lines, "nothing was timed twice"
    assert again.to_bytes() == first.to_bytes()


def view(op_type: str, *shape: int) -> NodeView:
    fact = Fact(1, shape)
    return NodeView(op_type, "", {}, (fact,), (fact,), opset=17)


def test_a_node_has_the_price_of_its_place_and_others_that_of_their_operator() -> None:
    seen, near, unseen = view("Exp", 4), view("Exp", 8), view("Tanh", 4)
    places = PlacePrices()
    for micros in (3.0, 5.0):
        places.learn(specimen_key(seen), "Exp", micros, 2.0)
    places.learn(specimen_key(view("Relu", 4)), "Relu", 2.1, 2.0)
    assert places.changed == 1, "a twentieth is nothing"
    model = ByPlace(Spelled(), places)
    assert model.cost(seen) == 4.0
    assert model.cost(view("Relu", 4)) == 2.0
    assert model.cost(near) == 2.0 * 2.0
    assert model.cost(unseen) == pytest.approx(2.0 * 10.1 / 6.0)
    assert (model.name, model.unit) == ("spelled", "us")


def test_what_others_show_has_its_limits() -> None:
    places = PlacePrices()
    places.learn("key", "Exp", 200.0, 2.0)
    assert ByPlace(Spelled(), places).cost(view("Exp", 8)) == 4.0


def test_the_fewest_nodes_are_counted_and_prices_break_ties() -> None:
    model = FewestNodes(Spelled())
    assert model.unit == "nodes"
    dear, cheap = model.cost(view("Softmax", 4)), model.cost(view("Exp", 4))
    assert 1.0 < cheap < dear < 1.1


def test_onnxruntime_says_what_nodes_took_in_their_place(tmp_path: Path) -> None:
    """On the real one: all numbers are there, whatever they are."""
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[64,64] x) => (float[64,64] y)
        { a = MatMul (x, x) b = Neg (a) c = Neg (b) d = Softmax <axis = -1> (c) y = MatMul (d, x) }
    """
    cost = OnnxRuntime(store=Store(tmp_path / "times.sqlite"))
    report = optimize(parser.parse_model(text), cost).report
    assert report.latency is not None
    places = report.latency.places
    if report.status == "optimized":  # unless the clock preferred the original
        assert places is not None and places.profiled >= 2
        assert all(sums > 0 for sums in (places.before_alone, places.after_alone, places.after_in_place))
    else:
        assert places is None and "slower" in report.reason
