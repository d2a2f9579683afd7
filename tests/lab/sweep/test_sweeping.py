"""Sweeps on this machine: what they answer, and that no run is lost or made twice, whoever dies."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import cost_model, saturate
from egraph_opt.cli import app
from egraph_opt.errors import RunsError
from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.running import run_plan
from egraph_opt.lab.sweep.spec import read_spec
from egraph_opt.lab.sweep.work import InThisProcess, Processes

from .small import SPEC, write_example

RUNNER = CliRunner()

MANY = """
models = ["small.onnx"]
[[cost]]
model = "costs.py:Slow"
samples = 120
range = { sub_us = [0.5, 4.0], idle_us = [0.0, 10.0] }
"""


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def timeless(found: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in found]


def swept(path: Path, *options: str, code: int = 0) -> str:
    result = RUNNER.invoke(app, ["sweep", str(path), "--jobs", "1", *options])
    assert result.exit_code == code, result.output
    return result.output


LAWS = """
from egraph_opt.laws import *
from egraph_opt.operators import *

@law('swept', numerics='bitwise')
def relu_of_absolute(x: Tensor):
    '''Relu(Abs(x)) = Abs(x)'''
    yield rewrite(relu(unary("Abs", (), x)), unary("Abs", (), x), because="it is no longer")
"""


def test_laws_of_ones_own_take_part(tmp_path: Path) -> None:
    (tmp_path / "laws.py").write_text(LAWS)
    onnx.save(
        parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17]>
            g (float[4] x) => (float[4] y) { a = Abs (x) y = Relu (a) }"""
        ),
        tmp_path / "abs.onnx",
    )
    spec = (
        'models = ["abs.onnx"]\nload = ["laws.py"]\nrewrites = [["swept"], []]\n[[cost]]\nmodel = "nodes"\n'
    )
    (tmp_path / "spec.toml").write_text(spec)
    options = [sys.executable, "-m", "egraph_opt.cli", "sweep", str(tmp_path / "spec.toml"), "--jobs", "2"]
    subprocess.run(options, check=True, capture_output=True)  # what it loads is not for other tests
    assert [(row["rewrites"], float(row["price"])) for row in rows(tmp_path / "spec.csv")] == [
        ("swept", 1.0),
        ("", 2.0),
    ]


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[4] x, float[4] w) => (float[4] y) { y = Add (x, w) }"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(4, np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "spec.toml").write_text('models = ["model.onnx"]\n[[cost]]\nmodel = "nodes"\n')
    before = plan(read_spec(tmp_path / "spec.toml")).digests
    (tmp_path / "weights").write_bytes(bytes(32))
    assert plan(read_spec(tmp_path / "spec.toml")).digests != before


def test_a_row_is_what_solving_by_oneself_answers(tmp_path: Path) -> None:
    said = swept(write_example(tmp_path))
    found = rows(tmp_path / "spec.csv")
    assert [row["run"] for row in found] == [str(k) for k in range(10)]
    saturated = saturate(tmp_path / "small.onnx")
    for row in found:
        values = {"sub_us": float(row["sub_us"]), "mode": row["mode"]}
        solution = saturated.solve(cost_model(f"{tmp_path}/costs.py:Trade", values)).solution
        assert float(row["price"]) == solution.cost
        assert float(row["bound"]) == solution.lower_bound
        assert row["nodes"] == ("2" if float(row["price"]) < 3.02 else "3")
    assert len({row["graph"] for row in found}) == 2
    assert "small.onnx  costs.py:Trade    10       2  1.52 .. 3.02         0       0" in said


def test_the_same_graph_has_the_same_hash_in_every_process_and_every_e_graph(tmp_path: Path) -> None:
    spec = SPEC.replace("[[cost]]", 'rewrites = [["default"], ["default", "-transpose"]]\n[[cost]]')
    path = write_example(tmp_path, spec)
    swept(path)
    first = timeless(rows(tmp_path / "spec.csv"))
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "egraph_opt.cli", "sweep", str(path), "-o", str(tmp_path / "other.csv")]
    subprocess.run([*command, "--jobs", "1"], check=True, env=environment, capture_output=True)
    assert timeless(rows(tmp_path / "other.csv")) == first
    assert len({row["graph"] for row in first}) == 2


def test_each_set_of_limits_has_an_e_graph_of_its_own(tmp_path: Path) -> None:
    path = write_example(
        tmp_path, SPEC.replace("Trade", "Limited").replace("mode = [", "window = [4, 8], mode = [")
    )
    groups = {batch.group.key for batch in plan(read_spec(path)).batches}
    assert len(groups) == 2
    swept(path)
    found = rows(tmp_path / "spec.csv")
    assert len(found) == 20
    assert not any(row["error"] for row in found)


def test_a_run_that_fails_has_an_error_in_its_row(tmp_path: Path) -> None:
    spec = SPEC.replace("Trade", "Failing").replace('"small.onnx"', '"small.onnx", "broken.onnx"')
    path = write_example(tmp_path, spec)
    (tmp_path / "broken.onnx").write_bytes(b"none")
    swept(path)
    found = rows(tmp_path / "spec.csv")
    assert [row["error"] for row in found if row["model"] == "small.onnx"].count("") == 6
    told = {row["error"] for row in found if row["model"] == "small.onnx"} - {""}
    assert all("cost model 'failing' cannot price Neg: ZeroDivisionError" in error for error in told) and told
    assert all("no ONNX model" in row["error"] for row in found if row["model"] == "broken.onnx")


