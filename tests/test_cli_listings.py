"""What commands list and print first: in 80 columns, filtered, as JSON."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner, Result

from egraph_opt.cli import app, optimization
from egraph_opt.cli import explain as explaining
from egraph_opt.laws.selection import all_laws
from egraph_opt.rebuild.legalization import legalizations


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_rules_lists_every_law() -> None:
    result = run("rules")
    assert result.exit_code == 0
    heads = [line.split()[0] for line in result.stdout.splitlines()[:-1] if not line.startswith(" ")]
    laws = all_laws()
    assert len(laws) > 0
    assert heads == [law.key for law in laws] + [f"{step.ruleset}.{step.name}" for step in legalizations()]
    told = " ".join(result.stdout.split())
    assert all(" ".join(law.formula.split()) in told for law in laws)


def test_laws_and_operators_are_filtered_and_json() -> None:
    found = json.loads(run("rules", "--ruleset", "transpose", "--grep", "Compose_", "--json").stdout)
    assert [(entry["ruleset"], entry["name"]) for entry in found] == [("transpose", "compose_transposes")]
    (pad,) = json.loads(run("operators", "--grep", "pad(x", "--json").stdout)
    assert pad["constructor"].startswith("pad(x: Tensor, mode: Mode")
    wrong = run("rules", "--ruleset", "transposes")
    assert wrong.exit_code == 2
    assert "did you mean 'transpose'?" in wrong.stderr


def test_operators_are_listed_with_sorts_and_names() -> None:
    result = run("operators")
    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    assert "pad(x: Tensor, mode: Mode, pads: Pads, value: Number)" in told
    assert "One of GlobalAveragePool, GlobalMaxPool." in told
    assert re.search(r"terms are made of Abs, .*Xor; other ONNX operators are opaque", told)


@pytest.mark.parametrize(
    "command",
    ["rules", "operators", "costs", "costs ascend --parameters", "measurements list", "optimize -h"],
)
def test_listings_have_80_columns(command: str) -> None:
    result = run(*command.replace("-h", "--help").split())
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_first_screen_has_ten_lines_at_most(tmp_path: Path) -> None:
    source = tmp_path / "in.onnx"
    rows = "".join(f"t{k + 1} = Mul(c{k}, t{k})\n" for k in range(8))
    weights = ", ".join(f"float[4] c{k} = {{1, 2, 3, 4}}" for k in range(8))
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 4] x) => (float[N, 4] y) <{weights}> {{
            a = Transpose<perm=[1,0]>(x)
            b = Relu(a)
            t0 = Transpose<perm=[1,0]>(b)
            {rows}
            y = Sigmoid(t8)
        }}"""
    onnx.save(parser.parse_model(text), source)
    lines = run("optimize", source, tmp_path / "out.onnx", "--cost", "nodes").stdout.splitlines()
    assert lines[0] == "optimized: 12 -> 3 nodes (-75.0 %), verified"
    assert lines[1].endswith("out.onnx") and lines[2].endswith(" saved by")
    assert len(lines) <= 10 and max(map(len, lines)) <= 80
    saved = [float(line.split()[0]) for line in lines[3:] if line[:4].strip()[:1].isdigit()]
    assert saved == sorted(saved, reverse=True) and sum(saved) == pytest.approx(9, abs=0.2)


def test_costs_lists_the_built_in_models_with_their_units() -> None:
    result = run("costs")
    assert result.exit_code == 0
    heads = [line.split() for line in result.stdout.splitlines()[1:] if not line.startswith(" ")]
    names = {name: unit for name, unit, *_ in heads}
    assert names.items() >= {"ascend": "us", "flops": "flop", "nodes": "nodes"}.items()
    assert "bytes" in names


def test_explain_says_what_was_done_and_what_became_of_a_law(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) {
        a = Neg(x) b = Neg(a) y = Exp(b) }"""
    onnx.save(parser.parse_model(text), path)
    whole = run("explain", path)
    assert "b = Neg(a)" in whole.stdout
    assert "inferred elementwise.involution" in whole.stdout
    assert all(len(line) <= 80 for line in whole.stdout.splitlines())
    (difference,) = json.loads(run("explain", path, "--node", "a", "--json").stdout)["differences"]
    assert difference["gives"] == ["b"]
    law = json.loads(run("explain", path, "--law", "elementwise.square", "--json").stdout)
    assert law["verdict"] == "no match"
    assert run("explain", path, "--node", "nowhere").exit_code == 2
    assert run("explain", path, "--law", "elementwise.no_law").exit_code == 2
    assert run("explain", path, "--at", "a").exit_code == 2


OF_FILES = {
    "in_place",
    "report",
    "html",
    "certificate",
    "quiet",
    "verbose",
    "dry_run",
    "no_metadata",
    "target",
}
OF_CHECKS = {"no_verify", "strict", "measure", "measure_best", "runner", "runner_journal"}


def test_explain_takes_all_options_of_optimize_that_decide_the_result() -> None:
    """Declared alike, so that what is explained is what the user got."""
    optimize, explain = (
        inspect.signature(command).parameters for command in (optimization.optimize, explaining.explain)
    )
    deciding = optimize.keys() - OF_FILES - OF_CHECKS - {"source"}
    assert deciding <= explain.keys()
    for name in deciding:
        assert optimize[name].annotation == explain[name].annotation
        assert optimize[name].default == explain[name].default


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        ([], "optimized: 5 -> 2 nodes"),
        (["--assume", "x=0..1"], "optimized: 5 -> 1 node"),
        (["--exactness", "bitwise"], "optimized: 5 -> 3 nodes"),
        (["--opset", "18", "--input-shape", "x:2,4", "--cost", "flops"], "40 -> 16 flop"),
        (["--sizes", "x:1,64", "--cost", "bytes"], "5,232 -> "),
    ],
)
def test_explain_explains_what_optimize_makes_with_the_same_options(
    options: list[str], headline: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[N, 4] x) => (float[N, 4] y)
        <float[4] c = {1.1, 2.3, 3.7, 0.9}, float[4] k = {5.3, 1.7, 3.1, 0.3}>
        { a = Relu(x) b = Mul(a, c) d = Mul(b, k) e = Neg(d) y = Neg(e) }"""
    onnx.save(parser.parse_model(text), path)
    said = json.loads(run("explain", path, "--json", *options).stdout)["headline"]
    assert headline in said
    made = run("optimize", path, "--dry-run", "--no-verify", "-q", *options).stdout
    assert made == f"{path}: {said}\n"


def test_options_that_choose_a_graph_are_not_for_one_law(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
    onnx.save(parser.parse_model(text), path)
    for options in (["--objective", "memory"], ["--memory-limit", "1MiB"], ["--sizes", "x:1,64"]):
        refused = run("explain", path, "--law", "elementwise.square", *options)
        assert (refused.exit_code, "is not for --law" in refused.stderr) == (2, True)
    assert run("explain", path, "--law", "elementwise.square", "--assume", "N=1..8").exit_code == 0
