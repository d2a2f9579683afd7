"""Shorthands for operators whose operands play the same parts, so that a law is stated once for all of them.

beside(op, x, c, 0), beside(op, x, c, 1)      x op c, c op x
"""

from egraph_opt.laws import auxiliary, equal, shorthand
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import binary


@shorthand
def beside(op: String, x: Tensor, c: Tensor, side: Int) -> Tensor:
    """An element-wise operator of x and c: x stands on the left if side is 0, on the right if it is 1."""


@auxiliary()
def either_side(op: String, x: Tensor, c: Tensor):
    """Says what `beside` is."""
    yield equal(binary(op, x, c), beside(op, x, c, 0))
    yield equal(binary(op, c, x), beside(op, x, c, 1))
