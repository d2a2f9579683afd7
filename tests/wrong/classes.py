"""Laws that are right in real arithmetic, and claim more: `bitwise` or `finite`."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Permutation,
    Tensor,
    exp,
    hosted,
    is_constant,
    log,
    number_like,
    reciprocal,
    rewrite,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from egraph_opt.operators import conv, global_pool, reduce, transpose
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.rewrites.conditions.values import all_are, fits, is_kernel_float

from . import of_one, of_two, wrong

PLAIN = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))


def total(x, axes):
    return reduce("ReduceSum", x, axes, 1)


def mean(x, axes):
    return reduce("ReduceMean", x, axes, 1)


@wrong("bitwise", lambda g: g.input((2, 5)) * g.constant(0.1) * g.constant(0.3))
def factors_of_both(x: Tensor, a: Tensor, b: Tensor):
    """(x * a) * b = x * (a * b) for constants

    Wrong in the last bit: it holds in real arithmetic.
    """
    yield rewrite(x * a * b, x * (a * b), is_constant(a), is_constant(b), because="one constant")


@wrong("finite", lambda g: (g.input((2, 5)) + g.input((2, 5))) + g.input((2, 5)), values=(1e8, -1e8, 1.0))
def sums_regrouped(x: Tensor, y: Tensor, z: Tensor):
    """(x + y) + z = x + (y + z)

    Wrong where large numbers cancel: it holds in real arithmetic.
    """
    yield rewrite((x + y) + z, x + (y + z), is_kernel_float(x), because="chains lean to the right")


@wrong("finite", lambda g: _distributed(*(g.input((2, 3)) for _ in "xyz")), values=(1.1, 3e7, -29999998.0))
def factor_in_front(x: Tensor, y: Tensor, z: Tensor):
    """x * y + x * z = x * (y + z)

    Wrong where the products cancel: it holds in real arithmetic.
    """
    yield rewrite(x * y + x * z, x * (y + z), is_kernel_float(x), because="one product less")


def _distributed(x, y, z):
    return x * y + x * z


@wrong("finite", of_two(lambda x, y: x - (x - y)), values=(1e8, 0.3, -2e8))
def difference_undone(x: Tensor, y: Tensor):
    """x - (x - y) = y

    Wrong where y is lost beside x: it holds in real arithmetic.
    """
    yield rewrite(x - (x - y), y, are_alike(x, y), because="every y would be a difference")


@hosted()
def are_alike(x: Fact, y: Fact) -> bool:
    return x.is_symbolic and x.shape == y.shape


@wrong("bitwise", lambda g: g.input((2, 5)) * g.constant(2.0) / g.constant(2.0))
def doubled_and_halved(x: Tensor, c: Tensor, d: Tensor):
    """x * 2 / 2 = x

    Wrong where x * 2 overflows.
    """
    yield rewrite(x * c / d, x, all_are(c, 2), all_are(d, 2), fits(c, x), fits(d, x), because="forgets both")


@wrong("finite", of_one(lambda x: log(exp(x) + number_like(x, 1.0))), values=(-20.0, 1.0))
def softplus_as_it_is(x: Tensor, c: Tensor):
    """Log(Exp(x) + 1) = Softplus(x)

    Wrong far below zero, where the sum is 1: it holds in real arithmetic.
    """
    yield rewrite(log(exp(x) + c), softplus(x), all_are(c, 1), fits(c, x), because="one node")


@wrong("finite", of_two(lambda x, y: sqrt(x) * sqrt(y)), values=(1e30,))
def product_of_roots(x: Tensor, y: Tensor):
    """Sqrt(x) * Sqrt(y) = Sqrt(x * y)

    Wrong where the product overflows.
    """
    yield rewrite(sqrt(x) * sqrt(y), sqrt(x * y), is_kernel_float(x), because="one root")


@wrong("finite", of_one(lambda x: number_like(x, 1.0) - sigmoid(x)), values=(10.0, 1.0))
def mirrored_sigmoid(x: Tensor, c: Tensor):
    """1 - Sigmoid(x) = Sigmoid(-x)

    Wrong where Sigmoid(x) is nearly 1: it holds in real arithmetic.
    """
    yield rewrite(c - sigmoid(x), sigmoid(-x), all_are(c, 1), fits(c, x), because="one node less")


@wrong("finite", of_one(tanh), values=(1e-4, 2e-5))
def tanh_of_doubled_sigmoid(x: Tensor):
    """Tanh(x) = 2 * Sigmoid(2 x) - 1

    Wrong near zero, where the difference cancels: it holds in real arithmetic.
    """
    two, one = number_like(x, 2.0), number_like(x, 1.0)
    yield rewrite(tanh(x), two * sigmoid(two * x) - one, because="the gate may be there")


@wrong("finite", of_one(lambda x: exp(log(x))), values=(1e30, 3e-20))
def exponential_of_logarithm(x: Tensor):
    """Exp(Log(x)) = x

    Wrong of large and small numbers, by what the logarithm rounds off.
    """
    yield rewrite(exp(log(x)), x, because="every x would be an exponential")


@wrong("bitwise", of_two(lambda x, y: x / y), values=(3.0, 7.0, 1.1))
def quotient_as_product(x: Tensor, y: Tensor):
    """x / y = x * Reciprocal(y)

    Wrong in the last bit: it is rounded twice.
    """
    yield rewrite(x / y, x * reciprocal(y), is_kernel_float(x), because="the reciprocal may be there")


@wrong("bitwise", of_one(lambda x: x ** number_like(x, 0.5)))
def root_as_power(x: Tensor, c: Tensor):
    """x ^ 0.5 = Sqrt(x)

    Wrong of -0.0 and -infinity.
    """
    yield rewrite(x**c, sqrt(x), all_are(c, 0.5), fits(c, x), because="no power is cheaper than a root")


@wrong("bitwise", lambda g: (g.input((3, 3)) @ g.random(3, 3)) @ g.random(3, 3))
def weights_first(x: Tensor, v: Tensor, w: Tensor):
    """(x @ V) @ W = x @ (V @ W) for constant matrices

    Wrong in the last bits: it holds in real arithmetic.
    """
    yield rewrite((x @ v) @ w, x @ (v @ w), are_matrices(v, w), because="constants are folded")


@hosted()
def are_matrices(v: Fact, w: Fact) -> bool:
    return v.const and w.const and v.rank == w.rank == 2


@wrong(
    "bitwise", of_one(lambda x: total(total(x, (1,)), (0,)), (7, 9)), values=(0.1, 1e5, -3.3, 7.7e-3, 12.1)
)
def sum_at_once(x: Tensor, a: Axes, b: Axes):
    """ReduceSum_b(ReduceSum_a(x)) = ReduceSum_ab(x) with kept dims

    Wrong in the last bits: it holds in real arithmetic.
    """
    yield rewrite(total(total(x, a), b), total(x, both(a, b)), because="forgets a and b")


@hosted()
def both(a: Axes, b: Axes) -> Axes:
    return tuple(sorted({*a, *b}))


@wrong(
    "bitwise",
    of_one(lambda x: total(transpose(x, (1, 0)), (1,)), (33, 9)),
    values=(0.1, 1e5, -3.3, 7.7e-3, 12.1),
)
def sum_past_transpose(x: Tensor, p: Permutation, a: Axes):
    """ReduceSum_a(Transpose_p(x)) = Transpose_p(ReduceSum_p[a](x)) with kept dims

    Wrong in the last bits: the kernel sums in another order.
    """
    after = transpose(total(x, moved(p, a)), p)
    yield rewrite(total(transpose(x, p), a), after, because="fewer elements to move")


@hosted()
def moved(p: Permutation, a: Axes) -> Axes:
    return tuple(sorted(p[k] for k in a))


@wrong(
    "finite",
    of_one(lambda x: mean(x * x, (1,)) - mean(x, (1,)) * mean(x, (1,))),
    values=(1000.1, 1000.2, 999.9),
)
def variance_around_mean(x: Tensor, a: Axes):
    """ReduceMean(x * x) - ReduceMean(x)^2 = ReduceMean((x - ReduceMean(x))^2)

    Wrong where the mean is large: it holds in real arithmetic.
    """
    away, centre = x - mean(x, a), mean(x, a)
    spelled = mean(x * x, a) - centre * centre
    yield rewrite(spelled, mean(away * away, a), is_kernel_float(x), because="the difference cancels")


@wrong(
    "bitwise",
    lambda g: conv(g.input((1, 4, 5, 5)) * g.constant(0.3), g.random(3, 4, 3, 3), g.random(3), PLAIN),
)
def scale_into_weight(x: Tensor, c: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x * s, W, b) = Conv(x, W * s, b) for a number s

    Wrong in the last bits: it holds in real arithmetic.
    """
    yield rewrite(conv(x * c, w, b, u), conv(x, w * c, b, u), is_number(c), because="s is folded")


@hosted()
def is_number(c: Fact) -> bool:
    return c.const and c.shape == ()


@wrong(
    "bitwise",
    of_one(lambda x: global_pool("GlobalAveragePool", x), (1, 3, 7, 9)),
    values=(0.1, 1e5, -3.3, 7.7e-3, 12.1),
)
def global_pool_as_mean(x: Tensor):
    """GlobalAveragePool(x) = ReduceMean(x) over the spatial axes

    Wrong in the last bits: it holds in real arithmetic.
    """
    yield rewrite(global_pool("GlobalAveragePool", x), mean(x, spatial(x)), because="means meet means")


@hosted()
def spatial(x: Fact) -> Axes | None:
    return tuple(range(2, x.rank)) if x.rank else None
