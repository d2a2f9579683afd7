"""Scripts for the tools of vendors: what is here is run, what is not is played as its documents say."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import Runner
from egraph_opt.cli import app
from egraph_opt.errors import UnknownSettingError
from egraph_opt.measurement.device_call import DeviceAnswer
from egraph_opt.measurement.device_scripts import NAMES, script

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[64,64] x) => (float[64,64] y) { a = MatMul (x, x) b = Softmax <axis = -1> (a) y = MatMul (b, x) }
"""

NOT_HERE = ("ascend_ais_bench", "ascend_msame", "trtexec")


@pytest.fixture(autouse=True)
def no_options_of_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test OPTIONS=..` hands its own to all that it starts, and scripts have a setting of that name."""
    monkeypatch.delenv("OPTIONS", raising=False)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    found = parser.parse_model(MODEL)
    for node in found.graph.node:
        node.name = f"make_{node.output[0]}"
    onnx.save(found, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def timed(name: str, folder: Path, model: Path) -> DeviceAnswer:
    file = folder / f"{name}.py"
    file.write_text(script(name))
    (answer,) = Runner(f"{sys.executable} {file} {{models}}", timeout=120, retries=0).time([model])
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_a_script_stands_alone_and_says_what_it_was_tried_on(name: str) -> None:
    text = script(name)
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "egraph_opt" not in text
    assert imported <= {"__future__", "typing", "collections.abc", "pathlib"}
    assert ("not run by the authors" in text) == (name in NOT_HERE)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_HERE])
def test_the_tools_that_are_here_time_a_model_and_its_nodes(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SECONDS", "1")
    monkeypatch.setenv("RUNS", "20")
    monkeypatch.setenv("DEVICE", "this one")
    answer = timed(name, tmp_path, model)
    assert answer.error == ""
    assert answer.micros > 0 and answer.device == "this one"
    graph = onnx.load(model).graph
    assert {name for node in graph.node for name in (node.name, *node.output)} & set(answer.nodes)
    assert all(took >= 0 for took in answer.nodes.values())
    model.write_text("no model")
    assert "failed" in timed(name, tmp_path, model).error


def tool(folder: Path, name: str, code: str) -> None:
    """A program of a name that does what the documentation of the real one says."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport json, pathlib, sys\ngiven = sys.argv[1:]\n{code}\n")
    path.chmod(0o755)


ATC = """
named = dict(word.split("=", 1) for word in given)
assert named["--framework"] == "5" and named["--soc_version"] and pathlib.Path(named["--model"]).exists()
pathlib.Path(named["--output"] + ".om").write_text("om")
"""

BENCH = """
assert given[:2] == ["-m", "ais_bench"] and pathlib.Path(given[given.index("--model") + 1]).exists()
if "--output" in given:
    folder = pathlib.Path(given[given.index("--output") + 1])
    times = {"NPU_compute_time": {"min": 0.1, "mean": 0.3, "median": 0.25}}
    (folder / "times_summary.json").write_text(json.dumps(times))
"""

MSPROF = """
folder = pathlib.Path(given[0].partition("=")[2]) / "PROF_000001" / "mindstudio_profiler_output"
folder.mkdir(parents=True)
(folder / "op_summary_1.csv").write_text("Op Name,Task Duration(us)\\na,12.5\\ny,30\\na,11.5\\n")
assert given[1:4] == ["python3", "-m", "ais_bench"]
"""

MSAME = """
assert given[:1] == ["--model"] and "--loop" in given
print("Inference average time : 0.900000 ms")
print("Inference average time without first time: 0.500000 ms")
"""

TRTEXEC = """
named = dict(word.partition("=")[::2] for word in given)
pathlib.Path(named["--exportTimes"]).write_text(json.dumps([{"computeMs": t} for t in (0.5, 0.25, 1.0)]))
layers = [{"count": 9}, {"name": "a + b", "averageMs": 0.125}, {"name": "y", "averageMs": 0.25}]
pathlib.Path(named["--exportProfile"]).write_text(json.dumps(layers))
"""


@pytest.mark.parametrize(
    ("name", "tools", "micros", "nodes"),
    [
        ("ascend_ais_bench", {"atc": ATC, "python3": BENCH, "msprof": MSPROF}, 250.0, {"a": 11.5, "y": 30.0}),
        ("ascend_msame", {"atc": ATC, "msame": MSAME}, 500.0, {}),
        ("trtexec", {"trtexec": TRTEXEC}, 500.0, {"b": 125.0, "y": 250.0}),
    ],
)
def test_what_the_documents_say_that_other_tools_print_is_read(
    tmp_path: Path,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    tools: dict[str, str],
    micros: float,
    nodes: dict[str, float],
) -> None:
    (tmp_path / "bin").mkdir()
    for called, code in tools.items():
        tool(tmp_path / "bin", called, code)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DEVICE", "a board")
    assert timed(name, tmp_path, model) == DeviceAnswer(micros, "a board", nodes=nodes)
    tool(tmp_path / "bin", next(iter(tools)), "sys.exit('no chip')")
    assert "no chip" in timed(name, tmp_path, model).error


def test_the_command_lists_and_writes_them(tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["runner", "script"])
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(NAMES)
    printed = CliRunner().invoke(app, ["runner", "script", "trtexec"])
    assert printed.stdout == script("trtexec")
    written = CliRunner().invoke(app, ["runner", "script", "trtexec", "-o", str(tmp_path / "time.py")])
    assert written.exit_code == 0 and (tmp_path / "time.py").read_text() == script("trtexec")
    assert CliRunner().invoke(app, ["runner", "script", "trtexecs"]).exit_code == 2
    with pytest.raises(UnknownSettingError, match="trtexec"):
        script("trtexecs")
