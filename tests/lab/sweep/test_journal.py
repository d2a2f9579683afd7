"""The journal: whatever ends a process, what is in it is whole, and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from egraph_opt.errors import RunsError
from egraph_opt.lab.sweep.journal import open_journal
from egraph_opt.lab.sweep.work import Done, RunRow

DIGESTS = {"the spec": "a", "a model": "b"}
BATCHES = [Done(k, (RunRow(2 * k, price=1.5), RunRow(2 * k + 1, error="böse"))) for k in range(3)]


def written(path: Path, batches: list[Done]) -> bytes:
    with open_journal(path, DIGESTS, 6) as journal:
        for batch in batches:
            journal.add(batch)
    return path.read_bytes()


def test_what_is_cut_off_anywhere_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.journal"
    two, three = len(written(path, BATCHES[:2])), written(path, BATCHES)
    for length in range(two, len(three) + 1):
        path.write_bytes(three[:length])
        with open_journal(path, DIGESTS, 6) as journal:
            assert sorted(journal.done) == ([0, 1, 2] if length == len(three) else [0, 1])
            journal.add(BATCHES[2])
            assert [row.number for row in journal.rows()] == list(range(6))
        assert path.read_bytes() == three


def test_a_batch_that_is_answered_twice_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.journal"
    assert written(path, [*BATCHES, BATCHES[1]]) == written(path, BATCHES[:1])


def test_a_journal_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "runs.journal"
    with (
        open_journal(path, DIGESTS, 6),
        pytest.raises(RunsError, match="another process is making these runs"),
        open_journal(path, DIGESTS, 6),
    ):
        pass


def test_a_journal_of_another_sweep_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.journal"
    before = written(path, BATCHES)
    with (
        pytest.raises(RunsError, match=r"is of another sweep: a model has changed since: move it away"),
        open_journal(path, DIGESTS | {"a model": "c"}, 6),
    ):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["run,price", "0,1.5"], ":1: is no journal of a sweep"),
        ([""], ":1: is no journal of a sweep"),
        (
            [json.dumps({"format": "egraph-opt sweep", "version": 99})],
            ":1: is of version 99, this release reads 1",
        ),
        (
            [json.dumps({"format": "egraph-opt sweep", "version": 1, "digests": DIGESTS}), "{", "x"],
            ":2: is damaged",
        ),
        (
            [json.dumps({"format": "egraph-opt sweep", "version": 1, "digests": DIGESTS}), "{}", "x"],
            ":2: is damaged",
        ),
        (["[" * 100_000], ":1: is no journal of a sweep"),
        *(
            (
                [json.dumps({"format": "egraph-opt sweep", "version": 1, "digests": DIGESTS}), line],
                ":2: is damaged",
            )
            for line in (
                "[" * 100_000,
                '{"batch": [], "rows": []}',
                '{"batch": 0, "rows": [[["a"]]]}',
                '{"batch": 0, "rows": [[0, "=cmd()"]]}',
                '{"batch": 0, "rows": [[0, 1.0, 1.0, 0.0, 3, {"a": 1}]]}',
            )
        ),
    ],
)
def test_what_is_no_journal_is_refused_and_left_alone(tmp_path: Path, lines: list[str], told: str) -> None:
    path = tmp_path / "runs.journal"
    text = "".join(f"{line}\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RunsError) as caught, open_journal(path, DIGESTS, 6):
        pass
    assert told in str(caught.value)
    assert path.read_text(encoding="utf-8") == text


def test_on_a_full_disk_the_batches_before_stay_whole(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from egraph_opt.errors import RunsError
from egraph_opt.lab.sweep.journal import open_journal
from egraph_opt.lab.sweep.work import Done, RunRow
with open_journal(Path(sys.argv[1]), {}, 100) as journal:
    journal.add(Done(0, (RunRow(0),)))
    size = journal.path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, -1))
    try:
        journal.add(Done(1, tuple(RunRow(k) for k in range(50))))
    except RunsError as error:
        print(error)
    journal.add(Done(2, (RunRow(99),)))
"""
    path = tmp_path / "runs.journal"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert "cannot be written: File too large: the runs until here are kept" in run.stdout, run.stderr
    with open_journal(path, {}, 100) as journal:
        assert sorted(journal.done) == [0, 2]
