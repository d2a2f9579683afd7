"""Targets on the command line: files and classes behind `--cost`, `--set`, and `costs --parameters`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner, Result

from egraph_opt import errors
from egraph_opt.cli import app, exit_code
from egraph_opt.cost_models import ascend_soc

MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu (x) }'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_line(result: Result) -> str:
    """The one line on stderr; nothing else may be there."""
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "in.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return path


def price(model: Path, *options: object) -> float:
    """What the original costs."""
    report, target = model.with_name("report.json"), model.with_name("out.onnx")
    result = run("optimize", model, target, "--report", report, "--cost", "ascend", *options)
    assert result.exit_code == 0, result.output
    return float(json.loads(report.read_text())["cost"]["before"])


def test_a_file_of_parameters_and_values_set_change_prices(model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("l2_share = 1.0\nfixed_vector_us = 50.0\n")
    plain, file = price(model), price(model, "--cost", f"ascend:{mine}")
    assert plain < 10 < 50 < file
    both = price(model, "--cost", f"ascend:{mine}", "--set", "fixed_vector_us=80")
    assert 80 < both < 90
    cycles = price(model, "--set", "vector_cycles.Relu=100", "--set", "vector_cycles.Add=100")
    assert cycles > plain


def test_alternatives_are_priced_with_what_is_set(model: Path) -> None:
    result = run("alternatives", model, "y", "--cost", "ascend", "--set", "fixed_vector_us=100")
    assert result.exit_code == 0
    assert float(result.stdout.splitlines()[2].split()[0]) >= 100


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("l2_share=2", "--set l2_share=2: l2_share = 2: must be 0 to 1"),
        ("l2_share=-0.1", "--set l2_share=-0.1: l2_share = -0.1: must be 0 to 1"),
        ("l2_share=nan", "--set l2_share=nan: l2_share = nan: must be finite"),
        ("l2_share=1e999", "--set l2_share=1e999: l2_share = inf: must be finite"),
        ("l2_share=much", "--set l2_share=much: l2_share = 'much': must be a number"),
        ("l2_shar=0.5", "--set l2_shar=0.5: unknown parameter 'l2_shar' of ascend: did you mean"),
        ("vector_cycles.Ad=1", "'vector_cycles.Ad' of ascend: did you mean 'vector_cycles.Add'?"),
        ("vector_cycles=1", "--set vector_cycles=1: vector_cycles = 1: must be a table"),
        ("matmul_nd=iner", "matmul_nd = 'iner': is not one of aligned, inner: did you mean 'inner'?"),
        ('fused_operators=["Rleu"]', "'Rleu': is not one of ONNX operators: did you mean 'Relu'?"),
        ("cores=1\nclock_ghz=2", "cores = '1\\nclock_ghz=2': must be a whole number"),
    ],
)
def test_a_wrong_value_exits_with_2_and_says_what_is_wrong(model: Path, text: str, told: str) -> None:
    optimizing = ("optimize", model, model.with_name("out.onnx"), "--cost", "ascend")
    for command in (optimizing, ("costs", "ascend", "--parameters")):
        result = run(*command, "--set", text)
        assert result.exit_code == 2
        assert told in error_line(result)
    assert not model.with_name("out.onnx").exists()


@pytest.mark.parametrize("text", ["l2_share", "=1", "l2_share=", " = "])
def test_what_is_set_has_a_name_and_a_value(model: Path, text: str) -> None:
    result = run("optimize", model, model.with_name("out.onnx"), "--cost", "ascend", "--set", text)
    assert result.exit_code == 2
    assert "NAME=VALUE" in result.stderr


def test_values_are_set_as_toml_has_them_and_names_without_quotes() -> None:
    texts = (
        "matmul_nd=inner",
        "fused_operators=['Relu', 'Tanh']",
        "vector_steps.Selu=['Exp']",
        "cores = 0x10",
    )
    options = [option for text in texts for option in ("--set", text)]
    found = parameters("ascend", *options)
    assert found["matmul_nd"]["value"] == "inner"
    assert found["fused_operators"]["value"] == ["Relu", "Tanh"]
    assert found["vector_steps"]["value"]["Selu"] == ["Exp"]
    assert (found["cores"]["value"], found["cores"]["source"]) == (16, "--set cores = 0x10")


def parameters(name: object, *options: object) -> dict[str, dict[str, Any]]:
    result = run("costs", name, "--parameters", "--json", *options)
    assert result.exit_code == 0, result.output
    return {entry["name"]: entry for entry in json.loads(result.stdout)["parameters"]}


@pytest.mark.parametrize("chip", ascend_soc.socs())
def test_all_parameters_of_a_chip_are_told_in_json(chip: str) -> None:
    found = parameters(f"ascend:{chip}")
    for name, entry in ascend_soc.declared(chip).items():
        assert list(found[name]) == [
            *("name", "value", "unit", "range", "least", "most", "confidence", "source")
        ]
        assert found[name]["value"] == json.loads(json.dumps(entry.value))
        assert (found[name]["unit"], found[name]["source"]) == (entry.unit, entry.source)
    assert (found["l2_share"]["least"], found["l2_share"]["most"]) == (0.0, 1.0)
    assert found["matmul_nd"]["least"] is None


def test_parameters_are_readable_in_eighty_columns() -> None:
    result = run("costs", "ascend", "--parameters")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines[2:] if not line.startswith(" ")]
    names = list(ascend_soc.declared("310p3"))
    assert [head[0] for head in heads] == [*names, "D:", "M:", "I:", "U:"]
    at = lines.index(next(line for line in lines if line.startswith("view_us ")))
    assert lines[at].split() == ["view_us", "0.05", "us", "per", "node"]
    assert lines[at + 1].startswith("    0 to 100; I: a reshape of an ND tensor does not execute")
    whole = " ".join(result.stdout.split())
    for entry in ascend_soc.declared("310p3").values():
        assert " ".join(entry.source.split()) in whole
    assert "Gelu=Mul Mul Muls Add Exp Add Div" in whole
    assert "- ops NonZero; chips 910b; dtypes float, float16" in whole


def test_a_model_without_parameters_says_so() -> None:
    result = run("costs", "nodes", "--parameters")
    assert (result.exit_code, result.stdout) == (0, "nodes declares no parameters\n")
    assert parameters("nodes") == {}


def test_one_cost_model_or_all_are_listed() -> None:
    result = run("costs", "ascend:910b4")
    heads = [line.split()[0] for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert (result.exit_code, heads) == (0, ["name", "ascend:910b4"])
    listed = json.loads(run("costs", "--json").stdout)
    assert {entry["name"]: entry["unit"] for entry in listed}.items() >= {
        "ascend": "us",
        "flops": "flop",
    }.items()
    assert set(listed[0]) == {"name", "unit", "variants", "about"}


def test_parameters_are_those_of_a_named_model() -> None:
    for options in (("--parameters",), ("--set", "l2_share=1")):
        result = run("costs", *options)
        assert result.exit_code == 2
        assert "name a cost model" in result.stderr


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ("ascend:missing.toml", "missing.toml: cannot be read: No such file"),
        ("missing.py:Launches", "missing.py: cannot be read: No such file"),
        ("missing.costs:Launches", "missing.costs: there is no module 'missing'"),
        ("missing.toml", "a file of parameters follows its cost model: ascend:missing.toml"),
        ("ascend:310p4", "did you mean 'ascend:310p3'?"),
    ],
)
def test_a_target_that_is_not_there_exits_with_2(model: Path, cost: str, told: str) -> None:
    for command in (
        ("optimize", model, model.with_name("out.onnx"), "--cost", cost),
        ("alternatives", model, "y", "--cost", cost),
        ("costs", cost, "--parameters"),
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert told in error_line(result)


@pytest.mark.parametrize(
    "error",
    [
        errors.CostModelError("x"),
        errors.ParameterError("x"),
        errors.UnknownParameterError("x", []),
        errors.TargetMismatchError("x"),
    ],
)
def test_errors_of_targets_are_usage(error: errors.EgraphOptError) -> None:
    assert exit_code(error) == 2
