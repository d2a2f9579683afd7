"""The sign of a part goes into a constant that scales the whole, as in rotary embeddings.

Concat(-b, a) * c -> Concat(b, a) * (c * [-1, 1])         for a constant c, likewise of the last part
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Tensor
from egraph_opt.operators import Literal, concat, literal, unary
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import is_float_constant

MOST = 4096
"""Of more elements along an axis, signs are not written."""


@hosted()
def signs_of_parts(c: Fact, first: Fact, last: Fact, whole: Fact, axis: Axis, negated: int) -> Literal | None:
    """-1 for each element of one of two parts, 1 for those of the other; None for a c that is no constant."""
    if first.shape is None or last.shape is None or whole.rank is None or not is_float_constant(c):
        return None
    sizes = [f.shape[axis] for f in (first, last) if f.shape is not None and axis < len(f.shape)]
    if len(sizes) != 2 or not all(isinstance(n, int) for n in sizes) or not 0 < sum(sizes) <= MOST:  # type: ignore[arg-type]
        return None
    values = [v for k, n in enumerate(sizes) for v in (-1.0 if k == negated else 1.0,) * n]  # type: ignore[operator]
    return Literal(c.dtype, (len(values), *(1,) * (whole.rank - axis - 1)), tuple(values))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    a, b = g.input(("N", 2, 3, 4)), g.input(("N", 2, 3, 2))

    def negated(x: Tensor) -> Tensor:
        return unary("Neg", (), x)  # type: ignore[no-any-return]

    one, other = concat(listed(negated(b), a), 3), concat(listed(a, negated(b)), 3)
    yield from g.all_fire(one * g.random(3, 6), other * g.random(1), one * g.random(1, 1, 3, 1))
    rows = concat(listed(negated(g.input((2, "L"))), g.input((3, "L"))), 0)
    yield g.fires(rows * g.random(5, 1))
    yield from g.near_misses(
        (one * g.input((3, 6)), "its signs would be computed"),
        (concat(listed(b, a), 3) * g.random(6), "no sign"),
        (
            concat(listed(negated(g.input((1, "L"))), g.input((1, 2))), 1) * g.random(1),
            "as many as there are",
        ),
        (concat(listed(negated(b), a, b), 3) * g.random(1), "three parts"),
    )


@law(
    "signs",
    numerics="bitwise",
    kind="move",
    serves="launches",
    source="RoFormer, arXiv 2104.09864",
    examples=_examples,
)
def sign_of_part(a: Tensor, b: Tensor, c: Tensor, x: Axis):
    """Concat(-b, a) * c = Concat(b, a) * (c * [-1, 1]) for a constant c, likewise Concat(a, -b) * c

    A constant b may be its own negative, and c have any number of signs.
    """
    minus = unary("Neg", (), b)
    for k, given, plain in ((0, (minus, a), (b, a)), (1, (a, minus), (a, b))):
        whole = concat(listed(*given), x)
        signs = literal(signs_of_parts(c, *plain, whole, x, k))
        signed = concat(listed(*plain), x) * (c * signs)
        yield rewrite(whole * c, signed, guard(varies(b)), because="a constant has any signs")
