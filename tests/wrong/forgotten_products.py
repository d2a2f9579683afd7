"""Our laws of products of matrices with a condition that was forgotten, or an index that is another."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Dims,
    Permutation,
    Slices,
    Tensor,
    eq,
    hosted,
    listed,
    number_like,
    rewrite,
    rule,
    union,
)
from egraph_opt.operators import concat, reshape, slice_, transpose
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_scale, is_shift

from . import of_two, wrong

SQUARE = (3, 3)


@hosted()
def as_column(c: Fact) -> Dims | None:
    return (c.shape[0], 1) if is_scale(c) and c.rank == 1 and c.is_static else None  # type: ignore[index]


@wrong("reassociates", lambda g: (g.input(SQUARE) @ g.random(3, 3)) * g.random(3))
def scale_of_product(x: Tensor, w: Tensor, c: Tensor):
    """(x @ W) * s = x @ (s * W) for a number per column

    Wrong: it scales the rows of W.
    """
    scaled = w * reshape(c, as_column(c))
    yield rewrite((x @ w) * c, x @ scaled, is_float_constant_matrix(w), because="s goes into W")


@hosted()
def is_float_constant_matrix(w: Fact) -> bool:
    return is_float_constant(w) and w.rank == 2


@hosted()
def is_number(c: Fact) -> bool:
    return is_shift(c) and c.splat is not None


@wrong("reassociates", lambda g: (g.input(SQUARE) + g.constant(2.0)) @ g.random(3, 3))
def shift_of_factor(x: Tensor, w: Tensor, c: Tensor):
    """(x + c) @ W = x @ W + c for a number c

    Wrong: each column of W is summed with it.
    """
    yield rewrite((x + c) @ w, x @ w + c, is_number(c), is_float_constant_matrix(w), because="shifts move on")


@wrong("reassociates", lambda g: (g.input(SQUARE) @ g.random(3, 3)) @ g.random(3, 3))
def weights_in_a_row(x: Tensor, v: Tensor, w: Tensor):
    """(x @ V) @ W = x @ (W @ V) for constants

    Wrong in the order.
    """
    known = (is_float_constant_matrix(v), is_float_constant_matrix(w))
    yield rewrite((x @ v) @ w, x @ (w @ v), known, because="constants are folded")


@wrong("reassociates", lambda g: (g.input(SQUARE) * g.random(3)) @ g.input(SQUARE))
def scale_past_product(x: Tensor, y: Tensor, c: Tensor):
    """(x * s) @ y = (x @ y) * s for a constant s

    Wrong of more than one number.
    """
    yield rewrite((x * c) @ y, (x @ y) * c, is_scale(c), because="scales move on")


@wrong("reassociates", lambda g: (g.input(SQUARE) * g.random(3)) @ (g.input(SQUARE) * g.random(3)))
def scales_of_both_factors(x: Tensor, y: Tensor, s: Tensor, t: Tensor):
    """(x * s) @ (y * t) = (x * (s * t)) @ y for constants

    Wrong of more than one number.
    """
    known = (is_scale(s), is_scale(t))
    yield rewrite((x * s) @ (y * t), (x * (s * t)) @ y, known, because="one scale is better than two")


@hosted()
def parts(v: Fact, w: Fact) -> tuple[Slices, Slices] | None:
    """The columns of two weights that stand next to each other, the second one in front."""
    if not v.is_static or not w.is_static or v.rank != 2 or w.rank != 2 or v.shape[0] != w.shape[0]:  # type: ignore[index]
        return None
    first, second = v.shape[1], w.shape[1]  # type: ignore[index]
    return ((1, second, second + first, 1),), ((1, 0, second, 1),)  # type: ignore[operator, return-value]


@wrong("reassociates", lambda g: (lambda x: (x @ g.random(3, 3)) + (x @ g.random(3, 3)))(g.input(SQUARE)))
def products_joined(x: Tensor, v: Tensor, w: Tensor, a: Tensor, b: Tensor):
    """x @ V and x @ W are parts of x @ [V, W] for constant matrices

    Wrong in which part is whose.
    """
    both, own = x @ concat(listed(v, w), 1), parts(v, w)
    found = (
        eq(a, x @ v),
        eq(b, x @ w),
        is_float_constant_matrix(v),
        is_float_constant_matrix(w),
        is_matrix(x),
    )
    then = (union(a, slice_(both, own[0])), union(b, slice_(both, own[1])))
    yield rule(*found, then=then, because="the parts are more to compute")


@hosted()
def is_matrix(x: Fact) -> bool:
    return x.rank == 2


@wrong("reassociates", of_two(lambda x, y: x @ x + y @ y, (2, 3, 3)))
def inner_dims_joined(x: Tensor, y: Tensor, v: Tensor, w: Tensor):
    """A @ B + C @ D = [A, C] @ [B; D]

    Wrong of stacks of matrices, of which axes 1 and 0 are others.
    """
    yield rewrite(x @ v + y @ w, concat(listed(x, y), 1) @ concat(listed(v, w), 0), because="one product")


@wrong("reassociates", lambda g: (lambda x: x @ g.input((3,)) + x @ g.input((3, 1)))(g.input((3, 3))))
def sum_of_products(x: Tensor, v: Tensor, w: Tensor):
    """A @ B + A @ C = A @ (B + C)

    Wrong where B and C have different ranks or dims.
    """
    yield rewrite(x @ v + x @ w, x @ (v + w), because="one product")


@wrong("reassociates", lambda g: g.input(SQUARE) @ slice_(g.input((3, 6)), ((1, 0, 3, 1),)))
def slice_of_weight(x: Tensor, w: Tensor, s: Slices):
    """x @ Slice(W) = Slice(x @ W)

    Wrong along the rows of W, and where x has more axes.
    """
    yield rewrite(slice_(x @ w, s), x @ slice_(w, s), is_float_constant_matrix(w), because="fewer columns")
    yield rewrite(x @ slice_(w, s), slice_(x, s) @ w, is_matrix(x), because="fewer rows")


@hosted()
def last_two(p: Permutation) -> bool:
    return p[-2:] == (len(p) - 1, len(p) - 2)


@wrong(
    "reassociates", of_two(lambda x, y: transpose(x, (1, 0, 3, 2)) @ transpose(y, (1, 0, 3, 2)), (2, 2, 3, 3))
)
def product_of_transposed(x: Tensor, y: Tensor, p: Permutation):
    """x' @ y' = (y @ x)' for transposes of the last two axes

    Wrong where other axes move as well: they stay on the right.
    """
    swap = transpose(y @ x, only_last(p))
    yield rewrite(transpose(x, p) @ transpose(y, p), swap, last_two(p), because="one transpose")


@hosted()
def only_last(p: Permutation) -> Permutation:
    return (*range(len(p) - 2), len(p) - 1, len(p) - 2)


@wrong("reassociates", lambda g: reshape(g.input((3, 4)) @ g.input((4, 2)), (2, 3)))
def view_of_product(x: Tensor, w: Tensor, d: Dims):
    """Reshape(x @ W) = Reshape(x) @ W

    Wrong where the last dim does not stay.
    """
    yield rewrite(reshape(x @ w, d), reshape(x, with_last(d, x)) @ w, is_matrix(w), because="views go up")


@hosted()
def with_last(d: Dims, x: Fact) -> Dims | None:
    return (*d[:-1], x.shape[-1]) if x.is_static and x.shape and d else None


@wrong("reassociates", of_two(lambda x, y: (x @ y) * number_like(x, 2.0), SQUARE))
def factors_exchanged(x: Tensor, y: Tensor, c: Tensor):
    """(x @ y) * c = (y @ x) * c for a number c

    Wrong: products of matrices do not commute.
    """
    yield rewrite((x @ y) * c, (y @ x) * c, is_one(c), because="constants go to the right")


@hosted()
def is_one(c: Fact) -> bool:
    return c.splat is not None
