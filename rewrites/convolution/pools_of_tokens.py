"""Pools of tokens, which are no images, are reductions: nothing is turned or converted for them.

Pool(x; stride = kernel) -> Reduce(Reshape(x))         of a view, or of rows that were transposed

`pool_blocks` has images beyond a target's limits.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.laws import Example, Operands, eq, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.sorts import String, Tensor
from egraph_opt.operators import PoolWindow, pool, reduce, reshape, slice_, transpose
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.convolution.pool_blocks import in_windows, reduction_of

law = laws_of("pooling", numerics="reassociates", kind="replace", serves="traffic")


@hosted()
def brings_tokens(op: str, window: PoolWindow) -> bool:
    """A view, or a Transpose to rows: images that are transposed have as many orders as axes allow."""
    return op == "Reshape" or (op == "Transpose" and len(window.kernel) == 1)


def _tokens_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    row, pairs = transpose(g.input(("N", 7, 3)), (0, 2, 1)), PoolWindow((2,), (2,), (0, 0), (1,))
    parts = PoolWindow((2, 5), (2, 5), (0,) * 4, (1, 1))
    for kind in ("AveragePool", "MaxPool"):
        yield from g.all_fire(
            pool(kind, row, pairs),
            pool(
                kind,
                reshape(g.input(("N", 2, 60)), ("N", 2, 4, 15)),
                replace(parts, kernel=(2, 7), strides=(2, 7)),
            ),
        )
        yield from g.near_misses(
            (pool(kind, row, replace(pairs, strides=(1,))), "windows overlap"),
            (pool(kind, row, replace(pairs, pads=(1, 0))), "it pads"),
            (pool(kind, row, replace(pairs, ceil_mode=1)), "the last is partial"),
            (
                pool(kind, transpose(g.input((1, "L", 3)), (0, 2, 1)), pairs),
                "how many windows there are is not known",
            ),
            (pool(kind, g.input(("N", 3, 7)), pairs), "nothing brings tokens"),
            (pool(kind, transpose(g.input(("N", 4, 15, 2)), (0, 3, 1, 2)), parts), "an image"),
        )
    yield g.near_miss(pool("MaxPool", row, replace(pairs, dilations=(2,))), why="what is between is left out")


@law(
    source="Qwen2-Audio, arXiv 2407.10759; Gemma 3, arXiv 2503.19786",
    examples=_tokens_examples,
    uses=(moves,),
)
def windows_of_tokens(kind: String, x: Tensor, w: PoolWindow, f: String, z: Tensor, t: Tensor, how: Any):
    """Pool(x; stride = kernel) = Reduce(Reshape(x)) over windows, where x is a view or a Transpose to rows"""
    y, known = pool(kind, x, w), kernel(is_kernel_float(x))
    parts = in_windows(w, x, y)
    reduced = reduce(reduction_of(kind), reshape(slice_(x, parts[2]), parts[0]), parts[1], 1)
    made, demand = reshape(reduced, known_dims(y)), guard(eq(x, moved(f, z, t, how)), brings_tokens(f, w))
    yield rewrite(y, made, known, demand, because="dims do not say what was a window")
