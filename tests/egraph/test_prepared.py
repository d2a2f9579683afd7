"""What is kept of rules decides which are written, and nothing that a file says reaches egglog."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import parser

from egraph_opt.cache import FOLDER_VARIABLE, cache_folder
from egraph_opt.egraph import commands, prepared
from egraph_opt.egraph.commands import rule_texts
from egraph_opt.egraph.engine import Engine
from egraph_opt.laws import checking
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws, select
from egraph_opt.measurement.store import default_path
from egraph_opt.pipeline import optimize


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that is not there yet."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    as_in_a_new_process()
    return tmp_path / "cache"


def as_in_a_new_process() -> None:
    prepared._kept_in.cache_clear()
    commands._program.cache_clear()


def written(laws: tuple[Law, ...], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rules without any cache."""
    with monkeypatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, "")
        commands._program.cache_clear()
        texts = rule_texts(laws)
    commands._program.cache_clear()
    return texts


def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the laws that are checked from now on."""
    names: list[str] = []

    def check(entry: Law) -> list[object]:
        names.append(entry.name)
        return list(checking.check(entry))

    monkeypatch.setattr(commands, "check", check)
    return names


def file_in(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


Rules = list[tuple[object, ...]]


def rules_of(laws: tuple[Law, ...], *, apart: bool = False, guards: bool = True) -> Rules:
    """All that is kept of rules, and their rulesets, as another engine would have them."""
    commands._program.cache_clear()
    rules = commands.program_of(laws, apart=apart, guards=guards).rules.values()
    return [(rule.name, rule.ruleset, rule.text, rule.terms) for rule in rules]


def without_cache(monkeypatch: pytest.MonkeyPatch, laws: tuple[Law, ...], **named: bool) -> Rules:
    with monkeypatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, "")
        return rules_of(laws, **named)


@pytest.mark.parametrize("guards", [True, False])
def test_kept_rules_are_those_that_would_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, guards: bool
) -> None:
    laws = all_laws()
    expected = without_cache(monkeypatch, laws, guards=guards)
    first = rules_of(laws, guards=guards)
    as_in_a_new_process()
    names = checked(monkeypatch)
    assert rules_of(laws, guards=guards) == first == expected
    assert len(names) < len(laws) / 10  # but for those that are made by a function


def test_kept_rules_serve_laws_in_other_company(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules_of(all_laws())
    as_in_a_new_process()
    few = select(["transpose", "reshape"])
    assert rules_of(few) == without_cache(monkeypatch, few)
    assert rules_of(few, apart=True) == without_cache(monkeypatch, few, apart=True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"no json",
        b"\xff\xfe\x00",
        b'{"format": 2, "digest": "00"}\n{"heads": [], "rules": {}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_file_is_passed_over_with_one_line(
    folder: Path, content: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    file_in(folder).write_bytes(content)
    as_in_a_new_process()
    caplog.set_level(logging.DEBUG, "egraph_opt.egraph.prepared")
    assert rule_texts(laws) == written(laws, monkeypatch)
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    Engine(laws)
    as_in_a_new_process()
    names = checked(monkeypatch)
    rule_texts(laws)
    assert names == []


def test_a_file_that_is_cut_off_or_altered_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    whole = file_in(folder).read_text(encoding="utf-8")
    for text in (whole[:-20], whole.replace("#0", "#1"), whole.replace('"format": 2', '"format": 0')):
        assert text != whole
        file_in(folder).write_text(text, encoding="utf-8")
        as_in_a_new_process()
        assert rule_texts(laws) == written(laws, monkeypatch)


def forged(path: Path, change: Callable[[Any], Any]) -> None:
    """Another content of the file, with the head that goes with it."""
    head, _, content = path.read_text(encoding="utf-8").partition("\n")
    content = json.dumps(change(json.loads(content)))
    digest = hashlib.sha256(content.encode()).hexdigest()
    path.write_text(f"{json.dumps({**json.loads(head), 'digest': digest})}\n{content}", encoding="utf-8")


def in_all_places(value: str, text: str) -> Callable[[Any], Any]:
    """Writes a text instead of one of the kinds of texts that a file has."""

    def change(found: Any) -> Any:
        heads, rules = found["heads"], found["rules"]
        if value == "heads":
            heads = [[text, text] for _ in heads]
        elif value == "rules":
            rules = {f"{text}{k}": of_law for k, of_law in enumerate(rules.values())}
        else:
            rules = {key: [[text, *terms] for _, *terms in of_law] for key, of_law in rules.items()}
        return {"heads": heads, "rules": rules}

    return change


@pytest.mark.parametrize("value", ["heads", "rules", "suffixes"])
@pytest.mark.parametrize(
    "attack",
    [
        "(py-eval \"open({0!r}, 'w')\" (py-dict) (py-dict))",
        '(output {0!r} 1)")(output "{0}" 1)',
        'x) (print-function node 1 :file "{0}"',
        "#0 (run 1)",
    ],
)
def test_nothing_that_a_file_says_reaches_egglog(
    folder: Path, value: str, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    attacked = folder.parent / "attacked"
    text = attack.format(str(attacked))
    forged(file_in(folder), in_all_places(value, text))
    as_in_a_new_process()
    told: list[str] = []
    tell = Engine._tell

    def listened(self: Engine, commands: Any) -> None:
        told.extend(commands := list(commands))
        tell(self, commands)

    monkeypatch.setattr(Engine, "_tell", listened)
    model = parser.parse_model(MODEL)
    assert optimize(model, cost="nodes", rewrites=["transpose"]).report.verification.status == "passed"
    assert told and not any(text in command for command in told)
    assert not attacked.exists()


def test_rules_that_a_law_does_not_have_are_none(folder: Path) -> None:
    Engine(select(["transpose"]))
    forged(file_in(folder), in_all_places("suffixes", "#99"))
    as_in_a_new_process()
    assert (
        optimize(parser.parse_model(MODEL), cost="nodes", rewrites=["transpose"]).report.status == "unchanged"
    )


MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y) {
    a = Transpose <perm = [1, 0]> (x) b = Transpose <perm = [1, 0]> (a) y = Relu (b)
}"""


