"""What is beside examples is tried in a process of its own: with the same verdict, and it ends."""

from __future__ import annotations

import os
import signal
from multiprocessing import active_children
from typing import Any

import pytest

from egraph_opt.check import whole_law
from egraph_opt.check.meanwhile import ProcessEndedError, has_room, meanwhile
from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.whole_law import check_law
from egraph_opt.graph.isolation import AVAILABLE
from egraph_opt.laws.selection import select
from tests.wrong import wrong_laws

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="processes are not forked here")
REFUSED_BESIDE_ITS_EXAMPLES = "rotation_and_back"


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_law, "has_room", lambda: True)  # whatever processors this machine has


def test_as_much_is_tried_as_in_one_process() -> None:
    (law,) = (law for law in select(["transpose"]) if law.key == "transpose.through_unary")
    together, alone = (check_law(law, terms=24, alone=only) for only in (False, True))
    assert together == alone


def test_what_is_wrong_is_refused_with_the_same_words() -> None:
    law, messages = wrong_laws()[REFUSED_BESIDE_ITS_EXAMPLES].law, set()
    for alone in (False, True):
        with pytest.raises(LawRefusedError) as refusal:
            check_law(law, conditions=False, neighbours=False, alone=alone)
        messages.add(str(refusal.value))
    assert len(messages) == 1


def test_what_the_other_process_raises_is_raised() -> None:
    def refuses(told: object) -> None:
        raise LawRefusedError("it is wrong")

    begun: Any = meanwhile(refuses)
    with begun as other, pytest.raises(LawRefusedError, match="it is wrong"):
        other.answer()


def test_what_is_told_is_waited_for() -> None:
    begun: Any = meanwhile(lambda told: told() + 1)
    with begun as other:
        other.tell(2)
        assert other.answer() == 3


def test_a_process_that_crashes_is_reported() -> None:
    def crashes(told: object) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    begun: Any = meanwhile(crashes)
    with begun as other, pytest.raises(ProcessEndedError, match=str(-signal.SIGSEGV)):
        other.answer()


def test_it_ends_with_the_block() -> None:
    with pytest.raises(KeyError), meanwhile(lambda told: told()):
        raise KeyError
    assert not active_children()


def test_it_forks_no_further() -> None:
    begun: Any = meanwhile(lambda told: has_room())
    with begun as other:
        assert other.answer() is False
