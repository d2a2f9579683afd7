"""Attributes of activations and of other operators beyond their usual range."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Float, Settings, Tensor, exp, hosted, listed, number_like, relu, rewrite, sigmoid
from egraph_opt.operators import binary, unary, variadic
from egraph_opt.rewrites.conditions.values import fits, is_kernel_float

from . import fires_on, of_one, of_two, wrong


@hosted()
def setting(s: Settings, name: str) -> Float | None:
    return dict(s).get(name)


@hosted()
def slope(alpha: float) -> Settings:
    return (("alpha", alpha),)


@hosted()
def product(s: Settings, t: Settings) -> Settings | None:
    return (("alpha", dict(s)["alpha"] * dict(t)["alpha"]),)


def leaky(alpha: float, x):
    return unary("LeakyRelu", (("alpha", alpha),), x)


def elu(alpha: float, x):
    return unary("Elu", (("alpha", alpha),), x)


def clip(low: float | None, high: float | None, x):
    return unary("Clip", (("max", high), ("min", low)), x)


@wrong(
    "reassociates",
    of_one(lambda x: leaky(0.5, leaky(-0.5, x))),
    examples=fires_on(of_one(lambda x: leaky(0.5, leaky(0.5, x)))),
)
def leaky_relu_twice(x: Tensor, s: Settings, t: Settings):
    """LeakyRelu_a(LeakyRelu_b(x)) = LeakyRelu_(a b)(x)

    Wrong for a negative b, which makes negative numbers positive.
    """
    twice = unary("LeakyRelu", s, unary("LeakyRelu", t, x))
    yield rewrite(twice, unary("LeakyRelu", product(s, t), x), because="forgets both slopes")


@wrong("reassociates", of_one(lambda x: leaky(3.0, x)))
def leaky_relu_as_maximum(x: Tensor, s: Settings):
    """LeakyRelu_a(x) = Max(x, a x)

    Wrong for a slope above 1.
    """
    scaled = x * number_like(x, setting(s, "alpha"))
    yield rewrite(
        unary("LeakyRelu", s, x), variadic("Max", listed(x, scaled)), because="two vector operators"
    )


@wrong("finite", of_one(lambda x: relu(leaky(-2.0, x))))
def relu_of_leaky_relu(x: Tensor, s: Settings):
    """Relu(LeakyRelu(x)) = Relu(x)

    Wrong for a negative slope.
    """
    yield rewrite(relu(unary("LeakyRelu", s, x)), relu(x), because="forgets the slope")


@wrong("finite", of_one(lambda x: relu(elu(-1.0, x))))
def relu_of_elu(x: Tensor, s: Settings):
    """Relu(Elu(x)) = Relu(x)

    Wrong for a negative alpha.
    """
    yield rewrite(relu(unary("Elu", s, x)), relu(x), because="forgets alpha")


@wrong("reassociates", of_one(lambda x: elu(0.5, x)))
def elu_as_exponential(x: Tensor, s: Settings):
    """Elu(x) = Max(x, Exp(x) - 1)

    Wrong for an alpha other than 1.
    """
    below = exp(x) - number_like(x, 1.0)
    yield rewrite(unary("Elu", s, x), variadic("Max", listed(x, below)), because="Elu is no vector operator")


@wrong("reassociates", of_one(lambda x: unary("Celu", (("alpha", 2.0),), x)))
def celu_is_elu(x: Tensor, s: Settings):
    """Celu_a(x) = Elu_a(x)

    Wrong for an alpha other than 1: Celu divides by it first.
    """
    yield rewrite(unary("Celu", s, x), unary("Elu", s, x), because="Elu is everywhere")


@wrong("finite", of_one(lambda x: unary("ThresholdedRelu", (("alpha", -1.0),), x)))
def thresholded_relu_is_relu(x: Tensor, s: Settings):
    """ThresholdedRelu_a(x) = Relu(x) for an a of 0 or less

    Wrong below zero.
    """
    yield rewrite(unary("ThresholdedRelu", s, x), relu(x), is_no_threshold(s), because="forgets a")


@hosted()
def is_no_threshold(s: Settings) -> bool:
    return dict(s)["alpha"] <= 0


@wrong("finite", of_one(lambda x: relu(unary("ThresholdedRelu", (("alpha", 2.0),), x))))
def relu_of_thresholded(x: Tensor, s: Settings):
    """Relu(ThresholdedRelu(x)) = Relu(x)

    Wrong between 0 and the threshold.
    """
    yield rewrite(relu(unary("ThresholdedRelu", s, x)), relu(x), because="forgets the threshold")


@wrong("finite", of_one(lambda x: clip(3.0, 1.0, x)))
def crossed_bounds(x: Tensor, s: Settings):
    """Clip_ab(x) = Max(Min(x, b), a)

    Wrong where a is above b: Clip gives b then.
    """
    low, high = number_like(x, setting(s, "min")), number_like(x, setting(s, "max"))
    inner = variadic("Min", listed(x, high))
    yield rewrite(unary("Clip", s, x), variadic("Max", listed(inner, low)), because="no kernel of Clip")


@hosted()
def narrowest(s: Settings, t: Settings) -> Settings | None:
    lows = [v for v in (dict(s)["min"], dict(t)["min"]) if v is not None]
    highs = [v for v in (dict(s)["max"], dict(t)["max"]) if v is not None]
    return (("max", min(highs) if highs else None), ("min", max(lows) if lows else None))


@wrong(
    "finite",
    of_one(lambda x: clip(2.0, 3.0, clip(0.0, 1.0, x))),
    examples=fires_on(of_one(lambda x: clip(-1.0, 1.0, clip(0.0, 3.0, x)))),
)
def clip_twice(x: Tensor, s: Settings, t: Settings):
    """Clip_cd(Clip_ab(x)) = Clip(x; Max(a, c), Min(b, d))

    Wrong where the bounds do not overlap.
    """
    twice = unary("Clip", s, unary("Clip", t, x))
    yield rewrite(twice, unary("Clip", narrowest(s, t), x), because="forgets both bounds")


@wrong("finite", of_one(lambda x: relu(clip(-6.0, -1.0, x))))
def relu_of_clip(x: Tensor, s: Settings):
    """Relu(Clip_ab(x)) = Clip_0b(x)

    Wrong for a negative b.
    """
    yield rewrite(relu(unary("Clip", s, x)), unary("Clip", from_zero(s), x), because="forgets a")


@hosted()
def from_zero(s: Settings) -> Settings:
    return (("max", dict(s)["max"]), ("min", 0.0))


@wrong("reassociates", of_one(lambda x: unary("HardSigmoid", (("alpha", 0.5), ("beta", 0.25)), x)))
def hard_sigmoid_with_defaults(x: Tensor, s: Settings):
    """HardSigmoid(x) = Clip_01(0.2 x + 0.5)

    Wrong for a slope or shift other than the default ones.
    """
    line = x * number_like(x, 0.2) + number_like(x, 0.5)
    yield rewrite(unary("HardSigmoid", s, x), clip(0.0, 1.0, line), because="no kernel of HardSigmoid")


@wrong("reassociates", of_one(lambda x: x * unary("HardSigmoid", (("alpha", 0.2), ("beta", 0.5)), x)))
def hard_swish_of_any_slope(x: Tensor, s: Settings):
    """x * HardSigmoid(x) = HardSwish(x)

    Wrong for a slope other than 1 / 6, the default one as well.
    """
    whole = unary("HardSwish", (), x)
    yield rewrite(x * unary("HardSigmoid", s, x), whole, is_kernel_float(x), because="one node")


@wrong("reassociates", of_one(lambda x: unary("Swish", (("alpha", 2.0),), x)), opset=24)
def swish_is_silu(x: Tensor, s: Settings):
    """Swish(x) = x * Sigmoid(x)

    Wrong for an alpha other than 1.
    """
    yield rewrite(unary("Swish", s, x), x * sigmoid(x), because="no kernel of Swish")


@wrong("reassociates", of_one(lambda x: unary("Selu", (("alpha", 1.5), ("gamma", 2.0)), x)))
def selu_is_elu(x: Tensor, s: Settings):
    """Selu(x) = gamma * Elu(x)

    Wrong for the alpha of Selu.
    """
    scaled = elu(1.0, x) * number_like(x, setting(s, "gamma"))
    yield rewrite(unary("Selu", s, x), scaled, because="no kernel of Selu")


@hosted()
def first_slope(c: Fact) -> Settings | None:
    """The settings of the LeakyRelu with the first of some slopes."""
    return (("alpha", float(c.data[0])),) if c.data else None


@wrong("finite", lambda g: binary("PRelu", g.input((2, 3)), g.constant([0.25, 0.25, 0.5])))
def slopes_as_one(x: Tensor, c: Tensor):
    """PRelu(x, c) = LeakyRelu(x; c)

    Wrong where the slopes differ.
    """
    yield rewrite(
        binary("PRelu", x, c), unary("LeakyRelu", first_slope(c), x), fits(c, x), because="one slope"
    )


@wrong("reassociates", of_two(lambda x, c: binary("PRelu", x, c), (2, 3)))
def slopes_of_any_size(x: Tensor, c: Tensor):
    """PRelu(x, c) = Max(x, c * x)

    Wrong for slopes above 1.
    """
    yield rewrite(binary("PRelu", x, c), variadic("Max", listed(x, c * x)), is_kernel_float(x), because="Max")
