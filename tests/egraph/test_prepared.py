"""Rules that were kept are those that would be written; with a broken file they are written anew."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from egraph_opt.cache import FOLDER_VARIABLE
from egraph_opt.egraph import commands, prepared
from egraph_opt.egraph.commands import rule_texts
from egraph_opt.egraph.engine import Engine
from egraph_opt.laws import checking
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws, select


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that is not there yet."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    as_in_a_new_process()
    return tmp_path / "cache"


OTHERS = ("os:system", "egraph_opt.facts.fact:meet", "egraph_opt.rewrites.nowhere:f", "=f()")
"""Names that no file of ours has."""


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
    assert len(names) < len(laws) / 10  # but for those that name constants which are no literals


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
        b'{"format": 1, "digest": "00"}\n{"objects": [], "rules": {}}',
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
    for text in (whole[:-20], whole.replace("_x", "_y"), whole.replace('"format": 1', '"format": 0')):
        assert text != whole
        file_in(folder).write_text(text, encoding="utf-8")
        as_in_a_new_process()
        assert rule_texts(laws) == written(laws, monkeypatch)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_names_no_functions_but_host_functions_of_ours(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = select(["transpose"])
    Engine(laws)
    kept = prepared.prepared_rules()
    kept.objects = [name] * len(kept.objects)
    kept._texts.clear()
    commands._program.cache_clear()
    assert rule_texts(laws) == written(laws, monkeypatch)


def test_where_nothing_can_be_written_rules_are_written_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    as_in_a_new_process()
    caplog.set_level(logging.DEBUG, "egraph_opt.egraph.prepared")
    Engine(select(["transpose"]))
    assert {record.levelname for record in caplog.records} == {"DEBUG"}
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_empty_variable_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    monkeypatch.chdir(tmp_path)
    Engine(select(["transpose"]))
    assert prepared.prepared_rules().path is None
    assert list(tmp_path.iterdir()) == []


def test_laws_of_others_and_variants_of_ours_are_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (law, *_) = select(["transpose"])
    Engine((replace(law, examples=None),))
    assert not [key for key in prepared.prepared_rules().rules if key.startswith(law.key)]


def test_the_folder_may_be_deleted_at_any_time(folder: Path) -> None:
    Engine(select(["transpose"]))
    file_in(folder).unlink()
    folder.rmdir()
    Engine(select(["transpose", "reshape"]))
    assert file_in(folder).exists()


def test_old_files_go(folder: Path) -> None:
    folder.mkdir()
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
        prepared.prepared_rules().keep()
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
