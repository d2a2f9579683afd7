"""What is read out of an e-graph that a limit has stopped."""

from __future__ import annotations

from egraph_opt.egraph.readout import _written


def test_what_needs_a_class_without_e_nodes_is_left_out() -> None:
    """0 has two e-nodes, of which one needs 1, whose only one needs 2, which has none."""
    node_class, children = [0, 0, 1, 3], [[], [1], [2], [0]]
    assert _written(node_class, children, 4) == [0, 3]


def test_a_class_that_nobody_uses_does_no_harm() -> None:
    assert _written([0, 2], [[], [0]], 3) == [0, 1]
    assert _written([], [], 0) == []
