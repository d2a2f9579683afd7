"""A host function that does not come back is ended, recorded, and its law left out."""

from __future__ import annotations

import time

from egraph_opt.egraph.watchdog import watched
from egraph_opt.operators.host import calls, hosted


@hosted()
def hangs(x: int) -> bool:
    while x:
        time.sleep(0.001)
    return True


def test_a_call_that_hangs_is_ended_and_recorded() -> None:
    calls.forget()
    with watched(seconds=0.2):
        assert hangs(1) is False
    assert calls.ended == {hangs}
    assert "HostTimeout" in calls.failures.pop(hangs)


def test_calls_that_come_back_are_left_alone() -> None:
    calls.forget()
    with watched(seconds=0.2):
        assert hangs(0) is True
        time.sleep(0.3)
    assert not calls.failures
