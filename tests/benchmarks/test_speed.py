"""The benchmark of speed: ways run in turns, those that fail are left out, ratios are to the same rival."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
import speed
from built_graphs import BUILT, built_models
from rich.console import Console


def printed(table: object) -> str:
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()


def test_ways_run_in_turns_and_the_first_turn_is_not_timed() -> None:
    order: list[str] = []
    ways = {way: lambda way=way: order.append(way) for way in "abc"}
    seconds = speed.in_turns(ways, 2)
    assert order == list("abc") * 3
    assert sorted(seconds) == list("abc")
    assert all(value >= 0 for value in seconds.values())


def test_ways_that_fail_are_left_out() -> None:
    def fails() -> None:
        raise RuntimeError("as tools do")

    assert list(speed.working({"bad": fails, "good": lambda: None})) == ["good"]


def test_ratios_are_to_one_rival_and_means_are_geometric() -> None:
    rows = {"a": {"OnnxSlim": 1.0, "nodes": 2.0}, "b": {"OnnxSlim": 2.0, "nodes": 1.0}, "c": {"nodes": 9.0}}
    assert speed.ratios(rows["b"]) == {"OnnxSlim": 1.0, "nodes": 0.5}
    assert speed.ratios(rows["c"]) == {}
    lines = printed(speed.speeds_table(rows)).splitlines()
    assert lines[-1].split()[-2:] == ["1.00", "1.00"]
    assert "-" in lines[-2]


def test_stages_add_up_over_models() -> None:
    rows = [{"nodes": {"saturate": 1.0, "verify": 0.0}}, {"nodes": {"saturate": 2.0, "verify": 1.0}}]
    text = printed(speed.stages_table(rows))
    assert "3.000 s   75%" in text
    assert "1.000 s   25%" in text


def test_a_model_is_optimised_by_every_way(tmp_path: Path) -> None:
    row = speed.warm(built_models(tmp_path)["built/views"], ["nodes"], 1)
    assert {"nodes", speed.VERIFIED} <= set(row["seconds"])
    assert all({"saturate", "extract"} <= set(row["stages"][way]) for way in ("nodes", speed.VERIFIED))


@pytest.mark.parametrize(("names", "count"), [(["built"], len(BUILT)), ([], 0)])
def test_models_are_those_that_are_named(names: list[str], count: int, tmp_path: Path) -> None:
    assert len(speed.models_of(names, tmp_path)) == count
    assert len(speed.models_of([*names, str(tmp_path)], tmp_path)) == count + len(BUILT)


def test_command_lines_run_on_a_model_and_on_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "LISTINGS", speed.LISTINGS[:1])
    found = speed.cold({"views": built_models(tmp_path)["built/views"]}, ["nodes"], 1)
    assert set(found[""]) == set(speed.LISTINGS)
    assert {"nodes", speed.VERIFIED} <= set(found["views"])
