"""An optimisation does no more than it did: counts beside a committed baseline, without any seconds."""

from __future__ import annotations

from pathlib import Path

import counts
import pytest
from built_graphs import BUILT, built_models
from model_files import trained_models

from egraph_opt.egraph import saturation
from egraph_opt.operators.host import HostFunction

BEFORE = counts.baseline()


def test_the_baseline_has_the_models_of_the_wheels_and_the_built_ones() -> None:
    assert sorted(BEFORE) == sorted([*trained_models(), *(f"built/{name}" for name in BUILT)])


@pytest.mark.parametrize("name", [f"built/{name}" for name in BUILT])
def test_no_count_rises_by_more_than_a_tenth(name: str, tmp_path: Path) -> None:
    """Of trained models `test_figures.py` shows it."""
    lines = counts.risen(counts.counts_of(built_models(tmp_path)[name]), BEFORE[name])
    assert not lines, f"{name}: {'; '.join(lines)}; {counts.RENEW}"


def test_a_rise_is_told_with_both_numbers_and_a_fall_is_none() -> None:
    before = {"nodes": {"e_nodes": 100, "rounds": 5}}
    assert counts.risen({"nodes": {"e_nodes": 111, "rounds": 5}}, before) == ["nodes: e_nodes 100 -> 111"]
    assert counts.risen({"nodes": {"e_nodes": 110, "rounds": 2}}, before) == []


def test_counting_leaves_everything_as_it_was(tmp_path: Path) -> None:
    call, engine_for = HostFunction.__call__, vars(saturation)["engine_for"]
    found = counts.counts_of(built_models(tmp_path)["built/views"])
    assert all(count > 0 for counted in found.values() for count in counted.values())
    assert HostFunction.__call__ is call
    assert vars(saturation)["engine_for"] is engine_for
