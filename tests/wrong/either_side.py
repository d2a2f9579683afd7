"""Laws of operators whose operands stand on either side, with a condition that was forgotten."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Flag,
    Int,
    Permutation,
    String,
    Tensor,
    exp,
    hosted,
    is_constant,
    log,
    number_like,
    rewrite,
)
from egraph_opt.operators import GemmSettings, binary, gemm, reduce, reshape, softmax, transpose
from egraph_opt.rewrites.conditions.operands import beside, either_side, factor, factors
from egraph_opt.rewrites.conditions.values import all_are, is_kernel_float

from . import of_one, of_two, wrong

SQUARE = (3, 3)


@wrong("finite", lambda g: g.constant([[0.0], [0.0]]) + g.input((1, 5)), uses=(either_side,))
def zero_on_either_side(x: Tensor, c: Tensor, i: Int):
    """x + 0 = x, and 0 + x = x

    Wrong where the zeros make the result bigger.
    """
    yield rewrite(beside("Add", x, c, i), x, all_are(c, 0), because="every x would be a sum")


@wrong("finite", lambda g: g.constant(1.0) / g.input((2, 5)), uses=(either_side,))
def one_on_either_side(f: String, x: Tensor, c: Tensor, i: Int):
    """x f 1 = x, and 1 f x = x, for Mul, Div and Pow

    Wrong of 1 / x and 1 ^ x.
    """
    known = (is_neutral_one(f), all_are(c, 1), has_no_axes(c))
    yield rewrite(beside(f, x, c, i), x, known, because="every x would be a product")


@hosted()
def is_neutral_one(f: str) -> bool:
    return f in ("Mul", "Div", "Pow")


@hosted()
def has_no_axes(c: Fact) -> bool:
    return c.shape == ()


@hosted()
def as_wide(c: Fact, p: Permutation) -> bool:
    return c.rank == len(p)


@wrong("bitwise", lambda g: g.random(3, 3, 3) * transpose(g.input((3, 3, 3)), (1, 2, 0)), uses=(either_side,))
def constant_beside_transposed(f: String, x: Tensor, c: Tensor, p: Permutation, i: Int):
    """f(Transpose_p(x), c) = Transpose_p(f(x, Transpose_p(c))) for a constant c of that rank

    Wrong of cycles: c has to be transposed back.
    """
    inside = transpose(beside(f, x, transpose(c, p), i), p)
    known = (is_constant(c), as_wide(c, p))
    yield rewrite(beside(f, transpose(x, p), c, i), inside, known, because="transposes go down")


@wrong("bitwise", lambda g: transpose(g.input(SQUARE), (1, 0)) - g.input((1, 3)), uses=(either_side,))
def row_beside_transposed(f: String, x: Tensor, c: Tensor, p: Permutation, i: Int):
    """f(Transpose_p(x), c) = Transpose_p(f(x, c)) for a c with one axis that is not 1

    Wrong: the axis moves as well.
    """
    moved = transpose(beside(f, x, c, i), p)
    yield rewrite(beside(f, transpose(x, p), c, i), moved, is_row(c), because="transposes go down")


@hosted()
def is_row(c: Fact) -> bool:
    return c.shape is not None and sum(d != 1 for d in c.shape) == 1


@hosted()
def as_row(c: Fact) -> Dims | None:
    return (1, c.shape[0]) if c.const and c.rank == 1 and c.is_static else None  # type: ignore[index]


@wrong("reassociates", lambda g: (g.random(3, 3) @ g.input(SQUARE)) * g.random(3), uses=(factors,))
def scale_of_either_factor(x: Tensor, w: Tensor, c: Tensor, i: Int):
    """(x @ W) * s = x @ (W * s), and (W @ x) * s = (W * s) @ x, for a number per column

    Wrong of the second: its columns are those of x.
    """
    scaled = w * reshape(c, as_row(c))
    yield rewrite(factor(x, w, i) * c, factor(x, scaled, i), is_constant(w), because="constants are folded")


@wrong("reassociates", of_two(lambda x, y: (x @ y) * (y @ y), SQUARE), uses=(factors,))
def shared_factor(f: String, x: Tensor, y: Tensor, z: Tensor, i: Int):
    """(x @ z) f (y @ z) = (x f y) @ z, and z @ x f z @ y = z @ (x f y)

    Wrong of all but sums and differences.
    """
    two = binary(f, factor(x, z, i), factor(y, z, i))
    yield rewrite(two, factor(binary(f, x, y), z, i), because="one product")


@wrong("reassociates", of_two(lambda x, y: (x * y) / (y * x)), uses=(either_side,))
def shared_operand(f: String, x: Tensor, y: Tensor, z: Tensor, i: Int, k: Int):
    """x * y f x * z = x * (y f z)

    Wrong of all but sums and differences.
    """
    two = binary(f, beside("Mul", x, y, i), beside("Mul", x, z, k))
    yield rewrite(two, x * binary(f, y, z), because="one product")


@wrong("reassociates", lambda g: g.input((2, 3, 3)) + g.input(SQUARE) @ g.input(SQUARE), uses=(either_side,))
def product_and_sum(a: Tensor, b: Tensor, c: Tensor, i: Int):
    """A @ B + C = Gemm(A, B, C) for matrices A and B

    Wrong where C is bigger than the product.
    """
    whole = gemm(a, b, c, GemmSettings())
    yield rewrite(beside("Add", a @ b, c, i), whole, are_matrices(a, b), because="one kernel")


@hosted()
def are_matrices(a: Fact, b: Fact) -> bool:
    return a.rank == b.rank == 2 and a.dtype == b.dtype


@hosted()
def first_axis(a: Axes) -> Axis | None:
    return a[0] if a else None


@wrong(
    "reassociates", of_one(lambda x: exp(x) / reduce("ReduceSum", exp(x), (0, 1), 1)), values=(0.5, -1.0, 2.0)
)
def softmax_spelled_out(x: Tensor, a: Axes):
    """Exp(x) / ReduceSum_a(Exp(x)) = Softmax(x) along the first of the axes a

    Wrong of several axes.
    """
    spelled = exp(x) / reduce("ReduceSum", exp(x), a, 1)
    yield rewrite(spelled, softmax("Softmax", x, first_axis(a)), is_kernel_float(x), because="Exp overflows")


@wrong(
    "reassociates",
    of_one(lambda x: x - log(reduce("ReduceSum", exp(x), (1,), 0)), SQUARE),
    values=(0.5, -1.0, 2.0, 0.0),
)
def logarithm_spelled_out(x: Tensor, a: Axes, k: Flag):
    """x - Log(ReduceSum(Exp(x))) = LogSoftmax(x)

    Wrong of squares where dims are not kept.
    """
    spelled = x - log(reduce("ReduceSum", exp(x), a, k))
    yield rewrite(spelled, softmax("LogSoftmax", x, first_axis(a)), has_one(a), because="Exp overflows")


@hosted()
def has_one(a: Axes) -> bool:
    return len(a) == 1


@wrong(
    "reassociates", lambda g: _affine(g.input((2, 3)), g.input((2, 3)), g.input((2, 3))), uses=(either_side,)
)
def centred_before_scaling(x: Tensor, i: Tensor, b: Tensor, m: Tensor, j: Int):
    """x * i + (b - m * i) = (x + m) * i + b

    Wrong in the sign of m.
    """
    yield rewrite(beside("Add", x * i, b - m * i, j), (x + m) * i + b, because="the difference is small")


def _affine(x, i, b):
    return (b - number_like(x, 2.0) * i) + x * i
