"""A search finds parameters under which faster graphs are chosen, and says so only where they are."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.cost.registry import parameters_of
from egraph_opt.errors import TimingError
from egraph_opt.lab.tuning import TuneRequest, tune

RUNNER = CliRunner()

COSTS = '''
from egraph_opt import CostModel, NodeView, parameter


class Wide(CostModel):
    """Takes small results for slow, which they are not."""

    name = "wide"
    unit = "us"
    launch_us = parameter(1.0, "us per kernel", most=100.0)
    small_us = parameter(500.0, "us per small result", most=10000.0)
    by_type = parameter({"MatMul": 1.0, "Relu": 1.0}, "us per node", most=1000.0)
    idle_us = parameter(1.0, "us per nothing")

    def cost(self, node: NodeView) -> float:
        count = 1
        for dim in node.outputs[0].shape or ():
            count *= dim
        own = self.by_type.get(node.op_type, 1.0)
        return self.launch_us + own + count / 1000 + self.small_us * (count < 100) + node.body_cost
'''

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[512, 8] a, float[8, 512] b, float[512, 8] c) => (float[512, 8] y)
{
    p = MatMul (a, b)
    q = MatMul (p, c)
    y = Relu (q)
}
"""
"""(A B) C, which A (B C) computes in a hundredth of the multiplications, through a small product."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_costs.py").write_text(COSTS, encoding="utf-8")
    onnx.save(parser.parse_model(MODEL), tmp_path / "net.onnx")
    return tmp_path


def request(folder: Path, **settings: object) -> TuneRequest:
    given = {"trials": 20, "seconds": 0.1, "rewrites": ("associativity",), **settings}
    return TuneRequest((folder / "net.onnx",), "my_costs.py:Wide", **given)  # type: ignore[arg-type]


def run(*arguments: str, code: int = 0) -> str:
    quick = ("--trials", "20", "--seconds", "0.1", "--rewrites", "associativity")
    found = RUNNER.invoke(app, ["tune", *arguments, *quick])
    assert found.exit_code == code, found.output
    return found.output


def test_the_command_writes_the_parameters_that_choose_the_faster_graph(folder: Path) -> None:
    told = run("net.onnx", "--cost", "my_costs.py:Wide", "-o", "mine.toml")
    assert told.endswith("written to mine.toml: --cost my_costs.py:Wide:mine.toml\n")
    assert max(map(len, told.splitlines())) <= 80
    parameters = parameters_of("my_costs.py:Wide:mine.toml")
    assert parameters["small_us"].value < 270
    assert parameters["small_us"].confidence == "I"
    assert parameters["launch_us"].value == 1.0
    for name, changed in (("my_costs.py:Wide", False), ("my_costs.py:Wide:mine.toml", True)):
        proto = optimize(folder / "net.onnx", cost=name, rewrites=["associativity"]).model
        assert (list(proto.graph.node[0].input) != ["a", "b"]) is changed


def test_only_what_it_takes_changes(folder: Path) -> None:
    found = tune(request(folder))
    assert list(found.values) == ["small_us"]
    assert found.kept["idle_us"] == "no price depends on it"
    assert found.kept["by_type.Relu"] == "the same graphs are chosen without it"
    (model,) = found.models
    assert model.gain > 1.5
    assert 1 < model.low <= model.gain
    assert model.graphs == 2


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (("--parameters", "launch_us"), "none surely faster than what is chosen already", 0),
        (("--parameters", "idle_us"), "no price here depends on what may change", 1),
        (("--set", "small_us=1"), "none surely faster", 0),
    ],
)
def test_where_nothing_is_faster_nothing_is_written(
    folder: Path, arguments: tuple[str, ...], told: str, code: int
) -> None:
    before = sorted(folder.iterdir())
    said = run("net.onnx", "--cost", "my_costs.py:Wide", "-o", "mine.toml", *arguments, code=code)
    assert told in " ".join(said.split())
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--within", "1"), "must be above 1"),
        (("--seconds", "nan"), "must be above 0"),
        (("--parameters", "launch"), "did you mean 'launch_us'"),
        (("-o", "mine.json"), "mine.json: a file of parameters ends in .toml"),
    ],
)
def test_bad_input_is_told_before_the_work(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    quick = ("--seconds", "0.1", "--cost", "my_costs.py:Wide")
    found = RUNNER.invoke(app, ["tune", "net.onnx", *quick, *arguments])
    assert found.exit_code == 2
    assert told in " ".join(found.output.replace("│", " ").split())


def test_it_says_how_to_install_what_it_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("egraph_opt.cli.application.find_spec", lambda name: None)
    assert "pip install 'egraph-opt[tune]'" in " ".join(run("net.onnx", code=2).split())


def test_an_interrupt_ends_the_search_with_what_was_found(folder: Path) -> None:
    def press(stage: str, done: float | None) -> None:
        if stage == "trials" and done is not None and done >= 0.9:
            raise KeyboardInterrupt

    found = tune(request(folder), press)
    assert found.stopped
    assert found.trials == 18
    assert list(found.values) == ["small_us"]


def test_models_that_gain_nothing_count(folder: Path) -> None:
    onnx.save(parser.parse_model(MODEL.replace("512", "4")), folder / "other.onnx")
    both = TuneRequest(
        (folder / "net.onnx", folder / "other.onnx"),
        "my_costs.py:Wide",
        trials=20,
        seconds=0.1,
        rewrites=("associativity",),
    )
    found = tune(both)
    net, other = found.models
    assert net.gain > 1.5
    assert other.gain == 1.0
    assert found.gain == pytest.approx(net.gain**0.5)


def test_a_model_that_the_runtime_cannot_run_is_told(folder: Path) -> None:
    text = MODEL.replace("y = Relu (q)", "y = Hidden.Op (q)").replace("Hidden.Op", "mine.Odd")
    text = text.replace('["" : 17]', '["" : 17, "mine" : 1]')
    onnx.save(parser.parse_model(text), folder / "net.onnx")
    with pytest.raises(TimingError, match=r"net.onnx: onnxruntime cannot time it: "):
        tune(request(folder))
