"""Measurements in a file: shared, and never trusted where they are not ours."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egraph_opt.cache import FOLDER_VARIABLE, cache_folder
from egraph_opt.lab.tables import csv_text
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.store import COLUMNS, Place, Store, machine_key
from egraph_opt.measurement.timing import Measurement, Refusal

HERE = Place.here(OrtRuntime())
TIME = Measurement(12.5, 1.0, 0.5, 2, 0.03, 8)


def filled(path: Path) -> Store:
    store = Store(path)
    store.add(HERE, {"a": TIME, "b": Refusal("no kernel")})
    return store


def test_another_process_finds_what_was_kept(tmp_path: Path) -> None:
    filled(tmp_path / "m.sqlite")
    again = Store(tmp_path / "m.sqlite")
    assert again.known(HERE) == {"a": TIME, "b": Refusal("no kernel")}


def test_what_other_processes_add_later_is_found_by_its_key(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.sqlite")
    Store(tmp_path / "m.sqlite").add(HERE, {f"later {k}": TIME for k in range(1200)})
    wanted = ["a", "unheard", *(f"later {k}" for k in range(1100))]
    store.refresh(HERE, wanted)
    assert set(store.known(HERE)) == {"b", *wanted} - {"unheard"}


@pytest.mark.parametrize("other", [{"machine": "another"}, {"runtime": "0.1"}, {"setting": "threads=2"}])
def test_times_hold_for_one_machine_runtime_and_setting(tmp_path: Path, other: dict[str, str]) -> None:
    store = filled(tmp_path / "m.sqlite")
    assert not store.known(replace(HERE, **other))


def test_two_writers_keep_both_answers(tmp_path: Path) -> None:
    first, second = Store(tmp_path / "m.sqlite"), Store(tmp_path / "m.sqlite")
    first.add(HERE, {"a": TIME})
    second.add(HERE, {"b": TIME})
    assert set(Store(tmp_path / "m.sqlite").known(HERE)) == {"a", "b"}


def test_without_a_file_measurements_stay_in_memory() -> None:
    store = Store(None)
    store.add(HERE, {"a": TIME})
    assert store.known(HERE)["a"] == TIME
    assert list(store.rows()) == []


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 20, None])
def test_a_foreign_file_is_put_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    path = tmp_path / "m.sqlite"
    if content is not None:
        path.write_bytes(content)
    else:
        with closing(sqlite3.connect(path)) as foreign, foreign:
            foreign.execute("CREATE TABLE measurements (a, b)")
    store = filled(path)
    assert store.known(HERE)["a"] == TIME
    assert set(Store(path).known(HERE)) == {"a", "b"}
    assert (tmp_path / "m.sqlite.old").exists()
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_made_costs_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    store = filled(tmp_path / "file" / "m.sqlite")
    assert store.known(HERE)["a"] == TIME
    assert len(caplog.records) == 1


def test_a_file_that_may_not_be_written_costs_one_line_and_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the tests may be allowed to write anything, so the connection refuses."""
    path = tmp_path / "m.sqlite"
    filled(path)
    real = sqlite3.connect

    def read_only(database: object, **settings: Any) -> sqlite3.Connection:
        return real(f"{path.resolve().as_uri()}?mode=ro", uri=True, **settings)

    monkeypatch.setattr("egraph_opt.measurement.store.sqlite3.connect", read_only)
    store = Store(path)
    store.add(HERE, {"new": TIME})
    assert store.known(HERE)["new"] == TIME
    assert len(caplog.records) == 1
    monkeypatch.undo()
    assert set(Store(path).known(HERE)) == {"a", "b"}


