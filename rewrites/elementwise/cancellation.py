"""What is subtracted from itself: the mean of one element is that element, and laws make one of two operands.

x - x -> 0      in the shape of x: written out where that is known, computed from x where it is not

x / x is not 1, where x is 0, and no law.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.laws import Example, Operands, guard, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.examples import FLOAT, INT64
from egraph_opt.laws.law import Examples
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import expand_to
from egraph_opt.rewrites.conditions.values import is_float, is_integer
from egraph_opt.rewrites.conditions.zeros import zeros_like

law = laws_of("elementwise", kind="eliminate", source="LLVM, InstructionSimplify: X - X -> 0")

SIZE = "a zero says nothing of what was subtracted"


def _differences(dtype: int) -> Examples:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, y = g.input(("N", 3, 4), dtype), g.input(("N", 3, 4), dtype)
        yield from (g.fires(z - z) for z in (g.input(dims, dtype) for dims in ((), ("N",), (2, 1))))
        unranked = expand_to(x, g.input(("N",), INT64))
        yield g.near_miss(unranked - unranked, why="how many dims it has is not known")
        yield g.near_miss(x - y, why="they are two")

    return examples


@law(numerics="finite", examples=_differences(FLOAT))
def difference_of_one(x: Tensor):
    """x - x = 0 for floats; it is NaN where x is infinite or NaN"""
    for zeros in zeros_like(x):
        yield rewrite(x - x, zeros, guard(is_float(x), varies(x)), because=SIZE)


@law(numerics="bitwise", examples=_differences(INT64))
def difference_of_integer(x: Tensor):
    """x - x = 0 for integers"""
    for zeros in zeros_like(x):
        yield rewrite(x - x, zeros, is_integer(x), guard(varies(x)), because=SIZE)