@pytest.mark.parametrize("content", [None, 3, [], {"heads": 1}, {"heads": [[1, 2]], "rules": {}}])
def test_a_file_of_another_form_is_passed_over(
    folder: Path, content: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    forged(file_in(folder), lambda found: content)
    as_in_a_new_process()
    assert rule_texts(laws) == written(laws, monkeypatch)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
def test_what_is_no_file_of_ours_is_neither_waited_for_nor_read_to_its_end(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    path = file_in(folder)
    whole = path.read_bytes()
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(whole)
        monkeypatch.setattr("egraph_opt.cache.MOST_BYTES", len(whole) - 1)
    as_in_a_new_process()
    assert rule_texts(laws) == written(laws, monkeypatch)
    Engine(laws)
    if kind != "folder":  # which is not ours to remove
        assert path.read_bytes() == whole and not path.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_only_a_folder_of_ours_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    (tmp_path / "other").mkdir(mode=0o755)
    (tmp_path / "egraph-opt").symlink_to("other")
    assert cache_folder() is None
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o755
    (tmp_path / "egraph-opt").unlink()
    (tmp_path / "egraph-opt").mkdir(mode=0o755)
    assert cache_folder() == tmp_path / "egraph-opt"
    assert (tmp_path / "egraph-opt").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o755])
def test_a_folder_that_others_may_use_is_passed_over_with_a_line(
    folder: Path, mode: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    folder.chmod(mode)
    Engine(select(["transpose"]))
    assert list(folder.iterdir()) == []
    assert default_path() is None
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith(f"{folder}: nothing is kept there: others may use it (mode {mode:o})")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_folder_of_somebody_else_is_passed_over(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache_folder() is None
    assert "it belongs to another user" in caplog.text


def test_a_folder_is_made_for_the_user_alone(folder: Path) -> None:
    Engine(select(["transpose"]))
    assert folder.stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_written_rules_are_written_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    as_in_a_new_process()
    Engine(select(["transpose"]))
    assert "nothing is kept there: it is no folder" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_empty_variable_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    Engine(select(["transpose"]))
    assert prepared.prepared_terms().path is None
    assert list(tmp_path.iterdir()) == []


def test_laws_of_others_and_variants_of_ours_are_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (law, *_) = select(["transpose"])
    Engine((replace(law, examples=None),))
    assert not [key for key in prepared.prepared_terms().rules if key.startswith(law.key)]


def test_the_folder_may_be_deleted_at_any_time(folder: Path) -> None:
    Engine(select(["transpose"]))
    file_in(folder).unlink()
    folder.rmdir()
    Engine(select(["transpose", "reshape"]))
    assert file_in(folder).exists()


def test_old_files_go(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for k in range(prepared.MOST_FILES + 3):
        old = folder / f"rules-{k}.json"
        old.write_text("")
        os.utime(old, (k, k))
    (folder / "measurements.sqlite").write_text("")
    Engine(select(["transpose"]))
    names = {path.name for path in folder.glob("rules-*")}
    assert len(names) == prepared.MOST_FILES
    assert (folder / "measurements.sqlite").exists()
    assert f"rules-{prepared.installation()}.json" in names


def test_threads_that_write_at_once_keep_what_each_would(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose", "reshape", "concat", "slice"])
    expected = written(laws, monkeypatch)

    def work(turn: int) -> list[str]:
        texts = rule_texts(laws[turn:] + laws[:turn])
        prepared.prepared_terms().keep()
        return texts

    with ThreadPoolExecutor(4) as pool:
        assert len({len(texts) for texts in pool.map(work, range(8))}) == 1
    as_in_a_new_process()
    names = checked(monkeypatch)
    assert rule_texts(laws) == expected
    assert names == []


def test_processes_that_write_at_once_leave_a_whole_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
from egraph_opt.egraph.engine import Engine
from egraph_opt.laws.selection import select
Engine(select(["transpose", "reshape"]))"""
    with ThreadPoolExecutor(3) as pool:
        runs = pool.map(lambda k: subprocess.run([sys.executable, "-c", code], check=True), range(3))
    assert len(list(runs)) == 3
    as_in_a_new_process()
    names = checked(monkeypatch)
    rule_texts(select(["transpose", "reshape"]))
    assert names == []
    assert [path.name for path in folder.iterdir()] == [f"rules-{prepared.installation()}.json"]
