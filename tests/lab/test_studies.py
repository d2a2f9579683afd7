"""What laws are worth on a model, and how its e-graph grows."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.errors import ExtractionError, OutputError, UnknownRulesetError
from egraph_opt.lab.plots import mean_losses, plot_ablation, plot_growth
from egraph_opt.lab.studies import ablate, grow
from egraph_opt.pipeline.limits import Limits

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[2, 3, 8, 8] x, bool which) => (float[2, 4, 8, 8] y)
<float[4, 3, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float k = {2}>
{
    t = Transpose <perm = [0, 2, 3, 1]> (x)
    u = Transpose <perm = [0, 3, 1, 2]> (t)
    c = Conv (u, w)
    y = If (which) <
        then_branch = g1 () => (float[2, 4, 8, 8] a) { a = Mul (c, k) },
        else_branch = g2 () => (float[2, 4, 8, 8] b) {
            d = Transpose <perm = [0, 2, 3, 1]> (c)
            b = Transpose <perm = [0, 3, 1, 2]> (d)
        }
    >
}
"""


def model() -> onnx.ModelProto:
    return parser.parse_model(MODEL)


def test_the_first_row_is_what_an_optimisation_finds_and_no_other_is_better() -> None:
    whole, *rows = ablate("example", model(), "nodes")
    report = optimize(model(), "nodes").report
    assert whole.left_out == ""
    assert (whole.cost, whole.nodes) == (report.cost.after, report.nodes.runtime_after)
    assert all(row.cost >= whole.cost for row in rows)
    assert [row.cost for row in rows] == sorted((row.cost for row in rows), reverse=True)


def test_what_is_left_out_takes_no_part_in_bodies_either() -> None:
    whole, without = ablate("example", model(), "nodes", only=["transpose"])
    assert without.left_out == "transpose"
    assert without.matches > 0
    assert without.cost == whole.cost + 4  # two Transposes outside, two in a branch


def test_single_laws_may_be_left_out() -> None:
    rows = ablate("example", model(), "nodes", by="law", only=["transpose.compose_transposes"])
    assert [row.left_out for row in rows] == ["", "transpose.compose_transposes"]


def test_what_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(UnknownRulesetError, match="did you mean 'transpose'"):
        ablate("example", model(), "nodes", only=["transposes"])
    with pytest.raises(ExtractionError, match="no time"):
        ablate("example", model(), "nodes", limits=Limits(seconds=0))


def test_growth_counts_all_graphs() -> None:
    row = grow("example", model(), "nodes")
    assert row.stop == "saturated"
    assert row.per_node == row.e_nodes / row.nodes
    assert grow("example", model(), "nodes", limits=Limits(nodes=5)).stop == "nodes"


@pytest.mark.parametrize("command", ["ablate", "growth"])
def test_the_commands_write_a_row_a_run(command: str, tmp_path: Path) -> None:
    onnx.save(model(), path := tmp_path / "example.onnx")
    output = tmp_path / "rows.csv"
    result = CliRunner().invoke(app, ["study", command, str(path), "--cost", "nodes", "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert "example" in result.output
    rows = list(csv.DictReader(output.read_text(encoding="utf-8").splitlines()))
    assert rows
    assert {row["model"] for row in rows} == {"example"}


@pytest.mark.parametrize("command", ["ablate", "growth"])
def test_the_commands_refuse_what_there_is_not(command: str, tmp_path: Path) -> None:
    onnx.save(model(), path := tmp_path / "example.onnx")
    output = tmp_path / "rows.csv"
    for arguments, code, said in (
        ([str(path), "--cost", "node"], 2, "did you mean 'nodes'"),
        ([str(tmp_path / "absent.onnx")], 1, "absent.onnx"),
    ):
        result = CliRunner().invoke(app, ["study", command, *arguments, "-o", str(output)])
        assert (result.exit_code, said in result.output) == (code, True)
        assert not output.exists()


@pytest.mark.parametrize("command", ["ablate", "growth", "orders"])
def test_a_file_that_cannot_be_written_is_told_in_a_line(command: str, tmp_path: Path) -> None:
    onnx.save(model(), path := tmp_path / "example.onnx")
    output = tmp_path / "no such folder" / "rows.csv"
    options = ["--rewrites", "transpose"] if command == "orders" else []
    arguments = ["study", command, str(path), "--cost", "nodes", *options, "-o", str(output)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert f"{output}: cannot be written" in " ".join(result.output.split())


def plotted(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    return text


def test_losses_are_drawn_greatest_first(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = ablate("m", model(), "nodes")
    losses = mean_losses([*rows, *(replace(row, model="other") for row in rows)])
    assert losses == pytest.approx(mean_losses(rows))
    plot_ablation(rows, tmp_path / "a.svg")
    text = plotted(tmp_path / "a.svg")
    names = sorted(losses, key=lambda name: -losses[name])
    assert losses[names[0]] > 0
    assert all(f">{name}<" in text for name in names)
    plot_ablation(rows, tmp_path / "b.svg")
    assert plotted(tmp_path / "b.svg") == text


def test_growth_is_drawn_with_a_mark_where_a_limit_was_reached(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [grow("m", model(), "nodes"), grow("n", model(), "nodes", limits=Limits(rounds=1))]
    assert [row.stop for row in rows] == ["saturated", "rounds"]
    plot_growth(rows, tmp_path / "a.svg")
    assert '"limit"' in plotted(tmp_path / "a.svg")


def test_a_plot_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(OutputError, match="cannot be written"):
        plot_growth([grow("m", model(), "nodes")], tmp_path / "missing" / "a.svg")


def test_a_plot_without_its_package_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("egraph_opt.cli.application.find_spec", lambda name: None)
    for study in ("ablate", "growth"):
        result = CliRunner().invoke(app, ["study", study, "no.onnx", "--plot", "a.svg"])
        assert result.exit_code == 2
        assert "pip install 'egraph-opt[plots]'" in result.output
