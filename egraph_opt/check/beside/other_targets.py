"""Targets of Expand with ones and with nothing, and reductions of several axes more.

A size that is no smaller need not be the one that counts: nothing stays nothing beside 1.  And the axes that
one reduction leaves are counted behind all that it takes away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from egraph_opt.check.beside.changing import with_attribute, with_roots
from egraph_opt.check.beside.followed_sizes import with_dims_of
from egraph_opt.check.beside.inputs_under import shape_under, with_shape_under
from egraph_opt.check.scope import nodes_of, roots_of
from egraph_opt.check.shorthands import replaced
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant

MOST_TARGETS = 3
"""Of an example, which change together."""

MORE = (1, 2)
"""Axes that are reduced as well."""

LENGTH = 2
"""Of these."""


def with_ones_and_nothing(example: Example) -> Iterator[Example]:
    """Each axis of what several Expands make 0 or 1 in each of their targets, or as it was."""
    nodes = [node for node in nodes_of(example) if node.head.name == "expand"]
    if not 0 < len(nodes) <= MOST_TARGETS:
        return
    for k in range(1, 1 + max(len(node.arguments[1].head.value) for node in nodes)):
        long = [node for node in nodes if k <= len(node.arguments[1].head.value)]
        for sizes in product((None, 0, 1), repeat=len(long)):
            dims = {}
            for node, size in zip(long, sizes, strict=True):
                old = node.arguments[1].head.value
                if size is not None:
                    new = (*old[: len(old) - k], size, *old[len(old) - k + 1 :])
                    dims[node] = constant(new, node.arguments[1].sort)
            if dims:
                terms = tuple(with_dims_of(term, dims) for term in roots_of(example))
                yield with_roots(example, terms)


def with_more_axes_reduced(example: Example) -> Iterator[Example]:
    """Each reduction of inputs that keeps no axes, of one or two more of them, one beside the other."""
    for node in nodes_of(example):
        if node.head.name != "reduce" or node.arguments[3].head.value:
            continue
        dims, axes = shape_under(example, node), node.arguments[2].head.value
        if dims is None or not axes or min(axes) < 0:
            continue
        for at, more in product(range(len(dims) + 1), MORE):
            wider = with_shape_under(example, node, (*dims[:at], *(LENGTH,) * more, *dims[at:]))
            all_of = {*(a + more if a >= at else a for a in axes), *range(at, at + more)}
            other = with_attribute(node, 2, tuple(sorted(all_of)))
            yield replace(wider, term=replaced(example.term, {node: other}))
