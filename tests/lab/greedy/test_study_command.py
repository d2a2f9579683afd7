"""`egraph-opt study orders`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner

from egraph_opt.cli import app

from .situations import SITUATIONS

RUNNER = CliRunner()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.onnx"
    onnx.save(SITUATIONS["single rows"].model(), path)
    return path


def test_several_models_and_costs_are_summed_up(rows: Path) -> None:
    output = rows.with_suffix(".csv")
    options = ["--passes", "auto-optimizer", "--cost", "nodes,flops", "--random", "2", "-o", str(output)]
    result = RUNNER.invoke(app, ["study", "orders", str(rows), *options])
    assert result.exit_code == 0, result.output
    assert "rows, nodes (nodes)" in result.output
    assert "2 studies: price of ordering" in result.output
    found = list(csv.DictReader(output.read_text(encoding="utf-8").splitlines()))
    assert len(found) == 2 * (4 + 2)
    assert {row["cost_model"] for row in found} == {"nodes", "flops"}


def test_rulesets_may_be_passes(rows: Path) -> None:
    options = ["--rewrites", "concat,gather,slice", "--cost", "nodes", "--pairs"]
    result = RUNNER.invoke(app, ["study", "orders", str(rows), *options])
    assert result.exit_code == 0, result.output
    assert "saturation" in result.output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--passes", "auto-optimiser"], 2, "did you mean 'auto-optimizer'"),
        (["--cost", "node"], 2, "did you mean 'nodes'"),
        (["--rewrites", "concatt"], 2, "did you mean 'concat'"),
        (["--random", "-1"], 2, "'--random'"),
    ],
)
def test_what_there_is_not_is_refused(rows: Path, arguments: list[str], code: int, said: str) -> None:
    output = rows.with_suffix(".csv")
    result = RUNNER.invoke(app, ["study", "orders", str(rows), *arguments, "-o", str(output)])
    assert result.exit_code == code
    assert said in result.output
    assert not output.exists()


def test_a_model_that_cannot_be_read_leaves_no_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    output = tmp_path / "out.csv"
    result = RUNNER.invoke(app, ["study", "orders", str(broken), "-o", str(output)])
    assert result.exit_code == 1
    assert "broken.onnx" in result.output
    assert list(tmp_path.iterdir()) == [broken]
