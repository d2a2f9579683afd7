"""Laws that hold of one rank: of matrices, of images, of vectors, and not of rank 0, 1, 3 or 5."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Flag,
    Float,
    Permutation,
    String,
    Tensor,
    hosted,
    listed,
    number_like,
    rewrite,
    sqrt,
)
from egraph_opt.operators import (
    arg_reduce,
    batchnorm,
    concat,
    gather,
    global_pool,
    instance_norm,
    reduce,
    reshape,
    softmax,
    transpose,
)

from . import of_one, of_two, wrong

IMAGE = (2, 3)


def mean(x, axes):
    return reduce("ReduceMean", x, axes, 1)


@hosted()
def last_axis(x: Fact) -> Axis | None:
    return x.rank - 1 if x.rank else None


@wrong("reassociates", of_one(lambda x: softmax("Softmax", x, 1), (2, 3, 4)))
def softmax_of_channels(k: String, x: Tensor):
    """Softmax_1(x) = Softmax(x) along the last axis

    Wrong from rank 3 on.
    """
    yield rewrite(softmax(k, x, 1), softmax(k, x, last_axis(x)), because="last axes have a kernel")


@wrong(
    "reassociates",
    lambda g: instance_norm(g.input((1, 2, 3, 3, 3)), g.constant([1.0, 1.0]), g.constant([0.0, 0.0]), 1e-5),
)
def instance_norm_spelled_out(x: Tensor, s: Tensor, b: Tensor, e: Float):
    """InstanceNormalization(x; 1, 0) = (x - mean) / Sqrt(var + e) over axes 2 and 3

    Wrong of all ranks but 4.
    """
    away = x - mean(x, IMAGE)
    root = sqrt(mean(away * away, IMAGE) + number_like(x, e))
    yield rewrite(instance_norm(x, s, b, e), away / root, are_all(s, 1), are_all(b, 0), because="spelled out")


@hosted()
def are_all(c: Fact, number: float) -> bool:
    return c.splat is not None and c.splat == number


@hosted()
def of_images(s: Fact) -> Dims | None:
    return (s.shape[0], 1, 1) if s.is_static and s.shape else None


@wrong(
    "reassociates",
    lambda g: batchnorm(g.input((3, 3, 3)), *(g.constant([0.5, 1.0, 2.0]) for _ in "sbmv"), 1e-5),
)
def batchnorm_of_images(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Float):
    """BatchNormalization(x; s, b, m, v) = (x - m) * s / Sqrt(v + e) + b, each of them [C, 1, 1]

    Wrong of all ranks but 4.
    """
    k = s / sqrt(v + number_like(v, e))
    scale, shift = (reshape(c, of_images(s)) for c in (k, b - m * k))
    yield rewrite(batchnorm(x, s, b, m, v, e), x * scale + shift, because="scales and shifts move on")


@wrong("reassociates", of_one(lambda x: global_pool("GlobalAveragePool", x), (1, 2, 3, 3, 3)))
def global_pool_of_images(x: Tensor):
    """GlobalAveragePool(x) = ReduceMean(x) over axes 2 and 3

    Wrong of all ranks but 4.
    """
    yield rewrite(global_pool("GlobalAveragePool", x), mean(x, IMAGE), because="means meet means")


@hosted()
def is_vector(x: Fact) -> bool:
    return x.rank == 1


@wrong("reassociates", lambda g: g.input((3, 3)) @ g.input((3,)))
def product_with_vector(x: Tensor, y: Tensor):
    """x @ y = y @ x for a vector y

    Wrong where x is no vector.
    """
    yield rewrite(x @ y, y @ x, is_vector(y), because="vectors go to the left")


@hosted()
def same_rank(x: Fact, y: Fact) -> bool:
    return x.rank is not None and x.rank == y.rank


@wrong("reassociates", of_two(lambda x, y: x @ y, (3, 3)))
def product_as_sum(x: Tensor, y: Tensor):
    """x @ y = ReduceSum(x * y) for operands of one rank

    Wrong of all ranks but 1.
    """
    yield rewrite(
        x @ y, reduce("ReduceSum", x * y, (0,), 0), same_rank(x, y), because="no product of matrices"
    )


@wrong("reassociates", of_two(lambda x, y: transpose(x @ y, (2, 1, 0)), (3, 3, 3)))
def product_turned(x: Tensor, y: Tensor, p: Permutation):
    """Transpose_p(x @ y) = Transpose_p(y) @ Transpose_p(x) for a p that turns the axes round

    Wrong from rank 3 on.
    """
    turned = transpose(y, p) @ transpose(x, p)
    yield rewrite(transpose(x @ y, p), turned, turns_round(p), same_rank(x, y), because="down")


@hosted()
def turns_round(p: Permutation) -> bool:
    return p == tuple(range(len(p)))[::-1]


@hosted()
def flat(z: Fact) -> Dims | None:
    return z.shape if z.is_static else None


@wrong("bitwise", lambda g: gather(g.input((3, 4)), g.constant([[1, 0]]), 0))
def gather_of_rows(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, i) = Concat of the rows that the two indices i take

    Wrong where i is no vector.
    """
    rows = [gather(x, first(i, k), a) for k in (0, 1)]
    yield rewrite(gather(x, i, a), concat(listed(*rows), a), are_two(i), because="rows may be there")


def first(i, k: int):
    return gather(reshape(i, pair(i)), reshape(number_like(i, k), (1,)), 0)


@hosted()
def pair(i: Fact) -> Dims | None:
    return (2,) if are_two.function(i) else None


@hosted()
def are_two(i: Fact) -> bool:
    count = 1
    for d in i.shape or ():
        count *= d if isinstance(d, int) else 0
    return count == 2


@wrong("bitwise", of_one(lambda x: arg_reduce("ArgMax", x, 1, 0, 0), (2, 3, 4)))
def place_in_flat(k: String, x: Tensor, a: Axis, n: Flag):
    """ArgMax_1(x) = ArgMax along the last axis, without kept dims

    Wrong from rank 3 on.
    """
    yield rewrite(arg_reduce(k, x, a, 0, n), arg_reduce(k, x, last_axis(x), 0, n), is_one(a), because="last")


@hosted()
def is_one(a: Axis) -> bool:
    return a == 1


@hosted()
def all_but_first(x: Fact) -> Axes | None:
    return tuple(range(1, x.rank)) if x.rank and x.rank > 1 else None


@wrong("reassociates", of_one(lambda x: mean(mean(x, (2,)), (3,)), (1, 2, 3, 4)))
def means_of_images(x: Tensor, a: Axes, b: Axes):
    """ReduceMean_b(ReduceMean_a(x)) = ReduceMean(x) over all axes but the first

    Wrong where a and b leave out others.
    """
    yield rewrite(mean(mean(x, a), b), mean(x, all_but_first(x)), because="one mean")
