"""Texts of anyone: what cannot be read is one kind of error, and nothing else is disturbed by it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from egraph_opt.foreign_text import parsed_json, parsed_toml


def test_what_is_said_is_read() -> None:
    assert parsed_json(b'{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    assert parsed_toml("a = [1, 2.5]") == {"a": [1, 2.5]}
    assert gc.isenabled()


@pytest.mark.parametrize("read", [parsed_json, parsed_toml])
@pytest.mark.parametrize("text", ["{", "[" * 100_000, "a = " + "[" * 100_000])
def test_what_cannot_be_read_is_a_value_error(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1|nested too deeply"):
        read(text)
    assert gc.isenabled()


def test_finalizers_of_others_do_not_run_where_there_is_no_room_for_them() -> None:
    """Where each list is in a cycle with what is finalized, the collector would run within the brackets."""

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    finished: list[int] = []

    def finish(number: int) -> None:
        finished.append(len(f"{number:>{number % 7}}"))

    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for number in range(50):
            weakref.finalize(Cycle(), finish, number)
            with pytest.raises(ValueError, match="nested too deeply"):
                parsed_json("[" * 5_000)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert len(finished) == 50


def test_who_has_no_collector_keeps_none() -> None:
    gc.disable()
    try:
        assert parsed_json("1") == 1
        assert not gc.isenabled()
    finally:
        gc.enable()
