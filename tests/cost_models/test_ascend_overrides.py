"""Other values of the parameters of `ascend`: what is refused, and that all that is taken gives prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner, Result

from egraph_opt.cli import app
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_soc
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import ParameterError, UnknownCostModelError
from egraph_opt.facts.fact import Fact

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu (x) }'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "in.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loop_iterations=2.5", "loop_iterations = 2.5: must be a whole number"),
        ("loop_iterations=-1", "loop_iterations = -1: must be 0 to 1e+06"),
        ("then_probability=1.5", "then_probability = 1.5: must be 0 to 1"),
        ("then_probability=inf", "then_probability = inf: must be finite"),
        ("branch_price=maximal", "is not one of maximum, expected: did you mean 'maximum'?"),
        ("kernel_types=['bloat16']", "'bloat16': is not one of ONNX data types: did you mean 'bfloat16'?"),
        ("l1_bytes=0", "l1_bytes = 0: must be 1 to"),
        ("loop_iteration=3", "unknown parameter 'loop_iteration' of ascend: did you mean 'loop_iterations'?"),
        ("aicpu_rules=[{ops=['Addd'], dtypes=['*']}]", "'Addd': is not one of ONNX operators, or *"),
        ("aicpu_rules=[{ops=['Add']}]", "lacks `dtypes`"),
        ("vector_steps.Relu=['Rellu']", "'Rellu': is not one of entries of vector_cycles"),
        ("vector_steps.Rellu=['Relu']", "did you mean 'vector_steps.Relu'?"),
        ("fixed_cube_us=true", "fixed_cube_us = True: must be a number"),
    ],
)
def test_a_wrong_value_is_one_line_and_writes_nothing(model: Path, text: str, told: str) -> None:
    out = model.with_name("out.onnx")
    result = run("optimize", model, out, "--cost", "ascend", "--set", text)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert told in line
    assert not out.exists()


@pytest.mark.parametrize(("cost", "near"), [("ascend:310p", "ascend:310p3"), ("ascend:910b", "ascend:910b")])
def test_an_unknown_chip_is_one_line_with_the_nearest(model: Path, cost: str, near: str) -> None:
    result = run("optimize", model, model.with_name("out.onnx"), "--cost", cost)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert f"unknown cost model '{cost}': did you mean '{near}" in line


def test_a_wrong_value_in_a_file_is_told_with_its_place(model: Path) -> None:
    mine = model.with_name("mine.toml")
    mine.write_text("fixed_cube_us = 3.0\n\n[then_probability]\nvalue = 2.0\n")
    result = run("optimize", model, model.with_name("out.onnx"), "--cost", f"ascend:{mine}")
    assert result.exit_code == 2
    assert f"{mine}:4: then_probability = 2.0: must be 0 to 1" in result.stderr


@pytest.mark.parametrize("soc", ["310p", "", "910c3", 310, None])
def test_what_is_no_chip_is_refused(soc: Any) -> None:
    if soc == 310:
        assert Ascend(soc).soc == Ascend("310").soc
        return
    with pytest.raises(UnknownCostModelError, match="known are ascend:310"):
        Ascend(soc)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, None, "3", 3 + 0j, 10**400])
def test_a_number_is_a_finite_one(value: Any) -> None:
    with pytest.raises(ParameterError, match="fixed_cube_us = "):
        Ascend(fixed_cube_us=value)


# ---- what is taken


def f32(*shape: int) -> Fact:
    return Fact(1, shape)


def node(op: str, inputs: list[Fact], output: Fact, **attributes: object) -> NodeView:
    return NodeView(op, "", attributes, tuple(inputs), (output,))


IMAGE, ROWS, INDEX = f32(2, 24, 9, 5000), f32(2, 100, 60), Fact(7, (8,))
NODES = [
    node("Conv", [IMAGE, f32(24, 24, 3, 3)], IMAGE, pads=(1, 1, 1, 1)),
    node("Conv", [IMAGE, f32(24, 1, 3, 3)], IMAGE, pads=(1, 1, 1, 1), group=24),
    node("ConvTranspose", [IMAGE, f32(24, 24, 1, 2)], f32(2, 24, 9, 10000), strides=(1, 2)),
    node("MatMul", [ROWS, f32(60, 7)], f32(2, 100, 7)),
    node("Attention", [ROWS, ROWS, ROWS], ROWS, q_num_heads=4, kv_num_heads=4),
    node("LSTM", [f32(10, 2, 8), f32(1, 32, 8), f32(1, 32, 8)], f32(10, 1, 2, 8)),
    node("Einsum", [ROWS, ROWS], f32(2, 100, 100), equation="bik,bjk->bij"),
    node("MaxPool", [IMAGE], IMAGE, kernel_shape=(3, 3), pads=(1, 1, 1, 1)),
    node("AveragePool", [f32(1, 4, 900)], f32(1, 4, 1), kernel_shape=(900,)),
    node("Transpose", [IMAGE], f32(2, 9, 5000, 24), perm=(0, 2, 3, 1)),
    node("Gather", [ROWS, INDEX], f32(2, 100, 8), axis=2),
    node("Concat", [ROWS, ROWS], f32(4, 100, 60), axis=0),
    node("Reshape", [f32(1, 64, 128)], f32(1, 64, 1, 128)),
    node("Softmax", [ROWS], ROWS),
    node("Gelu", [ROWS], ROWS),
    node("Add", [INDEX, INDEX], INDEX),
    node("ReduceMean", [IMAGE], f32(2, 24, 1, 1), axes=(2, 3)),
    node("Cast", [ROWS], Fact(6, (2, 100, 60))),
]
ENDS = [
    (name, end)
    for name, entry in ascend_soc.declared("310p3").items()
    if (numbers := entry.domain.numbers) is not None
    for end in (numbers.least, numbers.most)
]


@pytest.mark.parametrize(("name", "end"), ENDS)
def test_prices_are_finite_at_the_ends_of_every_range(name: str, end: float) -> None:
    before = ascend_soc.declared("310p3")[name].value
    value: Any = dict.fromkeys(before, end) if isinstance(before, Mapping) else end
    given: dict[str, Any] = {name: int(value) if isinstance(before, int) else value}
    model = Ascend(**given)
    loop = NodeView("Loop", "", {}, (None, None), ())
    assert math.isfinite(model.of_bodies(loop, [3.0]))
    for view in NODES:
        assert 0 <= model.cost(view) < math.inf, view.op_type
        assert 0 <= model.kernel_cost(view) < math.inf, view.op_type
