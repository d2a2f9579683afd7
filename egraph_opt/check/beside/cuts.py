"""Slices of an example with another cut of one axis, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws.law import Example

Cut = tuple[int, int, int | None, int]
"""An axis, where its slice begins and ends, and its step."""


def with_each_cut(example: Example, others: Callable[[Cut], Iterable[Cut]]) -> Iterator[Example]:
    """Each cut of each slice in turn another one."""
    for node in nodes_of(example):
        given = node.arguments[1].head.value if node.head.name == "slice_" else ()
        for k, cut in enumerate(given):
            for other in dict.fromkeys(others(cut)):
                yield with_changed(example, node, 1, (*given[:k], other, *given[k + 1 :]))
