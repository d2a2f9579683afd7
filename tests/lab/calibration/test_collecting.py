"""Profiles that a command makes: what it is asked, what goes wrong with it, and what is learned of it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import Runner
from egraph_opt.cli import app
from egraph_opt.errors import TimingError
from egraph_opt.lab.calibration.collecting import BATCH, collect
from egraph_opt.lab.calibration.model_nodes import read_nodes

NODES = 200

DEVICE = """
    import json, math, sys, onnx
    calls = open("calls.txt", "a")
    calls.write(f"{len(sys.argv) - 1}\\n")
    answers = []
    for file in sys.argv[1:]:
        graph = onnx.load(file).graph
        (node,) = graph.node
        if node.op_type == "Tan":
            sys.exit(3)
        if node.op_type == "Atan":
            answers.append({"error": "no such kernel"})
            continue
        dims = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
        own = 0 if node.op_type == "Identity" else 4 + math.prod(dims) / 1000
        answers.append({"micros": 50 + own, "device": "d"})
    print(json.dumps(answers))
"""
"""A device that takes 50 us to start a model, 4 for a kernel and a nanosecond an element; a Tan ends it."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("device.py").write_text(textwrap.dedent(DEVICE))
    return tmp_path


def model(op_types: list[str]) -> Path:
    """As many nodes as operators, each on more elements than the one before."""
    inputs = ", ".join(f"float[{16 * (k + 1)}] x{k}" for k in range(len(op_types)))
    outputs = ", ".join(f"float[{16 * (k + 1)}] y{k}" for k in range(len(op_types)))
    nodes = "\n".join(f"y{k} = {name} (x{k})" for k, name in enumerate(op_types))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    path = Path("nodes.onnx")
    onnx.save(parser.parse_model(text), path)
    return path


def device() -> Runner:
    return Runner(f"{sys.executable} device.py {{models}}", rounds=1)


def test_two_hundred_nodes_take_a_call_a_batch(folder: Path) -> None:
    rows = collect(device(), read_nodes(model(["Relu"] * NODES)).by_name.values())
    assert [round(float(str(row[4])), 3) for row in rows[:2]] == [4.016, 4.032]
    assert len(rows) == NODES
    calls = list(map(int, Path("calls.txt").read_text().split()))
    assert calls == [1, *[BATCH] * (NODES // BATCH), NODES % BATCH]


def test_a_node_that_ends_the_command_costs_that_node_alone(folder: Path) -> None:
    rows = collect(device(), read_nodes(model(["Relu", "Tan", "Atan", "Exp"])).by_name.values())
    reasons = [row[-1] for row in rows]
    assert reasons[0] is None and reasons[3] is None
    assert "failed with 3" in str(reasons[1]) and reasons[2] == "no such kernel"


def test_a_journal_goes_on_where_it_was_ended(folder: Path) -> None:
    views = list(read_nodes(model(["Relu", "Exp", "Neg"])).by_name.values())
    runner = Runner(device().command, rounds=2, journal=folder / "times.jsonl")
    first = collect(runner, views)
    lines = (folder / "times.jsonl").read_text().splitlines()
    (folder / "times.jsonl").write_text("\n".join(lines[:3]) + '\n{"comm')
    Path("calls.txt").write_text("")
    assert collect(runner, views) == first
    assert sum(map(int, Path("calls.txt").read_text().split())) == len(lines) - 3


def test_a_command_that_times_nothing_is_an_error(folder: Path) -> None:
    with pytest.raises(TimingError, match="a model that does nothing"):
        collect(Runner("false {model}"), read_nodes(model(["Relu"])).by_name.values())


def test_a_cost_model_is_fitted_to_a_device(folder: Path) -> None:
    Path("my_costs.py").write_text(
        textwrap.dedent('''
            from math import prod

            from egraph_opt import CostModel, NodeView, parameter


            class Board(CostModel):
                """Starts kernels, and moves elements."""

                name = "board"
                unit = "us"
                start_us = parameter(1.0, "us", most=100.0)
                element_ns = parameter(10.0, "ns", most=1000.0)

                def cost(self, node: NodeView) -> float:
                    return self.start_us + self.element_ns * prod(node.outputs[0].shape) / 1000
        ''')
    )
    path = model(["Relu", "Exp", "Neg", "Abs"] * 12)
    command = f"{sys.executable} device.py {{models}}"
    asked = ["calibrate", str(path), "--cost", "my_costs.py:Board", "--runner", command, "-o", "mine.toml"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines()]
    found = {row[0]: float(row[2]) for row in rows if row and row[0] in ("start_us", "element_ns")}
    assert found == {"start_us": pytest.approx(4, rel=0.02), "element_ns": pytest.approx(1, rel=0.02)}
    again = CliRunner().invoke(app, ["calibrate", str(path), str(path), "--runner", command])
    assert again.exit_code == 2 and "one model" in again.output
