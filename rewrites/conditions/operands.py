"""Shorthands for operators whose operands play the same parts, so that a law is stated once for all of them.

    beside(op, x, c, side)         x op c, c op x
    among(x, y, v, place)          Where(x, y, v), Where(y, x, v), Where(y, v, x)
    function_of(op, s, x)          functions of one operand, and Cast
    factor(x, y, side)             x @ y, y @ x
    total(b, c)                    b + c, c where b is absent, b where c is
    normalised(kind, x, s, b, ..)  LayerNormalization and RMSNormalization, with and without a bias
    moved(op, x, i, how)           what moves elements of x: Reshape, Transpose, Slice, Expand, Tile, Gather

An auxiliary says of each what it stands for.
"""

from typing import Any

from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.laws import auxiliary, eq, equal, hosted, ne, opset, rewrite, rule, shorthand, table, union
from egraph_opt.laws.sorts import (
    Axes,
    Axis,
    DataType,
    Dims,
    Float,
    Int,
    Mode,
    Number,
    Pads,
    Permutation,
    Settings,
    Slices,
    String,
    Tensor,
    Unit,
)
from egraph_opt.operators import (
    ConvWindow,
    binary,
    cast,
    conv,
    expand,
    expand_to,
    gather,
    none,
    pad,
    reshape,
    reshape_to,
    slice_,
    tile,
    transpose,
    unary,
    where,
)
from egraph_opt.operators.composites import layer_norm, rms_norm, shifted_layer_norm
from egraph_opt.rewrites.conditions.channels import is_present


@shorthand
def beside(op: String, x: Tensor, c: Tensor, side: Int) -> Tensor:
    """An element-wise operator of x and c: x stands on the left if side is 0, on the right if it is 1."""


@auxiliary()
def either_side(op: String, x: Tensor, c: Tensor):
    """Says what `beside` is."""
    yield equal(binary(op, x, c), beside(op, x, c, 0))
    yield equal(binary(op, c, x), beside(op, x, c, 1))


@shorthand
def among(x: Tensor, y: Tensor, v: Tensor, place: Int) -> Tensor:
    """Where, of which x is the operand at a place, and y and v are the others in their order."""


@auxiliary()
def any_place(x: Tensor, y: Tensor, v: Tensor):
    """Says what `among` is."""
    yield equal(where(x, y, v), among(x, y, v, 0))
    yield equal(where(y, x, v), among(x, y, v, 1))
    yield equal(where(y, v, x), among(x, y, v, 2))


@shorthand
def function_of(op: String, settings: Any, x: Tensor) -> Tensor:
    """A function of each element of x; "Cast" has its type for settings."""


@auxiliary()
def functions(op: String, s: Settings, to: DataType, x: Tensor):
    """Says what `function_of` is."""
    back = function_of(op, s, x)
    yield rewrite(unary(op, s, x), back)
    yield rewrite(back, unary(op, s, x), ne(op, "Cast"))
    yield equal(cast(x, to), function_of("Cast", to, x))


@shorthand
def moved(op: String, x: Tensor, i: Tensor, how: Any) -> Tensor:
    """What has the elements of x in other places, as many times or not at all; `i` are indices or dims."""


COMPUTED = "computed"
"""How something is expanded to a target that is a tensor."""


@hosted()
def is_comparison(op: str) -> bool:
    return op in COMPARISONS


@hosted()
def is_extreme_of_many(op: str) -> bool:
    """Max and Min of several operands."""
    return op in ("Max", "Min")


@hosted()
def attributes(*values: Any) -> tuple[Any, ...]:
    """Several attributes as one."""
    return values


@auxiliary()
def moves(
    x: Tensor, i: Tensor, d: Dims, p: Permutation, s: Slices, a: Axis, m: Mode, pads: Pads, v: Number,
    how: Any,
):  # fmt: skip
    """Says what `moved` is."""
    yield equal(reshape(x, d), moved("Reshape", x, none(), d))
    yield equal(transpose(x, p), moved("Transpose", x, none(), p))
    yield equal(slice_(x, s), moved("Slice", x, none(), s))
    yield equal(expand(x, d), moved("Expand", x, none(), d))
    yield equal(expand_to(x, i), moved("Expand", x, i, COMPUTED))
    yield equal(gather(x, i, a), moved("Gather", x, i, a))
    yield equal(tile(x, d), moved("Tile", x, none(), d))
    yield equal(reshape_to(x, i, how), moved("ReshapeTo", x, i, how))
    yield rewrite(pad(x, m, pads, v), moved("Pad", x, none(), attributes(m, pads, v)))
    yield rewrite(moved("Pad", x, none(), how), pad(x, how[0], how[1], how[2]))


@shorthand
def normalised(kind: String, x: Tensor, scale: Tensor, bias: Tensor, axes: Axes, epsilon: Float) -> Tensor:
    """LayerNormalization or RMSNormalization of x; `bias` may be absent."""


@auxiliary()
def norms(x: Tensor, s: Tensor, b: Tensor, axes: Axes, e: Float):
    """Says what `normalised` is."""
    yield equal(rms_norm(x, s, axes, e), normalised("RMS", x, s, none(), axes, e))
    yield equal(layer_norm(x, s, axes, e), normalised("Layer", x, s, none(), axes, e))
    yield equal(shifted_layer_norm(x, s, b, axes, e), normalised("Shifted", x, s, b, axes, e))


@shorthand
def total(b: Tensor, c: Tensor) -> Tensor:
    """b + c, where each of them may be absent."""


@auxiliary()
def totals(x: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Says what `total` is; biases of convolutions are totals with nothing."""
    yield rewrite(b + c, total(b, c))
    yield rewrite(total(b, c), b + c, is_present(b), is_present(c))
    yield rewrite(total(b, none()), b)
    yield rewrite(total(none(), c), c)
    yield rule(conv(x, w, b, u), then=(union(b, total(b, none())), union(b, total(none(), b))))


@shorthand
def factor(x: Tensor, y: Tensor, side: Int) -> Tensor:
    """A product of matrices: x stands on the left if side is 0, on the right if it is 1."""


@auxiliary()
def factors(x: Tensor, y: Tensor):
    """Says what `factor` is."""
    yield equal(x @ y, factor(x, y, 0))
    yield equal(y @ x, factor(x, y, 1))


@table()
def number(k: Int) -> Unit:
    """The first numbers: what is asked of each axis, of each cut, or of each of several candidates."""


@auxiliary()
def numbers(k: Int):
    """Fills `number`."""
    yield rule(eq(k, opset()), then=[number(n) for n in range(5)])
