"""In which order an e-graph is read, and what is read of one that a limit has stopped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from egraph_opt.egraph.readout import _Enode, _numbered


def _enode(operator: str, result: str, *operands: str) -> _Enode:
    return _Enode(
        ord(operator), operator, (), "()", [("tensor", key) for key in operands], ("tensor", result), 0
    )


def _names(enodes: Sequence[_Enode], *known: str) -> list[str]:
    numbers = _numbered(enodes, [("tensor", key) for key in known])
    assert list(numbers.values()) == list(range(len(numbers)))
    return [key for _, key in numbers]


def test_numbers_follow_from_what_is_in_a_class() -> None:
    """d is made of b, which is made of the given a, and in a circle of itself; c is a constant."""
    enodes = [
        _enode("z", "b", "a"),
        _enode("y", "c"),
        _enode("x", "d", "b", "c"),
        _enode("w", "b", "d"),
        _enode("v", "a"),
    ]
    assert {tuple(_names(order, "a")) for order in permutations(enodes)} == {("a", "c", "b", "d")}


def test_what_needs_a_class_without_e_nodes_is_left_out() -> None:
    """a has two e-nodes, of which one needs b, whose only one needs c, which has none."""
    assert _names(
        [_enode("x", "a"), _enode("y", "a", "b"), _enode("z", "b", "c"), _enode("w", "d", "a")]
    ) == ["a", "d"]


def test_a_circle_alone_is_left_out() -> None:
    assert _names([_enode("x", "a", "b"), _enode("y", "b", "a"), _enode("z", "c")]) == ["c"]
