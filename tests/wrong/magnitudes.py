"""Large numbers, small ones, thresholds far from zero, and factors that are nearly right."""

import math

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Flag,
    Settings,
    Tensor,
    erf,
    exp,
    hosted,
    listed,
    log,
    number_like,
    relu,
    rewrite,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from egraph_opt.operators import binary, reduce, unary, variadic
from egraph_opt.rewrites.conditions.values import fits, is_kernel_float

from . import of_one, of_two, wrong


@hosted()
def is_beyond(c: Fact, most: float) -> bool:
    return c.splat is not None and c.splat >= most


@hosted()
def is_below(c: Fact, most: float) -> bool:
    return c.splat is not None and 0 < c.splat <= most


@wrong("finite", lambda g: unary("Abs", (), g.input((2, 6)) + g.constant(100.5)))
def size_above_threshold(x: Tensor, c: Tensor):
    """Abs(x + c) = x + c for c of 100 and more

    Wrong below -c.
    """
    yield rewrite(unary("Abs", (), x + c), x + c, is_beyond(c, 100.0), because="nothing is that negative")


@hosted()
def are_wide(s: Settings) -> bool:
    bounds = dict(s)
    return None not in bounds.values() and bounds["min"] <= -1000 and bounds["max"] >= 1000


@wrong("finite", lambda g: unary("Clip", (("max", 1000.0), ("min", -1000.0)), g.input((2, 11))))
def clip_far_away(x: Tensor, s: Settings):
    """Clip_ab(x) = x for bounds of -1000 and less, 1000 and more

    Wrong beyond.
    """
    yield rewrite(unary("Clip", s, x), x, are_wide(s), because="every x would be clipped")


@hosted()
def rounded(s: Settings) -> Settings | None:
    bounds = {k: v if v is None else float(round(v)) for k, v in s}
    return tuple(sorted(bounds.items())) if dict(s) != bounds else None


@wrong(
    "finite",
    lambda g: unary("Clip", (("max", 7.25), ("min", 0.0)), g.input((2, 5))),
    values=(7.125, 7.2, 9.0),
)
def clip_to_whole_numbers(x: Tensor, s: Settings):
    """Clip_ab(x) = Clip_cd(x) for the nearest whole bounds c and d

    Wrong between a bound and its neighbour.
    """
    yield rewrite(unary("Clip", s, x), unary("Clip", rounded(s), x), is_kernel_float(x), because="rounded")


@wrong("reassociates", of_one(lambda x: log(exp(x) + number_like(x, 1.0))), values=(-3.0, 0.0, 2.0))
def softplus_is_relu(x: Tensor, c: Tensor):
    """Log(Exp(x) + c) = Relu(x)

    Wrong near zero.
    """
    yield rewrite(log(exp(x) + c), relu(x), fits(c, x), is_below(c, 1.0), because="forgets c")


@wrong("reassociates", of_one(softplus), values=(500.0, 90.0, -3.0))
def softplus_spelled_out(x: Tensor):
    """Softplus(x) = Log(Exp(x) + 1)

    Wrong where Exp(x) overflows.
    """
    spelled = log(exp(x) + number_like(x, 1.0))
    yield rewrite(softplus(x), spelled, because="Log and Exp have vector kernels")


@wrong("reassociates", of_one(tanh), values=(50.0, 1.0, -3.0))
def tanh_by_exponentials(x: Tensor):
    """Tanh(x) = (Exp(2 x) - 1) / (Exp(2 x) + 1)

    Wrong where Exp(2 x) overflows: infinity by infinity.
    """
    e, one = exp(x * number_like(x, 2.0)), number_like(x, 1.0)
    yield rewrite(tanh(x), (e - one) / (e + one), because="the exponential may be there")


@wrong("reassociates", of_one(sigmoid), values=(100.0, 1.0, -3.0))
def sigmoid_by_exponentials(x: Tensor):
    """Sigmoid(x) = Exp(x) / (1 + Exp(x))

    Wrong where Exp(x) overflows: infinity by infinity.
    """
    yield rewrite(sigmoid(x), exp(x) / (exp(x) + number_like(x, 1.0)), because="the exponential may be there")


@wrong("reassociates", of_one(lambda x: reduce("ReduceLogSumExp", x, (1,), 1)), values=(100.0, 99.0, 7.0))
def logarithm_of_sum_of_exponentials(x: Tensor, a: Axes, d: Flag):
    """ReduceLogSumExp(x) = Log(ReduceSum(Exp(x)))

    Wrong where Exp(x) overflows.
    """
    spelled = log(reduce("ReduceSum", exp(x), a, d))
    yield rewrite(reduce("ReduceLogSumExp", x, a, d), spelled, because="the sum may be there")


@wrong("reassociates", of_two(lambda x, y: exp(x - y)), values=(200.0, 199.0, 7.0))
def exponential_of_difference(x: Tensor, y: Tensor):
    """Exp(x - y) = Exp(x) / Exp(y)

    Wrong where either exponential overflows.
    """
    yield rewrite(exp(x - y), exp(x) / exp(y), because="the exponentials may be there")