def test_a_locked_file_costs_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("egraph_opt.measurement.store._WAIT", 0.05)
    store = Store(tmp_path / "m.sqlite")
    with closing(sqlite3.connect(tmp_path / "m.sqlite")) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        store.add(HERE, {"a": TIME})
    assert store.known(HERE)["a"] == TIME
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "attack",
    [
        "CREATE TRIGGER t AFTER INSERT ON measurements BEGIN DELETE FROM measurements; END",
        "CREATE VIEW v AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT k FROM n",
        "CREATE INDEX i ON measurements (micros)",
        "ALTER TABLE measurements RENAME TO others; CREATE VIEW measurements AS SELECT * FROM others",
    ],
)
def test_a_file_that_declares_anything_else_is_put_aside(
    tmp_path: Path, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.sqlite"
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(attack)
    with pytest.raises(ValueError, match="declares something else"):
        Store(tmp_path / "other.sqlite").merge(path)
    store = Store(path)
    store.add(HERE, {"new": TIME})
    assert set(Store(path).known(HERE)) == {"new"}
    assert (tmp_path / "m.sqlite.old").exists()
    assert len(caplog.records) == 1


def test_a_file_whose_pages_are_damaged_is_put_aside_and_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.sqlite"
    Store(path).add(HERE, {f"k{k}": TIME for k in range(500)})
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"Z" * (len(content) - 4096))
    Store(path).add(HERE, {"new": TIME})
    assert Store(path).known(HERE) == {"new": TIME}
    assert (tmp_path / "m.sqlite.old").exists()
    assert len(caplog.records) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "m.sqlite"
    if suffix:
        filled(path)
    os.mkfifo(tmp_path / f"m.sqlite{suffix}")
    assert filled(path).known(HERE)["a"] == TIME
    assert [record.getMessage().endswith("is no regular file") for record in caplog.records] == [True]
    with pytest.raises(OSError, match="is no regular file"):
        Store(tmp_path / "other.sqlite").merge(path)


def test_text_that_is_none_or_steers_a_terminal_is_read_as_what_is_left_of_it(tmp_path: Path) -> None:
    filled(tmp_path / "m.sqlite")
    with closing(sqlite3.connect(tmp_path / "m.sqlite")) as connection, connection:
        connection.execute("UPDATE measurements SET key = CAST(x'ff41' AS TEXT) WHERE key = 'a'")
        connection.execute("UPDATE measurements SET refusal = char(27) || ']0;title' WHERE key = 'b'")
    known = Store(tmp_path / "m.sqlite").known(HERE)
    assert known == {"\ufffdA": TIME, "b": Refusal("?]0;title")}


@pytest.mark.parametrize("value", ["'fast'", "-1.0", "1e300"])
def test_a_row_that_makes_no_sense_is_not_trusted(tmp_path: Path, value: str) -> None:
    filled(tmp_path / "m.sqlite")
    with closing(sqlite3.connect(tmp_path / "m.sqlite")) as connection, connection:
        connection.execute(f"UPDATE measurements SET micros = {value} WHERE key = 'a'")
    assert set(Store(tmp_path / "m.sqlite").known(HERE)) == {"b"}


def test_files_are_merged_without_losing_what_is_there(tmp_path: Path) -> None:
    store = filled(tmp_path / "one.sqlite")
    other = Store(tmp_path / "two.sqlite")
    other.add(HERE, {"a": replace(TIME, micros=99.0), "c": TIME})
    assert store.merge(tmp_path / "two.sqlite") == 1
    known = Store(tmp_path / "one.sqlite").known(HERE)
    assert known["a"] == TIME
    assert set(known) == {"a", "b", "c"}


def test_a_foreign_file_is_not_merged(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as foreign, foreign:
        foreign.execute("CREATE TABLE t (a)")
    with pytest.raises(ValueError, match="measurements"):
        filled(tmp_path / "m.sqlite").merge(tmp_path / "other.sqlite")


def test_clearing_forgets_everything(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.sqlite")
    assert store.clear() == 2
    assert not store.known(HERE)
    assert not Store(tmp_path / "m.sqlite").known(HERE)


def test_rows_are_written_as_csv(tmp_path: Path) -> None:
    rows = csv_text(COLUMNS, filled(tmp_path / "m.sqlite").rows())
    header, first, second = rows.splitlines()
    assert header.startswith("machine,runtime,setting,key,micros")
    assert first.endswith("12.5,1.0,0.5,2,0.03,8,")
    assert second.endswith("no kernel")


def test_the_environment_says_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert cache_folder() is None
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert cache_folder() is not None


def test_processors_that_share_a_name_have_keys_of_their_own() -> None:
    said = {
        "model name": "AMD EPYC",
        "cpu family": "25",
        "model": "1",
        "stepping": "1",
        "flags": "fpu avx avx2",
    }
    others = ({"model": "17"}, {"stepping": "2"}, {"flags": "fpu avx avx2 avx512f"})
    keys = {machine_key(said), *(machine_key(said | other) for other in others)}
    assert len(keys) == 4
    assert machine_key(said | {"flags": "avx2 avx fpu ht"}) == machine_key(said)
    assert all(key.startswith("AMD EPYC, cpu family 25") for key in keys)
