"""Auxiliary tables whose keys forget something."""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Float,
    Settings,
    Tensor,
    assign,
    auxiliary,
    eq,
    exp,
    hosted,
    number_like,
    relu,
    rewrite,
    rule,
    sqrt,
    table,
)
from egraph_opt.operators import binary, reduce, softmax, unary, where
from egraph_opt.rewrites.conditions.values import all_are, fits, is_float

from . import fires_on, wrong

LOST = "forgets how it was spelled"


def elu(x, alpha: float):
    return unary("Elu", (("alpha", alpha),), x)


# --- keys that forget something ----------------------------------------------------------------------------


@table(merge="first")
def elu_of(x: Tensor) -> Tensor:
    """Elu(x), where it is there."""


@auxiliary()
def elus(x: Tensor, y: Tensor, s: Settings):
    """Fills `elu_of`."""
    yield rule(eq(y, unary("Elu", s, x)), then=assign(elu_of(x), y))


def chosen_elu(x, zero, alpha: float):
    return where(binary("Greater", x, zero), x, elu(x, alpha))


def _two_elus(g):
    x, zero = g.input((3, 4)), g.constant(0.0)
    return chosen_elu(x, zero, 1.0) * chosen_elu(x, zero, 0.5)


@wrong(
    "finite",
    _two_elus,
    uses=(elus,),
    examples=fires_on(lambda g: chosen_elu(g.input((3, 4)), g.constant(0.0), 0.5)),
)
def elu_is_the_choice(x: Tensor, c: Tensor, s: Settings, e: Tensor):
    """Where(x > 0, x, Elu(x)) = Elu(x)

    Wrong where there are two of x, with two alphas: the table has one.
    """
    choice = where(binary("Greater", x, c), x, unary("Elu", s, x))
    yield rewrite(choice, e, all_are(c, 0), fits(c, x), eq(e, elu_of(x)), because=LOST)


@table(merge="first")
def softmax_of(x: Tensor) -> Tensor:
    """Softmax(x), where it is there."""


@auxiliary()
def softmaxes(x: Tensor, y: Tensor, a: Axis):
    """Fills `softmax_of`."""
    yield rule(eq(y, softmax("Softmax", x, a)), then=assign(softmax_of(x), y))


def _two_axes(g):
    x = g.input((3, 3))
    return exp(softmax("LogSoftmax", x, 0)) + exp(softmax("LogSoftmax", x, 1)) * softmax("Softmax", x, 0)


def _one_axis(g):
    x = g.input((3, 4))
    return exp(softmax("LogSoftmax", x, 1)) + softmax("Softmax", x, 1)


@wrong("reassociates", _two_axes, uses=(softmaxes,), examples=fires_on(_one_axis))
def exponential_of_log_softmax(x: Tensor, y: Tensor, a: Axis):
    """Exp(LogSoftmax(x)) = Softmax(x), which is there

    Wrong where that is along another axis.
    """
    yield rewrite(exp(softmax("LogSoftmax", x, a)), y, eq(y, softmax_of(x)), because=LOST)


@hosted(default=0.0)
def greater(old: Float, new: Float) -> Float:
    return max(old, new)


@table(merge=greater)
def scaled_by(x: Tensor) -> Float:
    """The c of y = x * c."""


@hosted()
def number_of(c: Fact, x: Fact) -> Float | None:
    known = c.splat is not None and c.rank == 0 and x.dtype in (1, 11)
    return float(c.splat) if known else None  # type: ignore[arg-type]


@auxiliary()
def scales(x: Tensor, c: Tensor):
    """Fills `scaled_by`."""
    yield rule(x * c, then=assign(scaled_by(x), number_of(c, x)))


def _two_scales(g):
    x = g.input((3, 4))
    return (x * g.constant(0.5) + x) - (x * g.constant(2.0))


def _one_scale(g):
    x = g.input((3, 4))
    return x * g.constant(0.5) + x


@hosted()
def and_one(c: float) -> Float:
    return c + 1


@wrong("reassociates", _two_scales, uses=(scales,), examples=fires_on(_one_scale))
def factor_and_one_more(x: Tensor, c: Tensor, s: Float):
    """x * c + x = x * (c + 1)

    Wrong where x is scaled by a greater number as well: the table knows what it is scaled by, not in what.
    """
    whole = x * number_like(x, and_one(s))
    yield rewrite(x * c + x, whole, eq(s, scaled_by(x)), number_of(c, x), because=LOST)


