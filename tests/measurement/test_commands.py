"""`egraph-opt measurements`, and models that are timed from the command line."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner, Result

from egraph_opt.cache import FOLDER_VARIABLE
from egraph_opt.cli import app
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.store import Place, Store, default_path
from egraph_opt.measurement.timing import Answer, Measurement, Refusal


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A file of two measurements in a cache folder of its own."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    store = Store(default_path())
    answers: dict[str, Answer] = {"a": Measurement(12.5, 1.0, 0.5, 2, 0.03, 8), "b": Refusal("no kernel")}
    store.add(Place.here(OrtRuntime()), answers)
    return store


def test_measurements_are_listed_exported_merged_and_cleared(times: Store, tmp_path: Path) -> None:
    listed = run("measurements", "list")
    assert "threads=1" in listed.output
    assert str(times.path) in listed.output
    exported = run("measurements", "export", tmp_path / "t.csv")
    assert exported.output.startswith("2 measurements written")
    assert len((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()) == 3
    other = Store(tmp_path / "other.sqlite")
    other.add(Place.here(OrtRuntime(2)), {"a": Measurement(1.0, 0.0, 0.0, 1, 0.0, 8)})
    merged = run("measurements", "merge", tmp_path / "other.sqlite")
    assert merged.output.startswith("1 measurements taken over")
    assert run("measurements", "clear").output.startswith("3 measurements forgotten")


def test_nothing_is_made_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    assert run("costs").exit_code == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["missing.sqlite", "notes.txt"])
def test_a_file_that_holds_no_measurements_is_not_merged(times: Store, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("not a database, and longer than its header is " * 9)
    result = run("measurements", "merge", tmp_path / name)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert name in line


def test_measurements_are_not_written_where_there_is_no_folder(times: Store, tmp_path: Path) -> None:
    result = run("measurements", "export", tmp_path / "no" / "t.csv")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "t.csv" in line


def test_a_model_is_timed_beside_the_original(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[8,64] x) => (float[8,64] y) { a = Neg (x) b = Neg (a) y = Relu (b) }
    """
    onnx.save(onnx.parser.parse_model(text), tmp_path / "in.onnx")
    files = tmp_path / "in.onnx", tmp_path / "out.onnx"
    result = run("optimize", *files, "--cost", "nodes", "--measure")
    assert result.exit_code == 0, result.output
    assert "times as fast" in result.output
    assert len(onnx.load(files[1]).graph.node) == 1


def test_what_is_there_and_no_file_is_not_said_to_be_missing(times: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    wrong = {
        Path("/dev/zero"): "is no regular file",
        tmp_path / "pipe": "is no regular file",
        tmp_path / "folder": "is a directory",
        tmp_path / "none": "there is no such file",
    }
    for path, what in wrong.items():
        result = run("measurements", "merge", path)
        assert (result.exit_code, f"{path}: {what}" in result.stderr) == (2, True)
