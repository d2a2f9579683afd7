"""Results of sweeps as Parquet and as plots."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from egraph_opt.errors import OutputError
from egraph_opt.lab.plots import flips, lines_of, write_plots
from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.running import SweepTable, run_plan, write_parquet
from egraph_opt.lab.sweep.spec import read_spec
from egraph_opt.lab.sweep.work import InThisProcess

from .small import SPEC, write_example

SAMPLED = """
[[cost]]
model = "costs.py:Trade"
samples = 30
range = { sub_us = [0.5, 4.0], idle_us = [1, 9] }
"""


@pytest.fixture
def table(tmp_path: Path) -> SweepTable:
    path = write_example(tmp_path, SPEC + SAMPLED)
    return run_plan(plan(read_spec(path)), tmp_path / "spec.csv", InThisProcess)


def test_parquet_has_what_csv_has(table: SweepTable, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_parquet(table, tmp_path / "spec.parquet")
    found = parquet.read_table(tmp_path / "spec.parquet").to_pylist()
    shown = csv.DictReader((tmp_path / "spec.csv").read_text(encoding="utf-8").splitlines())
    for row, other in zip(found, shown, strict=True):
        assert {key: "" if value is None else str(value) for key, value in row.items()} == other
    assert {row["cost"] for row in found} == {"costs.py:Trade", "costs.py:Trade #2"}


def test_a_flip_stands_between_the_two_graphs(table: SweepTable) -> None:
    own = [row for row in table.rows if row["cost"] == "costs.py:Trade"]
    lines = lines_of(own, "sub_us", table.parameters)
    odd, plain = sorted(lines, key=lambda line: str(line[0]["mode"]))
    ((value, price),) = flips(plain, "sub_us")
    assert value == 2.0
    assert price == pytest.approx((2.92 + 3.02) / 2)
    assert flips(odd, "sub_us") == []


def test_plots_mark_flips_and_are_the_same_for_the_same_runs(table: SweepTable, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = (write_plots(table, tmp_path / name) for name in ("one", "two"))
    names = {path.name: path for path in first}
    assert sorted(names) == [
        "small.onnx--costs.py-Trade--sub_us.svg",
        "small.onnx--costs.py-Trade-2--idle_us.svg",
        "small.onnx--costs.py-Trade-2--sub_us.svg",
    ]
    lines = names["small.onnx--costs.py-Trade--sub_us.svg"].read_text(encoding="utf-8")
    assert lines.count('id="flip"') == 1
    dots = names["small.onnx--costs.py-Trade-2--sub_us.svg"].read_text(encoding="utf-8")
    assert all(row["graph"] in dots for row in table.rows)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_plots_that_cannot_be_written_are_an_error(table: SweepTable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_plots(table, tmp_path / "file")