# --- keys of tables, where the value is the pattern's own in a small term -----------------------------------


@table(merge="first")
def clipped(x: Tensor) -> Tensor:
    """Clip(x), where it is there."""


@auxiliary()
def clips(x: Tensor, y: Tensor, s: Settings):
    """Fills `clipped`."""
    yield rule(eq(y, unary("Clip", s, x)), then=assign(clipped(x), y))


def clip(x, low, high):
    return unary("Clip", (("max", high), ("min", low)), x)


def _two_clips(g):
    x = g.input((3, 4))
    return clip(clip(x, -1.0, 1.0), -1.0, 1.0) * clip(clip(x, 0.0, 6.0), 0.0, 6.0)


@wrong(
    "finite",
    _two_clips,
    uses=(clips,),
    examples=fires_on(lambda g: clip(clip(g.input((3, 4)), 0.0, 6.0), 0.0, 6.0)),
)
def clipped_once(x: Tensor, y: Tensor, s: Settings):
    """Clip(Clip(x)) = Clip(x) of the same bounds

    Wrong where x has two, of other bounds.
    """
    yield rewrite(
        unary("Clip", s, unary("Clip", s, x)), y, eq(y, clipped(x)), is_float(x), because="forgets one"
    )


@table(merge="first")
def constant_of(dims: Dims) -> Tensor:
    """A constant of one number with these dims."""


@hosted()
def dims_of(c: Fact) -> Dims | None:
    known = c.const and c.splat is not None and c.dtype == T.FLOAT and c.shape is not None
    return c.shape if known else None


@auxiliary()
def constants(x: Tensor, c: Tensor):
    """Fills `constant_of`."""
    yield rule(x * c, then=assign(constant_of(dims_of(c)), c))


def _two_constants(g):
    x = g.input((3, 4))
    return relu(relu(x * g.constant(2.0))) - relu(relu(x * g.constant(3.0)))


@wrong(
    "finite",
    _two_constants,
    uses=(constants,),
    examples=fires_on(lambda g: relu(relu(g.input((3, 4)) * g.constant(2.0)))),
)
def constants_are_shared(x: Tensor, c: Tensor, d: Tensor):
    """Relu(Relu(x * c)) = Relu(x * c), with the constant of these dims that is there

    Wrong of two constants.
    """
    yield rewrite(relu(relu(x * c)), relu(x * d), eq(d, constant_of(dims_of(c))), because="forgets Relu")


@table(merge="first")
def epsilon_along(axes: Axes) -> Float:
    """What is added to a variance over these axes."""


@hosted()
def number_in(c: Fact) -> Float | None:
    return float(c.splat) if c.splat is not None and c.rank == 0 and c.dtype == T.FLOAT else None


@auxiliary()
def epsilons(x: Tensor, c: Tensor, a: Axes):
    """Fills `epsilon_along`."""
    yield rule(sqrt(reduce("ReduceMean", x, a, 1) + c), then=assign(epsilon_along(a), number_in(c)))


def _root(x, epsilon, g):
    return relu(sqrt(reduce("ReduceMean", x, (1,), 1) + g.constant(epsilon)))


def _two_roots(g):
    return _root(g.input((3, 4)), 1.0, g) * _root(g.input((3, 4)), 0.25, g)


@wrong(
    "reassociates",
    _two_roots,
    values=(0.5, 1.5, 0.25, 3.0),
    uses=(epsilons,),
    examples=fires_on(lambda g: _root(g.input((3, 4)), 1.0, g)),
)
def root_with_known_epsilon(x: Tensor, c: Tensor, a: Axes, e: Float):
    """Relu(Sqrt(ReduceMean(x) + e)) = Sqrt(ReduceMean(x) + e), with the e that is added along these axes

    Wrong where there are two of them in a model.
    """
    mean, known = reduce("ReduceMean", x, a, 1), (eq(e, epsilon_along(a)), number_in(c))
    yield rewrite(relu(sqrt(mean + c)), sqrt(mean + number_like(x, e)), *known, because="forgets Relu")
