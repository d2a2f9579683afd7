"""What is no regular file is never replaced: links stay, and `-` is standard input or output."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.errors import OutputError
from egraph_opt.model.files import write_whole
from egraph_opt.model.reading import read_model
from egraph_opt.model.streams import is_stdout
from egraph_opt.model.writing import write_model, write_original

from .models import affine, model_of, run, tensor

FEED = {"x": np.ones((2, 1000), np.float32)}


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A link to a model in another folder."""
    (tmp_path / "other").mkdir()
    onnx.save(affine(), tmp_path / "other" / "real.onnx")
    (tmp_path / "link.onnx").symlink_to(Path("other", "real.onnx"))
    return tmp_path / "link.onnx"


def test_a_link_stays_and_what_it_leads_to_is_replaced(linked: Path) -> None:
    loaded = read_model(affine())
    before = linked.stat().st_ino
    for write in (lambda: write_model(loaded.model, linked, like=loaded), lambda: write_whole(linked, b"r")):
        write()
        assert linked.is_symlink() and linked.stat().st_ino != before
        before = linked.stat().st_ino
    assert (linked.parent / "other" / "real.onnx").read_bytes() == b"r"
    assert sorted(os.listdir(linked.parent)) == ["link.onnx", "other"]
    assert os.listdir(linked.parent / "other") == ["real.onnx"]


def test_in_place_a_link_stays_and_its_model_is_replaced(linked: Path) -> None:
    loaded = read_model(linked)
    with pytest.raises(OutputError, match="is the input itself"):
        write_original(linked, like=loaded)
    before = linked.stat().st_ino
    assert write_model(loaded.model, linked, like=loaded, in_place=True) == linked
    assert linked.is_symlink() and linked.stat().st_ino != before
    np.testing.assert_array_equal(run(linked, **FEED)[0], run(affine(), **FEED)[0])


def test_a_link_to_nothing_leads_to_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    write_whole(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "new").read_bytes() == b"content"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    loaded = read_model(affine())
    with pytest.raises(OutputError, match="in a circle"):
        write_model(loaded.model, tmp_path / "a", like=loaded)
    with pytest.raises(OutputError, match="in a circle"):
        write_whole(tmp_path / "a", b"report")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_link_that_another_user_has_planted_is_not_followed(
    linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.lstat

    class Theirs:
        def __init__(self, found: os.stat_result) -> None:
            self.st_mode, self.st_uid = found.st_mode, found.st_uid + 1

    monkeypatch.setattr(Path, "lstat", lambda path: Theirs(real(path)))
    loaded, before = read_model(affine()), linked.read_bytes()
    with pytest.raises(OutputError, match="link of another user"):
        write_model(loaded.model, linked, like=loaded)
    with pytest.raises(OutputError, match="link of another user"):
        write_whole(linked, b"report")
    assert linked.read_bytes() == before


def test_weights_that_a_link_would_not_find_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    source = tmp_path / "m.onnx"
    onnx.save(affine(), source, save_as_external_data=True, location="m.onnx.data", size_threshold=16)
    for name, leads in (("near.onnx", "n.onnx"), ("far.onnx", "other/n.onnx")):
        (tmp_path / name).symlink_to(leads)
    loaded = read_model(source)
    with pytest.raises(OutputError, match=r"leads to another folder, .*: name .*other/n\.onnx"):
        write_model(loaded.model, tmp_path / "far.onnx", like=loaded)
    assert os.listdir(tmp_path / "other") == []
    near = write_model(loaded.model, tmp_path / "near.onnx", like=loaded)
    assert near.is_symlink() and (tmp_path / "n.onnx.data").exists()
    np.testing.assert_array_equal(run(tmp_path / "n.onnx", **FEED)[0], run(source, **FEED)[0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("-", True),
        ("/dev/stdout", True),
        ("/dev/fd/1", True),
        ("/proc/self/fd/1", True),
        ("/dev/fd/2", False),
    ],
)
def test_standard_output_has_several_names(name: str, expected: bool) -> None:
    assert is_stdout(Path(name)) == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_read_once_whatever_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law that is left out, or sizes that do not run, have the model saturated once more."""
    os.mkfifo(pipe := tmp_path / "pipe")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = model_of([node], [tensor("x", ["N", 3])], [tensor("y", None)])
    writer = Thread(target=lambda: pipe.write_bytes(model.SerializeToString()))
    writer.start()
    seen: list[object] = []
    monkeypatch.setattr(
        "egraph_opt.pipeline.saturating.read_model", lambda source, shapes: seen.append(source)
    )
    with pytest.raises(AttributeError):
        optimize(pipe)
    writer.join(10)
    assert seen == [model]


def command(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "egraph_opt.cli", *map(str, arguments)]
    return subprocess.run(words, input=stdin, capture_output=True, check=False)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (("optimize", "-", "--dry-run", "--html"), b"<!doctype html>"),
        (("egraph", "-", "-o"), b"{"),
        (("diff", "-", "{}", "--html"), b"<!doctype html>"),
        (("study", "growth", "{}", "-o"), b"model,cost_model"),
        (("study", "ablate", "{}", "-o"), b"model,cost_model"),
        (("study", "orders", "{}", "-o"), b"model,cost_model"),
        (("measurements", "export"), b"machine,runtime"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_what_is_written_to_stdout_is_alone_there(
    name: str, arguments: tuple[str, ...], begins: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(affine(), path)
    words = [text.format(path) for text in arguments]
    with (tmp_path / "printed").open("wb") as file:  # a file, of which the name would be opened again
        done = subprocess.run(
            [sys.executable, "-m", "egraph_opt.cli", *words, name],
            input=path.read_bytes(),
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    printed = (tmp_path / "printed").read_bytes()
    assert printed.startswith(begins)
    if begins.startswith((b"model", b"machine")):
        rows = list(csv.reader(printed.decode().splitlines()))
        assert {len(row) for row in rows} == {len(rows[0])}
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "printed"]


def test_models_are_read_from_stdin() -> None:
    content = affine().SerializeToString()
    for words in (("show", "-"), ("explain", "-")):
        assert command(*words, stdin=content).returncode == 0
    assert b"-: the file is empty" in command("explain", "-").stderr


def test_two_things_are_not_written_to_stdout() -> None:
    for words in (
        ("-", "--html", "-"),
        ("-", "--report", "/dev/stdout"),
        ("--dry-run", "--html", "-", "--report", "-"),
    ):
        done = command("optimize", "-", *words, stdin=affine().SerializeToString())
        assert done.returncode == 2 and done.stdout == b""
        assert b"one thing is written to stdout" in done.stderr
