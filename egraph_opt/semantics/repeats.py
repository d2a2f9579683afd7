"""What repeats elements, or adds up those in front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from egraph_opt.semantics.polynomials import divided
from egraph_opt.semantics.values import Index, Value, is_number, means


def any_repeats(scene: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    repeats = [scene.whole("repeats") for _ in given["x"].shape]
    scene.must(z3.And([r >= 1 for r in repeats]))
    return tuple(map(scene.plain, repeats))


@means("tile", repeats=any_repeats)
def tile(scene: Any, x: Value, repeats: Sequence[Any]) -> Value:
    """x again and again: along each axis an index is one of x behind so many whole x."""
    times = list(map(scene.formula, repeats))
    scene.must(len(times) == x.rank)
    scene.must(z3.And([t >= 1 for t in times]))

    def at(i: Index) -> z3.ArithRef:
        place = [
            k if is_number(t, 1) else _remainder(scene, k, d)
            for k, t, d in zip(i, times, x.shape, strict=True)
        ]
        return x.at(place)

    return Value(x.dtype, tuple(z3.simplify(d * t) for d, t in zip(x.shape, times, strict=True)), at, x.splat)


def _remainder(scene: Any, k: z3.ArithRef, d: z3.ArithRef) -> z3.ArithRef:
    """k % d, where k may be the remainder of a division by a multiple of d already."""
    while z3.is_mod(k) and is_number(divided(scene, k.arg(1), d)[1], 0):
        k = k.arg(0)
    return divided(scene, k, d)[1]
