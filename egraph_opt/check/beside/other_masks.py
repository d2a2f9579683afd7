"""Masks of an attention that differ from key to key, also for one query alone, as they do in decoding.

Of rank 3 the first axis is that of the heads, and there is none for the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.check.batches import lowered_at
from egraph_opt.check.beside.variants import dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example

QUERIES, MASK = 0, 3
"""Where they are among the operands."""

BATCHED = 4
"""Axes of queries: batch, heads, rows and columns."""


def with_other_masks(example: Example) -> Iterator[Example]:
    """Each mask that is a leaf as long as all keys, for all queries and for a single one, and one of each
    head."""
    for node in nodes_of(example):
        if node.head.name != "masked_attention":
            continue
        queries, mask = (place_of_leaf(node.arguments[k]) for k in (QUERIES, MASK))
        if mask < 0:
            continue
        dims = dims_of(example.operands.values[mask])
        for keys in _dims_within(example):
            yield with_shape(example, mask, (*dims[:-1], keys))
            if queries >= 0 and len(dims) > 1:
                rows = dims_of(example.operands.values[queries])
                single = with_shape(example, queries, (*rows[:-2], 1, rows[-1]))
                yield with_shape(single, mask, (*dims[:-2], 1, keys))
            if queries >= 0 and len(rows := dims_of(example.operands.values[queries])) == BATCHED:
                for heads in (rows[1], 1):
                    yield with_shape(example, mask, (heads, rows[2], keys))


def _dims_within(example: Example) -> list[int]:
    """All that are known of values of a term."""
    shapes = (fact.shape for fact in lowered_at(example).facts if fact is not None)
    return sorted({d for shape in shapes for d in shape or () if isinstance(d, int) and d > 1})
