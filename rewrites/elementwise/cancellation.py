"""What is subtracted from itself: the mean of one element is that element, and laws make one of two operands.

x - x -> 0      in the shape of x: written out where that is known, computed from x where it is not

x / x is not 1, where x is 0, and no law.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.examples import FLOAT, INT64
from egraph_opt.laws.law import Examples
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import Literal, expand_to, literal, shape_of
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.values import is_float

law = laws_of("elementwise", kind="eliminate", source="LLVM, InstructionSimplify: X - X -> 0")

SIZE = "a zero says nothing of what was subtracted"


@hosted()
def is_integer(x: Fact) -> bool:
    return x.dtype in INTEGERS


@hosted()
def zeros_of(x: Fact) -> Literal | None:
    """Zeros in the shape of x, if all its dims are numbers."""
    dims = static_shape(x)
    return None if dims is None else Literal(x.dtype, dims, (_zero(x),))


@hosted()
def zero_to_expand(x: Fact) -> Literal | None:
    """One zero, if not all dims of x are numbers."""
    return Literal(x.dtype, (), (_zero(x),)) if static_shape(x) is None else None


def _zero(x: Fact) -> float:
    return 0.0 if x.dtype in FLOATS else 0


@hosted()
def rank_of(x: Fact) -> int | None:
    return x.rank


def zeros_like(x: Tensor) -> tuple[Any, Any]:
    """Zeros in the shape of x: written out, or computed from x."""
    return literal(zeros_of(x)), expand_to(literal(zero_to_expand(x)), shape_of(x, 0, rank_of(x)))


def _examples(dtype: int) -> Examples:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, y = (g.input(("N", 3, 4), dtype) for _ in range(2))
        for dims in ((), (3,), (0, 2), ("N",), ("N", 3, "L"), (2, 1, 3, 1)):
            z = g.input(dims, dtype)
            yield g.fires(z - z)
        unranked = expand_to(x, g.input(("N",), INT64))
        yield g.near_miss(unranked - unranked, why="how many dims it has is not known")
        yield g.near_miss(x - y, why="they are two")

    return examples


@law(numerics="finite", examples=_examples(FLOAT))
def difference_of_one(x: Tensor):
    """x - x = 0 for floats; it is NaN where x is infinite or NaN"""
    for zeros in zeros_like(x):
        yield rewrite(x - x, zeros, is_float(x), guard(varies(x)), because=SIZE)


@law(numerics="bitwise", examples=_examples(INT64))
def difference_of_integer(x: Tensor):
    """x - x = 0 for integers"""
    for zeros in zeros_like(x):
        yield rewrite(x - x, zeros, is_integer(x), guard(varies(x)), because=SIZE)
