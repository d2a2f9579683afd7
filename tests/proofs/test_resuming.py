"""A path that goes on where it branches off comes to what it comes to from the start."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from egraph_opt.laws.selection import all_laws
from egraph_opt.proofs.paths import Path, explore
from egraph_opt.proofs.prover import prove
from egraph_opt.proofs.resuming import Resuming

from ..wrong import wrong_laws

LAWS = {law.key: law for law in all_laws()}
WRONG = wrong_laws()


class Steps:
    """A path of three choices, each of which is remembered, with work in front of it."""

    def __init__(self, log: Counter[int]) -> None:
        self.log, self.found = log, list[int]()

    def follow(self, path: Path, resuming: Resuming) -> tuple[int, ...]:
        while len(self.found) < 3:
            self.log[len(self.found)] += 1
            self.found.append(path.choose(2))
            resuming.reached((self,))
        return tuple(self.found)


def test_all_paths_are_taken_and_what_they_share_is_done_once() -> None:
    log = Counter[int]()

    def run(path: Path) -> tuple[int, ...]:
        if path.case is None or not path.case[1].back():
            path.case = Steps(log), Resuming(path)
        return path.case[0].follow(path, path.case[1])

    found = list(explore(run, lambda: False))
    assert found == [(a, b, c) for a in range(2) for b in range(2) for c in range(2)]
    assert [log[k] for k in range(3)] == [2, 4, 8]  # of 8 from the start each


def proofs_of(law: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a proof says where paths are taken up again, and where each begins at the start."""
    found = []
    for again in (True, False):
        if not again:
            monkeypatch.setattr(Resuming, "back", lambda self: False)
        proof = prove(law, 60.0, refute=False)
        found.append((proof.status, proof.cases, proof.ranks, proof.notes, proof.operators))
    monkeypatch.undo()
    return found


@pytest.mark.parametrize(
    "key",
    [
        "concat.single", "conv1d.past_concat", "elementwise.few_operands", "expand.tile_of_tile",
        "gemm.transposed_product", "softmax.softmax_of_exponentials", "transpose.of_product",
        "transpose.through_cast", "transpose.through_unary",
    ],
)  # fmt: skip
def test_a_law_is_proved_by_the_same_cases(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again, from_start = proofs_of(LAWS[key], monkeypatch)
    assert again == from_start and again[0] == "proved"


@pytest.mark.parametrize("name", ["quotient_in_double", "slice_of_transposed", "sum_of_any_two"])
def test_a_wrong_law_is_open_for_the_same_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again, from_start = proofs_of(WRONG[name].law, monkeypatch)
    assert again == from_start and again[0] == "open"
