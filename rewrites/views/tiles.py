"""What is repeated several times over is repeated once, and computed before.

Tile_r(Tile_s(x)) -> Tile_rs(x)                   where an axis is repeated by one of them, or once by both
Mean_a(Tile(x)) -> Mean_a(x)                      where the axes a are those that are repeated; Max, Min
f(Tile(x)) -> Tile(f(x))
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Dims, Flag, Settings, String, Tensor
from egraph_opt.operators import reduce, tile, unary

law = laws_of("expand", numerics="bitwise", kind="merge", serves="traffic")


@hosted()
def repeats_together(r: Dims, s: Dims) -> Dims | None:
    """How often both repeat."""
    known, more = ([n for n in row if isinstance(n, int) and n > 0] for row in (r, s))
    if len(known) != len(r) or len(more) != len(s) or len(r) != len(s):
        return None
    return tuple(a * b for a, b in zip(known, more, strict=True))


def _tiles(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 2))
    yield from g.all_fire(tile(tile(x, (1, 2, 1)), (1, 1, 3)), tile(tile(x, (1, 2, 1)), (2, 3, 1)))


@law(examples=_tiles)
def tile_of_tile(x: Tensor, r: Dims, s: Dims):
    """Tile_r(Tile_s(x)) = Tile_rs(x)"""
    yield rewrite(tile(tile(x, s), r), tile(x, repeats_together(r, s)), because="every Tile would be two")


@hosted()
def are_repeated(kind: str, axes: Axes, repeats: Dims, x: Fact) -> bool:
    """What is reduced is what is repeated, and as often as it may be."""
    if kind not in ("ReduceMean", "ReduceMax", "ReduceMin") or (kind == "ReduceMean" and x.dtype in INTEGERS):
        return False
    return all(n == 1 or k in axes for k, n in enumerate(repeats))


def _reductions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 2))
    for kind, axes in (("ReduceMean", (1,)), ("ReduceMax", (1, 2)), ("ReduceMin", (0, 1))):
        yield g.fires(reduce(kind, tile(x, (1, 2, 1)), axes, 1))
    yield from g.near_misses(
        (reduce("ReduceSum", tile(x, (1, 2, 1)), (1,), 1), "there are twice as many summands"),
        (reduce("ReduceMean", tile(x, (1, 2, 1)), (2,), 1), "the result is repeated, too"),
    )


@law(numerics="reassociates", kind="eliminate", examples=_reductions)
def reduced_tile(kind: String, x: Tensor, r: Dims, a: Axes, k: Flag):
    """Mean_a(Tile(x)) = Mean_a(x) where a are the axes along which x is repeated, likewise Max and Min"""
    whole = reduce(kind, tile(x, r), a, k)
    yield rewrite(whole, reduce(kind, x, a, k), are_repeated(kind, a, r, x), because="forgets how often")


def _functions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(unary("Relu", (), tile(g.input(("N", 3, 2)), (1, 2, 1))))


@law(kind="move", serves="arithmetic", examples=_functions)
def function_of_tile(x: Tensor, f: String, s: Settings, r: Dims):
    """f(Tile(x)) = Tile(f(x))"""
    own = tile(unary(f, s, x), r)
    yield rewrite(unary(f, s, tile(x, r)), own, guard(varies(x)), because="fewer elements are computed")