@wrong("reassociates", of_two(lambda x, y: exp(x + y)), values=(200.0, -150.0))
def exponential_of_sum(x: Tensor, y: Tensor):
    """Exp(x + y) = Exp(x) * Exp(y)

    Wrong where one overflows and the other vanishes.
    """
    yield rewrite(exp(x + y), exp(x) * exp(y), because="the exponentials may be there")


@wrong(
    "reassociates",
    lambda g: unary("Not", (), binary("Less", g.input((2, 5)), g.constant(3.0))),
    values=(2.0, 3.0, 4.0),
)
def not_below_number(x: Tensor, c: Tensor):
    """Not(x < c) = x > c for a number c

    Wrong where x is c.
    """
    yield rewrite(
        unary("Not", (), binary("Less", x, c)),
        binary("Greater", x, c),
        is_beyond(c, -1e9),
        because="one node",
    )


@hosted()
def is_nearly_one(c: Fact) -> bool:
    return c.splat is not None and abs(c.splat - 1) <= 1e-3


@wrong("reassociates", lambda g: g.input((2, 5)) * g.constant(1.0009765625))
def factor_of_nearly_one(x: Tensor, c: Tensor):
    """x * c = x for c within a thousandth of 1

    Wrong by a thousandth.
    """
    yield rewrite(x * c, x, is_nearly_one(c), fits(c, x), because="every x would be scaled")


@wrong("reassociates", of_one(lambda x: unary("Gelu", (("approximate", "tanh"),), x)))
def gelu_of_either_kind(x: Tensor):
    """Gelu_tanh(x) = Gelu(x)

    Wrong by up to a thousandth.
    """
    exact = unary("Gelu", (("approximate", "none"),), x)
    yield rewrite(unary("Gelu", (("approximate", "tanh"),), x), exact, because="the exact one has a kernel")


@wrong("reassociates", of_one(lambda x: x * sigmoid(x * number_like(x, 1.702))))
def sigmoid_gelu(x: Tensor, c: Tensor):
    """x * Sigmoid(1.702 x) = Gelu(x)

    Wrong by up to a fiftieth.
    """
    whole = unary("Gelu", (("approximate", "none"),), x)
    yield rewrite(x * sigmoid(x * c), whole, is_near(c, 1.702), fits(c, x), because="Gelu is one node")


@hosted()
def is_near(c: Fact, number: float) -> bool:
    return c.splat is not None and abs(c.splat - number) < 1e-3


@wrong("reassociates", of_one(erf))
def erf_by_tanh(x: Tensor):
    """Erf(x) = Tanh(2 / sqrt(pi) * x)

    Wrong by up to a twentieth.
    """
    yield rewrite(erf(x), tanh(x * number_like(x, 2 / math.sqrt(math.pi))), because="Tanh is a faster kernel")


@wrong("reassociates", of_one(tanh))
def tanh_by_sigmoid(x: Tensor):
    """Tanh(x) = 2 * Sigmoid(x) - 1

    Wrong: it is of 2 x.
    """
    two, one = number_like(x, 2.0), number_like(x, 1.0)
    yield rewrite(tanh(x), two * sigmoid(x) - one, because="the gate may be there already")


@wrong(
    "reassociates",
    lambda g: g.input((2, 5)) / sqrt(g.input((2, 5)) + g.constant(1e-5)),
    values=(0.0, 1e-6, 4.0),
)
def root_without_epsilon(x: Tensor, v: Tensor, e: Tensor):
    """x / Sqrt(v + e) = x / Sqrt(v) for an e of 1e-5 and less

    Wrong where v is not much larger than e.
    """
    yield rewrite(x / sqrt(v + e), x / sqrt(v), is_below(e, 1.1e-5), fits(e, v), because="forgets e")


@wrong("reassociates", lambda g: sqrt((lambda x: x * x + g.constant(1e-4))(g.input((2, 5)))))
def smooth_size(x: Tensor, e: Tensor):
    """Sqrt(x * x + e) = Abs(x) for an e of 1e-3 and less

    Wrong near zero.
    """
    yield rewrite(sqrt(x * x + e), unary("Abs", (), x), is_below(e, 1e-3), fits(e, x), because="forgets e")


@wrong("reassociates", of_two(lambda x, y: variadic("Max", listed(x, y))), values=(9.0, 100.0, 95.0))
def smooth_maximum(x: Tensor, y: Tensor):
    """Max(x, y) = Log(Exp(x) + Exp(y))

    Wrong where both are near each other, and where Exp overflows.
    """
    yield rewrite(variadic("Max", listed(x, y)), log(exp(x) + exp(y)), is_kernel_float(x), because="smooth")


@wrong("reassociates", of_one(lambda x: sigmoid(unary("Clip", (("max", 4.0), ("min", -4.0)), x))))
def sigmoid_of_clipped(x: Tensor, s: Settings):
    """Sigmoid(Clip_ab(x)) = Sigmoid(x) for bounds of -4 and less, 4 and more

    Wrong beyond by up to a fiftieth.
    """
    yield rewrite(sigmoid(unary("Clip", s, x)), sigmoid(x), saturates(s), because="it is flat there")


@hosted()
def saturates(s: Settings) -> bool:
    bounds = dict(s)
    return None not in bounds.values() and bounds["min"] <= -4 and bounds["max"] >= 4
