"""Values that are no steps of an operator that laws split: what moves past a pool moves past all of it.

A pool that is done in n steps has n places for each constant, function or transpose.  Between the steps there
is nothing to gain: what is there has more elements than behind them, and does not meet what is in front.

No laws here.
"""

from egraph_opt.laws import auxiliary, eq, table
from egraph_opt.laws import rule as when
from egraph_opt.laws.sorts import Dims, Float, Int, Permutation, Settings, Slices, String, Tensor, Unit
from egraph_opt.operators import batchnorm, binary, reshape, slice_, transpose, unary
from egraph_opt.operators.terms import node


@table()
def entire(y: Tensor) -> Unit:
    """y is a value of the original, the same in another order or view, or what is made to such a value by one
    operator with one computed operand."""


@auxiliary()
def wholes(
    x: Tensor, y: Tensor, c: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor,
    k: Int, p: Permutation, d: Dims, z: Slices, f: String, a: Settings, e: Float,
):  # fmt: skip
    """Fills `entire`."""
    yield when(eq(y, node(k)), then=entire(y))
    moved = (transpose(x, p), reshape(x, d), slice_(x, z))
    for found in moved[:2]:
        yield when(entire(x), eq(y, found), then=entire(y))
    before = (unary(f, a, x), binary(f, x, c), binary(f, c, x), batchnorm(x, s, b, m, v, e))
    for found in (*moved, *before):
        yield when(entire(y), eq(y, found), then=entire(x))
