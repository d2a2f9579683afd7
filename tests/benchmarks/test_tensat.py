"""The tables beside the papers come from a file of results; what is missing from it is said in its row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import figures
import greedy_tools
import latency_figures
import pytest
import result_files
import tensat
import tensat_figures
from networks import NETWORKS, write

from egraph_opt.cost.registry import cost_model
from egraph_opt.lab.comparison.tools import Tool

ROOT = Path(tensat.__file__).resolve().parent
COMPARED = (tensat_figures.tensat_speed, tensat_figures.tensat_search, tensat_figures.tensat_extraction)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run on a small network writes, without timing."""
    path = tmp_path_factory.mktemp("tensat") / "tensat.json"
    command = [sys.executable, str(ROOT / "tensat.py"), "bert", "--small", "--costs", "ascend"]
    subprocess.run([*command, "--json", str(path)], check=True, capture_output=True)
    return json.loads(path.read_text(encoding="utf-8"))


def rows_of(table: str) -> list[list[str]]:
    lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    assert len({len(line) for line in lines}) == 1
    return lines[2:]


def test_a_run_has_prices_seconds_and_extractors(small: dict[str, Any]) -> None:
    row = small["networks"]["bert"]["ascend"]
    assert row["verification"] == "passed"
    costs = {name: found["cost"] for name, found in row["extractors"].items()}
    assert costs["auto"] == pytest.approx(row["after"])
    assert row["lower_bound"] <= costs["auto"] <= costs["greedy-dag"] <= row["before"]
    assert row["after"] < row["before"]
    assert {"saturate", "extract"} <= row["seconds"].keys()
    assert row["e_nodes"] > 20


@pytest.mark.parametrize("table", COMPARED)
def test_a_table_says_what_was_not_run(table: Any, small: dict[str, Any]) -> None:
    ((name, *cells),) = rows_of(table(small))
    assert name == "BERT"
    assert "not run under onnxruntime" in cells


def test_a_network_that_failed_has_a_row_that_says_why(small: dict[str, Any]) -> None:
    found = small | {"networks": {"vgg19": {"error": "gave up after 900 s"}}}
    for table in COMPARED:
        assert "gave up after 900 s" in table(found)


def test_published_percentages_become_ratios() -> None:
    assert tensat_figures.ratio("yang", "nasrnn", "tensat") == "1.689"
    assert tensat_figures.ratio("hartmann", "bert", "mcts_ilp") == f"{1 / (1 - 0.3371):.3f}"
    assert tensat_figures.ratio("yang", "resnet50", "tensat") == "-"


def test_every_published_network_is_one_of_ours_and_every_source_is_cited() -> None:
    found = tensat_figures.published()
    for source in found["sources"]:
        assert found[source].keys() <= NETWORKS.keys()
        assert found["sources"][source]["cite"] in tensat_figures.tensat_sources()


def test_measured_prices_and_times_of_a_network_are_written(tmp_path: Path) -> None:
    path = write("bert", tmp_path, small=True)
    row = tensat.row(path, ["onnxruntime"], 0)["onnxruntime"]
    assert row["measuring"] > 0
    assert "measured" not in row
    files = {"chosen": path}
    timed = tensat.timed(path, files, cost_model("onnxruntime"), {}, 0)
    assert timed["chosen"]["low"] <= timed["chosen"]["speedup"] <= timed["chosen"]["high"]


def test_an_unknown_network_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tensat.py", "alexnet"])
    with pytest.raises(SystemExit, match="2"):
        tensat.main()
    assert "no network alexnet; there are nasrnn" in capsys.readouterr().err


def test_a_tool_that_is_not_installed_has_a_result_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greedy_tools, "TOOLS", {"Nobody": Tool("nobody", "no-such-package", print)})
    (result,) = greedy_tools.run_tools(write("nasrnn", tmp_path, small=True))
    assert (result.nodes, result.reason) == (None, "not installed: pip install no-such-package")


def test_a_table_names_the_tools_that_were_not_installed() -> None:
    missing = {"reason": "not installed: pip install onnxslim"}
    row = {"tools": {"onnxsim": {"nodes": 7, "file": 9}, "OnnxSlim": missing}}
    assert figures._best(row) == "7 (onnxsim); OnnxSlim not installed"
    assert latency_figures._rival({"OnnxSlim": missing["reason"]}, "OnnxSlim") == "not installed"


def test_a_result_file_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- figures: versions -->\n<!-- end -->\n", encoding="utf-8")
    monkeypatch.setattr(figures, "PAGES", (page,))
    monkeypatch.setattr(result_files, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["figures.py"])
    with pytest.raises(SystemExit, match=r"trained\.json, which is missing: `make bench` makes it"):
        figures.main()
    assert "versions" in page.read_text(encoding="utf-8")
