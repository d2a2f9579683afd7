"""The command: its table, the file that it writes, and that nothing is half written."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from egraph_opt import cost_model
from egraph_opt.cli import app
from egraph_opt.cost.model import NodeView
from egraph_opt.cost.registry import parameters_of
from egraph_opt.facts.fact import Fact
from egraph_opt.lab.calibration.kernels import UnusableError
from egraph_opt.lab.calibration.observations import _measured
from egraph_opt.measurement.specimen import specimen_key

from .made_profiles import Kernel, write

RUNNER = CliRunner()

ADDS = [Kernel("Add", f"{2**k};{2**k}", f"{2**k}", core="AI_VECTOR_CORE") for k in range(4, 24)]

OWN = '''
from egraph_opt import CostModel, NodeView, parameter


class Line(CostModel):
    """A launch, and a time an element."""

    name = "line"
    unit = "us"
    launch_us = parameter(5.0, "us per kernel", most=100.0)
    element_ns = parameter(1.0, "ns per element", least=0.001, most=100.0)
    depth = parameter(2, "levels", most=9)

    def cost(self, node: NodeView) -> float:
        shape = node.outputs[0].shape or ()
        count = 1
        for dim in shape:
            count *= dim
        return self.launch_us + self.element_ns * count / 1000 + node.body_cost
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "op_summary.csv", ADDS, cost_model("ascend", {"fixed_vector_us": 3.1}))
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    found = RUNNER.invoke(app, ["calibrate", *arguments])
    assert found.exit_code == code, found.output
    return found.output


def test_the_table_has_operators_parameters_and_reasons_in_eighty_columns(folder: Path) -> None:
    told = run("op_summary.csv", "-o", "mine.toml")
    assert told.startswith("op_summary.csv: 20 kernels in 20 rows, ascend\n")
    assert "fixed_vector_us                      2       3.1" in told
    assert "clock_ghz, memory_gbs" in told
    assert told.endswith("written to mine.toml: --cost ascend:mine.toml\n")
    assert max(map(len, told.splitlines())) <= 80
    assert parameters_of("ascend:mine.toml")["fixed_vector_us"].value == pytest.approx(3.1, rel=0.01)


def test_without_an_output_nothing_is_written(folder: Path) -> None:
    run("op_summary.csv", "--parameters", "fixed_vector_us")
    assert [path.name for path in folder.iterdir()] == ["op_summary.csv"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.csv",), "none.csv: there is no such file"),
        (("op_summary.csv", "--cost", "ascned"), "did you mean 'ascend'"),
        (("op_summary.csv", "--set", "fixed_cube_us=-1"), "must be 0 to 1000"),
        (("op_summary.csv", "--parameters", "fixed_vectors"), "did you mean 'fixed_vector_us'"),
        (("op_summary.csv", "--parameters", "cores"), "unknown parameter 'cores'"),
        (("op_summary.csv", "-o", "mine.json"), "mine.json: a file of parameters ends in .toml"),
        (("op_summary.csv", "-o", "none/mine.toml"), "none/mine.toml: cannot be written"),
        (("op_summary.csv", "net.onnx", "--dim", "N"), "'N' is not NAME=NUMBER"),
        (("op_summary.csv", "--dim", "N=4"), "give the model, too"),
        (("short.csv", "-o", "mine.toml"), "no column 'Task Duration' or 'Duration'"),
    ],
)
def test_bad_input_is_a_line_and_leaves_no_file(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    (folder / "short.csv").write_text("Op Name,OP Type\nadd,Add\n", encoding="utf-8")
    assert told in " ".join(run(*arguments, code=2).replace("│", " ").split())
    assert {path.name for path in folder.iterdir()} == {"op_summary.csv", "short.csv"}


def test_a_model_that_cannot_be_read_is_no_usage_error(folder: Path) -> None:
    (folder / "net.onnx").write_bytes(b"")
    assert "net.onnx: the file is empty" in run("op_summary.csv", "net.onnx", code=1)


def test_what_teaches_nothing_leaves_the_file_that_was_there(folder: Path) -> None:
    write(folder / "few.csv", ADDS[:2], cost_model("ascend"))
    (folder / "mine.toml").write_text("fixed_cube_us = 4.0\n", encoding="utf-8")
    assert "determine no parameter of ascend" in run("few.csv", "-o", "mine.toml", code=1)
    assert (folder / "mine.toml").read_text(encoding="utf-8") == "fixed_cube_us = 4.0\n"


def test_a_file_does_not_replace_what_it_goes_on_from(folder: Path) -> None:
    (folder / "mine.toml").write_text("fixed_cube_us = 4.0\n", encoding="utf-8")
    told = run("op_summary.csv", "--cost", "ascend:mine.toml", "-o", "./mine.toml", code=2)
    assert "write the result to another one" in told
    run("op_summary.csv", "--cost", "ascend:mine.toml", "-o", "next.toml")
    told = run("op_summary.csv", "--cost", "ascend:next.toml", "-o", "mine.toml", code=2)
    assert "mine.toml: is read for ascend:next.toml" in told
    assert parameters_of("ascend:next.toml")["fixed_cube_us"].value == 4.0


def test_a_name_with_odd_characters_makes_no_broken_file(folder: Path) -> None:
    odd = folder / 'a "b"\n[x].csv'
    odd.write_bytes((folder / "op_summary.csv").read_bytes())
    run(str(odd), "-o", "mine.toml")
    assert parameters_of("ascend:mine.toml")["fixed_vector_us"].confidence == "M"


def test_it_says_how_to_install_what_it_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setattr("egraph_opt.cli.application.find_spec", lambda name: None)
    assert "pip install 'egraph-opt[calibrate]'" in " ".join(run("op_summary.csv", code=2).split())


def test_measurements_of_this_machine_fit_a_model_of_one_s_own(folder: Path) -> None:
    (folder / "my_costs.py").write_text(OWN, encoding="utf-8")
    truth = cost_model("my_costs.py:Line", {"launch_us": 2.5, "element_ns": 0.25})
    rows: list[tuple[object, ...]] = []
    for k in range(18):
        fact = Fact(1, (2**k, 3))
        view = NodeView("Relu", "", {}, (fact,), (fact,), opset=17)
        rows.append(("cpu", "1.31", "one thread", specimen_key(view), truth.cost(view), ""))
    rows.append(("cpu", "1.31", "two threads", rows[0][3], 99.0, ""))
    rows.append(("cpu", "1.31", "one thread", "[[], []]", 5.0, ""))
    rows.append(("cpu", "1.31", "one thread", "[]", "", "it has a body"))
    with (folder / "measured.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("machine", "runtime", "setting", "key", "micros", "refusal"), *rows])
    told = run("measured.csv", "--cost", "my_costs.py:Line", "-o", "line.toml")
    assert "(measured on cpu, 1.31, one thread)" in told
    assert "1: measured on another machine, or in another setting" in told
    assert "1: onnxruntime cannot run it alone" in told
    assert "1: a fused operator of onnxruntime" in told
    parameters = parameters_of("my_costs.py:Line:line.toml")
    assert parameters["launch_us"].value == pytest.approx(2.5, rel=0.01)
    assert parameters["element_ns"].value == pytest.approx(0.25, rel=0.01)


def _key(
    op: object, *inputs: object, version: object = 17, attributes: object = (), outputs: object = ("y",)
) -> str:
    return json.dumps(["", op, version, attributes, inputs, outputs])


X = (1, (2, 3), False, None)
ODD_TYPES: tuple[Any, ...] = (99, "1", [])


@pytest.mark.parametrize(
    "key",
    [
        *(
            "[" * 100_000,
            "3",
            "[]",
            _key(["Relu"], X),
            _key("Relu", X, version="x"),
            _key("Relu", X, version=1e300),
        ),
        _key("Conv", X, attributes=[["pads", [{"a": 1}]]]),
        _key("Conv", X, X, attributes=[["pads", "abc"], ["group", "x"]]),
        *(_key("Relu", (dtype, (2, 3), False, None)) for dtype in ODD_TYPES),
        *(_key("Relu", (1, shape, False, None)) for shape in ([-3], [10**30], 7, [[2]])),
        *(_key("Reshape", X, (7, (1,), True, elements)) for elements in ([1e300], ["a"], [[1]], 5)),
        _key("Relu", (1, (2, 3), {"a": 1}, [[[1]]])),
    ],
)
def test_measurements_of_no_node_are_left_out(key: str) -> None:
    with pytest.raises(UnusableError):
        _measured(key)
