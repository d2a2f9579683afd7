"""Optimisers side by side: each in a process of its own, with limits, and a row whatever it does."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt.cli import app
from egraph_opt.cli.compare import _named
from egraph_opt.errors import UnknownToolError
from egraph_opt.lab.comparison.report import as_csv, as_html, as_json, column_names
from egraph_opt.lab.comparison.running import ORIGINAL, Bounds, Contender, _assessed, compare_tools
from egraph_opt.lab.comparison.tools import TOOLS, Tool, tools_named
from egraph_opt.lab.comparison.verdicts import verdicts
from egraph_opt.lab.tables import csv_text

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
rows (float[2,4,8] x) => (float[2,2,8] y)
<int64[1] first = {1}, int64[1] second = {2}>
{
    a = Gather <axis = 1> (x, first)
    b = Gather <axis = 1> (x, second)
    r = Relu (a)
    s = Relu (b)
    y = Concat <axis = 1> (r, s)
}
"""
COSTS = ["nodes", "bytes"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    onnx.save(parser.parse_model(TEXT), path := folder / "rows.onnx")
    return path


class Compared(NamedTuple):
    """What the command printed, the folder of its files, and the rows of its JSON by tool."""

    output: str
    folder: Path
    rows: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """The command, run once: every step of it takes a process of its own."""
    path = written(tmp_path_factory.mktemp("compared"))
    folder = path.parent / "out"
    arguments = ["compare", str(path), "--cost", ",".join(COSTS), "--tools", "saturation,ort-basic"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("egraph_opt.cli.compare.TIMED", 0.1)
        result = CliRunner().invoke(app, [*arguments, "--measure", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    found = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]
    return Compared(result.output, folder, {row["tool"]: row for row in found})


def test_every_result_is_priced_under_every_cost_model(compared: Compared) -> None:
    found = compared.rows
    assert list(found) == [ORIGINAL, "saturation (nodes)", "saturation (bytes)", "ort-basic"]
    assert {row["correct"] for row in found.values()} == {"passed"}
    assert not any(row["problem"] for row in found.values())
    assert all(set(row["prices"]) == set(COSTS) for row in found.values())
    assert (found[ORIGINAL]["nodes"], found["saturation (nodes)"]["nodes"]) == (5, 2)
    for cost in COSTS:
        best = found[f"saturation ({cost})"]["prices"][cost]
        assert best is not None
        assert all(best <= (row["prices"][cost] or 0) for row in found.values())


def test_the_table_has_a_price_for_each_cost_model(compared: Compared) -> None:
    above, header = (line.split() for line in compared.output.splitlines()[:2])
    assert above == ["price", "price"]
    assert header[:4] == ["tool", "nodes", "nodes", "bytes"]
    original = next(line for line in compared.output.splitlines() if "original" in line)
    prices = compared.rows[ORIGINAL]["prices"]
    assert original.split()[2:4] == [f"{prices[cost]:,.5g}" for cost in COSTS]


def test_the_best_order_is_a_contender(rows: Path) -> None:
    original, best = compare_tools(rows, tools_named(["best-order"]), ["nodes"], orders=1)
    assert (original.nodes, best.nodes, best.correct) == (5, 2, "passed")


@pytest.mark.parametrize(
    ("tools", "orders", "tried"),
    [
        (None, None, False),
        (None, 0, True),
        ("saturation", None, False),
        ("saturation", 3, True),
        ("best-order", None, True),
    ],
)
def test_orders_are_tried_where_they_are_asked_for(
    tools: str | None, orders: int | None, tried: bool
) -> None:
    named = _named(tools, TOOLS, orders)
    assert ("best-order" in named) == tried
    assert len(set(named)) == len(named)


def test_results_are_timed_beside_the_original(compared: Compared) -> None:
    original, *others = compared.rows.values()
    assert original["speedup"] == 1.0
    for row in others:
        assert row["low"] is not None
        assert row["speedup"] is not None
        assert row["high"] is not None
        assert row["low"] <= row["speedup"] <= row["high"]


def test_a_tool_that_is_not_installed_has_a_row_that_says_so(rows: Path) -> None:
    absent = Tool("absent", "no-such-optimizer", print)
    (_, row) = compare_tools(rows, [absent], ["nodes"])
    assert row.problem == "not installed: pip install no-such-optimizer"
    assert row.nodes is None


def test_a_tool_that_takes_too_long_ends_only_its_own_row(rows: Path) -> None:
    found = compare_tools(
        rows, tools_named(["saturation", "ort-basic"]), ["nodes"], bounds=Bounds(seconds=0.01)
    )
    assert [row.problem.rpartition(": ")[2] for row in found] == ["took longer than 0.01 s"] * 3


def test_a_tool_that_takes_too_much_memory_ends_only_its_own_row(rows: Path) -> None:
    found = compare_tools(rows, tools_named(["saturation"]), ["nodes"], bounds=Bounds(mib=64))
    assert all(row.problem for row in found)


def test_a_process_that_crashes_is_told(tmp_path: Path) -> None:
    """onnxruntime 1.31 dies of a Split with an output that has no name."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (float[1,512] x0) => (float[] y0, float[] y2) <int64[3] sizes = {128, 128, 256}>
        { y0, z, y2 = Split <axis = 1> (x0, sizes) }"""
    )
    model.graph.node[0].output[1] = ""
    onnx.save(model, path := tmp_path / "deadly.onnx")
    (row,) = compare_tools(path, [], ["nodes"])
    assert "ended with code -" in row.problem


def test_a_wrong_result_is_told(rows: Path, tmp_path: Path) -> None:
    onnx.save(parser.parse_model(TEXT.replace("Relu (b)", "Abs (b)")), wrong := tmp_path / "wrong.onnx")
    row = _assessed(Contender("rows", "liar"), rows, wrong, ["nodes"], Bounds())
    assert row.correct == "failed"
    assert "y" in row.detail


def test_what_is_no_model_is_told(rows: Path, tmp_path: Path) -> None:
    (broken := tmp_path / "broken.onnx").write_bytes(b"no model")
    row = _assessed(Contender("rows", "liar"), rows, broken, ["nodes"], Bounds())
    assert row.correct == "failed"
    assert row.problem.startswith("its result is no model")


class _Counter(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


CONTENDERS = [
    Contender("m", ORIGINAL, nodes=5, prices={"nodes": 5.0}, correct="passed"),
    Contender("m", "a <b>", "1.0", nodes=3, prices={"nodes": 3.0}, correct="failed", detail="y differs"),
    Contender("m", "c", problem="not installed: pip install c"),
]


def test_rows_are_written_whole() -> None:
    table = list(csv.reader(io.StringIO(as_csv(CONTENDERS, ["nodes"]))))
    assert table[0] == column_names(["nodes"])
    assert [row[table[0].index("price nodes")] for row in table[1:]] == ["5.0", "3.0", ""]
    assert [row["tool"] for row in json.loads(as_json(CONTENDERS, ["nodes"]))["rows"]] == [
        ORIGINAL,
        "a <b>",
        "c",
    ]
    page = as_html(CONTENDERS, ["nodes"])
    counted = _Counter()
    counted.feed(page)
    assert counted.tags.count("tr") == 4
    assert counted.tags.count("rect") == 2
    assert "a &lt;b&gt;" in page
    assert "b" not in counted.tags


def test_unknown_tools_are_refused() -> None:
    with pytest.raises(UnknownToolError, match="did you mean 'onnxslim'"):
        tools_named(["saturation", "onnxslimm"])
    assert all(name == tool.name for name, tool in TOOLS.items())


def test_the_command_writes_all_files(compared: Compared) -> None:
    assert "saturation (bytes)" in compared.output
    assert max(map(len, compared.output.splitlines())) <= 80
    assert sorted(path.name for path in compared.folder.iterdir()) == [
        f"comparison.{s}" for s in ("csv", "html", "json")
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--tools", "onnxslimm"], 2, "did you mean 'onnxslim'"),
        (["--cost", "nodes,byte"], 2, "did you mean 'bytes'"),
        (["--memory", "1"], 2, "'--memory'"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    rows: Path, arguments: list[str], code: int, said: str
) -> None:
    result = CliRunner().invoke(app, ["compare", str(rows), *arguments, "-o", str(rows.parent / "out")])
    assert result.exit_code == code
    assert said in result.output
    assert not (rows.parent / "out").exists()


def test_rows_are_printed_as_json(rows: Path) -> None:
    result = CliRunner().invoke(app, ["compare", str(rows), "--tools", "ort-basic", "--json"])
    found = json.loads(result.stdout)
    assert [row["tool"] for row in found["rows"]] == [ORIGINAL, "ort-basic"]


def test_a_model_that_cannot_be_read_is_told_first(rows: Path) -> None:
    (broken := rows.parent / "broken.onnx").write_bytes(b"no model")
    result = CliRunner().invoke(app, ["compare", str(rows), str(broken)])
    assert result.exit_code == 1
    assert "broken.onnx" in result.output


def test_what_other_programs_take_for_a_cell_is_no_formula_either() -> None:
    """Where decimals have commas, semicolons separate cells, and quotes within one say nothing."""
    names = ["a;=1+1", "a; @SUM(A1)", "a\t=1;+2", "a\n-2+3", "a;b-c", "a, =b"]
    _, *rows = csv.reader(io.StringIO(csv_text(["model"], ([name] for name in names))))
    expected = ["a;'=1+1", "a;' @SUM(A1)", "a\t'=1;'+2", "a\n'-2+3", "a;b-c", "a, =b"]
    assert [cell for (cell,) in rows] == expected


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://example.org")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", " =1"]
)
def test_no_cell_of_a_table_is_a_formula(name: str) -> None:
    text = csv_text(["model", name], [[name, -1.5], ["-1e-3", None], ["a=b", "plain"]])
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["model", f"'{name}"]
    assert rows == [[f"'{name}", "-1.5"], ["-1e-3", ""], ["a=b", "plain"]]


def contender(tool: str, price: float | None, speedup: float | None, model: str = "m") -> Contender:
    return Contender(model, tool, prices={"nodes": price}, correct="passed", speedup=speedup)


def test_of_what_is_faster_than_ours_it_is_said_whether_prices_or_laws_are_to_blame() -> None:
    rows = [
        contender(ORIGINAL, 10.0, 1.0),
        contender("saturation (nodes)", 6.0, 1.1),
        contender("onnxsim", 8.0, 1.21),
        contender("onnxslim", 5.0, 1.32),
        contender("ort-basic", 4.0, 1.11),
        contender("general (nodes)", None, 1.5),
        contender("onnxscript", 5.0, None),
        contender(ORIGINAL, 10.0, 1.0, "n"),
        contender("saturation (nodes)", 6.0, 0.9, "n"),
    ]
    assert list(verdicts(rows, ["nodes", "bytes"])) == [
        "m: onnxsim is 1.10 times as fast as ours; by nodes prices are wrong: it should be no cheaper"
        " (8, ours 6)",
        "m: onnxslim is 1.20 times as fast as ours; by nodes a law is missing, or the search ended early:"
        " it is cheaper (5, ours 6)",
        "n: original is 1.11 times as fast as ours; by nodes prices are wrong: it should be no cheaper"
        " (10, ours 6)",
    ]
