"""Reductions do not depend on the order of what they reduce.

Reduce_a(x[::-1]) -> Reduce_a(x)        turned round along axes that are reduced
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Flag, Slices, String, Tensor
from egraph_opt.operators import reduce, slice_
from egraph_opt.rewrites.slicing.slice import Entry, dim_at

law = laws_of(
    "reduction",
    numerics="reassociates",
    kind="eliminate",
    serves="traffic",
    source="test-time augmentation: features of an image and of its mirror image",
)


ANY_ORDER = frozenset(f"Reduce{name}" for name in "Sum Mean Max Min L1 L2 SumSquare LogSumExp".split())
"""Reductions that overflow in no order where they do not in another, as products do."""

CHOOSING = frozenset({"ReduceMax", "ReduceMin"})


@hosted()
def is_in_any_order(kind: str, x: Fact) -> bool:
    """Sums of integers onnxruntime adds up in float64, where the order shows."""
    return kind in CHOOSING or (kind in ANY_ORDER and x.dtype in FLOATS)


@hosted()
def turns_round(s: Slices, x: Fact, axes: Axes) -> bool:
    """All elements of axes that are reduced, from the last to the first."""
    return all(entry[0] in axes and _is_turned(x, entry) for entry in s)


def _is_turned(x: Fact, entry: Entry) -> bool:
    axis, start, end, step = entry
    dim = dim_at(x, axis)
    last = start == -1 or (isinstance(dim, int) and start == dim - 1)
    return step == -1 and last and end is None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    rows, both = ((1, -1, None, -1),), ((1, -1, None, -1), (2, -1, None, -1))
    for kind in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"):
        for keep in (0, 1):
            yield g.fires(reduce(kind, slice_(x, rows), (1, 2), keep))
        yield g.fires(reduce(kind, slice_(x, both), (1, 2), 1))
        yield g.fires(reduce(kind, slice_(x, ((1, 2, None, -1),)), (1,), 1))
    yield g.fires(reduce("ReduceMin", slice_(g.input((3, 4), INT64), rows), (1,), 0))
    yield from g.near_misses(
        (reduce("ReduceSum", slice_(g.input(("N", 3, "L"), INT64), rows), (1,), 1), "large integers"),
        (reduce("ReduceProd", slice_(x, rows), (1, 2), 1), "a product overflows in one order only"),
        (reduce("ReduceSum", slice_(x, rows), (2,), 1), "along another axis"),
        (reduce("ReduceSum", slice_(x, both), (1,), 1), "along another axis, too"),
        (reduce("ReduceSum", slice_(x, ((1, -2, None, -1),)), (1,), 1), "without the last"),
        (reduce("ReduceSum", slice_(x, ((1, -1, 0, -1),)), (1,), 1), "without the first"),
        (reduce("ReduceSum", slice_(x, ((1, -1, None, -2),)), (1,), 1), "every other one"),
    )


@law(examples=_examples)
def reduction_of_turned(kind: String, x: Tensor, s: Slices, a: Axes, k: Flag):
    """Reduce_a(x[::-1]) = Reduce_a(x) along axes that are reduced"""
    turned = reduce(kind, slice_(x, s), a, k)
    known = (is_in_any_order(kind, x), turns_round(s, x, a))
    yield rewrite(turned, reduce(kind, x, a, k), *known, because="every order would be another")