def test_more_runs_than_asked_for_are_told_and_not_made(tmp_path: Path) -> None:
    path = write_example(tmp_path)
    said = swept(path, "--most", "9", code=2)
    assert "makes 10 runs, more than 9: --yes if that is meant" in said
    assert not list(tmp_path.glob("spec.csv*"))
    assert "10 runs in" in swept(path, "--most", "9", "--yes")


def test_a_file_that_no_sweep_made_is_left_alone(tmp_path: Path) -> None:
    path = write_example(tmp_path)
    for name in ("spec.csv", "spec.parquet"):
        (tmp_path / name).write_text("mine")
        assert "is there, and no sweep made it: move it away" in swept(path, code=2)
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    assert "name a CSV file" in swept(path, "-o", str(tmp_path / "runs.parquet"), code=2)
    assert "there is no folder" in swept(path, "-o", str(tmp_path / "none" / "x.csv"), code=2)


def test_a_sweep_that_is_done_is_not_made_again_and_a_changed_one_refused(tmp_path: Path) -> None:
    path = write_example(tmp_path)
    swept(path)
    before = (tmp_path / "spec.csv").read_bytes()
    swept(path)
    assert (tmp_path / "spec.csv").read_bytes() == before
    with (tmp_path / "costs.py").open("a") as file:
        file.write("# another line\n")
    assert "a cost model has changed since" in swept(path, code=2)
    write_example(tmp_path, SPEC.replace("1.9", "1.8"))
    assert "is of another sweep: the spec" in swept(path, code=2)
    assert (tmp_path / "spec.csv").read_bytes() == before
    assert not (tmp_path / "spec.csv.egraphs").exists()


def test_what_does_not_go_together_or_is_not_installed_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_example(tmp_path)
    assert "add --backend dask" in swept(path, "--scheduler", "tcp://localhost:8786", code=2)
    monkeypatch.setattr("egraph_opt.cli.application.find_spec", lambda name: None)
    assert "pip install 'egraph-opt[dask]'" in swept(path, "--backend", "dask", code=2)
    assert "pip install 'egraph-opt[plots]'" in swept(path, "--plots", str(tmp_path), code=2)
    assert not list(tmp_path.glob("spec.csv*"))


def lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def children(pid: int) -> list[str]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.split()


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_sweep_that_is_killed_again_and_again_loses_no_run_and_makes_none_twice(tmp_path: Path) -> None:
    path = write_example(tmp_path, MANY)
    journal = tmp_path / "spec.csv.journal"
    command = [sys.executable, "-m", "egraph_opt.cli", "sweep", str(path), "--jobs"]
    workers: list[str] = []
    # A batch takes long beside what it takes to see that the one before it is there, on a busy machine too.
    for ending, jobs, pause in (
        (signal.SIGKILL, "1", "0.004"),
        (signal.SIGKILL, "2", "0.004"),
        (signal.SIGINT, "1", "0.015"),
    ):
        (tmp_path / "pause").write_text(pause)
        before = max(lines(journal), 1)
        process = subprocess.Popen(
            [*command, jobs], stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
        )
        while lines(journal) <= before and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None
        workers += children(process.pid)
        process.send_signal(ending)
        said = process.communicate()[1]
        assert process.returncode == (130 if ending == signal.SIGINT else -ending), said
    assert "stopped: the runs until here are kept in" in said
    assert 3 < lines(journal) < 9
    assert not (tmp_path / "spec.csv").exists()
    (tmp_path / "pause").write_text("0")
    swept(path)
    found = rows(tmp_path / "spec.csv")
    assert [row["run"] for row in found] == [str(k) for k in range(120)]
    kept = [row[0] for line in journal.read_text().splitlines()[1:] for row in json.loads(line)["rows"]]
    assert sorted(kept) == list(range(120))
    swept(path, "-o", str(tmp_path / "whole.csv"))
    assert timeless(rows(tmp_path / "whole.csv")) == timeless(found)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()], "workers outlive the sweep"


def test_the_runs_of_a_worker_that_dies_are_made_by_another(tmp_path: Path) -> None:
    path = write_example(tmp_path, SPEC.replace("Trade", "Deadly"))
    (tmp_path / "lives").write_text("1")
    table = run_plan(plan(read_spec(path)), tmp_path / "spec.csv", lambda folder: Processes(2, folder))
    assert (tmp_path / "lives").read_text() == "0"
    assert [row["run"] for row in table.rows] == list(range(10))
    assert not any(row["error"] for row in table.rows)


def test_workers_that_die_always_are_given_up_and_what_is_done_is_kept(tmp_path: Path) -> None:
    spec = SPEC.replace("Trade", "Deadly").replace("samples", "") + '[[cost]]\nmodel = "costs.py:Trade"\n'
    path = write_example(tmp_path, spec)
    (tmp_path / "lives").write_text("99")
    with pytest.raises(RunsError, match="workers died 3 times without an answer"):
        run_plan(plan(read_spec(path)), tmp_path / "spec.csv", lambda folder: Processes(1, folder))
    (tmp_path / "lives").write_text("0")
    assert len(run_plan(plan(read_spec(path)), tmp_path / "spec.csv", InThisProcess).rows) == 11
