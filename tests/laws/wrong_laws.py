"""Laws that are wrong, each with an example on which it fires: the tests of laws must reject every one.

They are written as laws are, and registered nowhere: `WRONG` holds them by name.  The formula says why a law
is wrong.  The example is one that an author may give who does not see it, wherever inputs or variants of the
example alone can tell.
"""

# What is matched and written are the parameters; egglog's expressions have no types that say more.
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from egglog import PyObject, String, eq
from onnx import TensorProto

from egraph_opt.host import hosted
from egraph_opt.law import Equal, Example, Law, Numerics, holds, let, rewrite, rule
from egraph_opt.law_testing import INT64, Operands, listed
from egraph_opt.operators import (
    ConvWindow,
    batchnorm,
    binary,
    cast,
    concat,
    conv,
    gather,
    gemm,
    layer_norm,
    literal,
    matmul,
    none,
    output,
    pad,
    reduce,
    reshape,
    slice_,
    softmax,
    split,
    transpose,
    unary,
    where,
)
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.linear import GemmSettings
from egraph_opt.terms import Tensor, cons, fact, nil
from egraph_opt.types import Fact

WRONG: dict[str, Law] = {}

X = (2, 3, 4)
Build = Callable[[Operands], Any]


def wrong(numerics: Numerics, *builds: Build) -> Callable[[Callable[..., Any]], None]:
    """Note a wrong law, which fires on the terms that `builds` make."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for build in builds:
            g = Operands(rng)
            yield g.fires(build(g))

    def note(function: Callable[..., Any]) -> None:
        name = function.__name__
        formula = (function.__doc__ or "").strip()
        WRONG[name] = Law("wrong", name, formula, "none", numerics, function, examples)

    return note


# --- the right side is a part of the left -----------------------------------------------------------------


@wrong("bitwise", lambda g: relu(unary("Neg", (), g.input(X))))
def part_below_two(x: Tensor) -> Iterator[Any]:
    """Relu(-x) = x"""
    yield rewrite(relu(unary("Neg", (), x)), x)


@wrong("bitwise", lambda g: relu(unary("Neg", (), g.input(X))))
def part_below_one(x: Tensor) -> Iterator[Any]:
    """Relu(-x) = -x"""
    yield rewrite(relu(unary("Neg", (), x)), unary("Neg", (), x))


@wrong("bitwise", lambda g: relu(binary("Mul", unary("Sign", (), unary("Neg", (), g.input(X))), g.input(X))))
def part_inside(x: Tensor) -> Iterator[Any]:
    """Sign(-x) = x, below the root"""
    yield rewrite(unary("Sign", (), unary("Neg", (), x)), x)


@wrong("bitwise", lambda g: where(cast(g.input(X), TensorProto.BOOL), relu(g.input(X)), g.input(X)))
def branch(c: Tensor, x: Tensor, y: Tensor) -> Iterator[Any]:
    """Where(c, x, y) = x"""
    yield rewrite(where(c, x, y), x)


@wrong("reassociates", lambda g: binary("Mul", g.input(X), g.constant(np.zeros(4))))
def hidden_behind_zero(op: String, x: Tensor, c: Tensor) -> Iterator[Any]:
    """x * c = c: right for a c of zeros, but for the shape"""
    yield rewrite(binary("Mul", x, c), c)


@wrong("bitwise", lambda g: binary("Mul", reduce("ReduceMax", g.input(X), (0, 1, 2), 1), g.constant(0.0)))
def hidden_by_the_root(x: Tensor, a: PyObject, k: PyObject) -> Iterator[Any]:
    """ReduceMax(x) = ReduceMin(x), seen through a product with zero"""
    yield rewrite(reduce("ReduceMax", x, a, k), reduce("ReduceMin", x, a, k))


# --- operands, signs, order -------------------------------------------------------------------------------


@wrong("reassociates", lambda g: binary("Sub", g.input(X), g.input(X)))
def commuted_sub(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x - y = y - x"""
    yield rewrite(binary("Sub", x, y), binary("Sub", y, x))


@wrong("reassociates", lambda g: matmul(g.input((3, 3)), g.input((3, 3))))
def commuted_product(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x @ y = y @ x, of matrices that are square"""
    yield rewrite(matmul(x, y), matmul(y, x))


@wrong("reassociates", lambda g: binary("Sub", g.input(X), binary("Sub", g.input(X), g.input(X))))
def sign(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """x - (y - z) = (x - y) - z"""
    yield rewrite(binary("Sub", x, binary("Sub", y, z)), binary("Sub", binary("Sub", x, y), z))


@wrong("bitwise", lambda g: concat(listed(g.input(X), g.input(X)), 1))
def concat_order(x: Tensor, y: Tensor, a: PyObject) -> Iterator[Any]:
    """Concat(x, y) = Concat(y, x)"""
    yield rewrite(
        concat(cons(x, cons(y, nil())), a),
        concat(cons(y, cons(x, nil())), a),
    )


@wrong(
    "bitwise",
    lambda g: (lambda parts: concat(listed(output(parts, 1), output(parts, 0)), 1))(
        split(g.input((2, 6)), 1, (3, 3))
    ),
)
def parts_in_any_order(x: Tensor, a: PyObject, s: PyObject) -> Iterator[Any]:
    """Concat(second half of x, first half of x) = x"""
    halves = split(x, a, s)
    yield rewrite(concat(cons(output(halves, 1), cons(output(halves, 0), nil())), a), x)


@wrong("reassociates", lambda g: matmul(g.input((2, 3)), transpose(g.random(3, 3), (1, 0))))
def transposed_weight(x: Tensor, w: Tensor, p: PyObject) -> Iterator[Any]:
    """x @ Transpose(w) = x @ w"""
    yield rewrite(matmul(x, transpose(w, p)), matmul(x, w))


@wrong("bitwise", lambda g: transpose(transpose(g.input((3, 3, 3)), (1, 2, 0)), (1, 2, 0)))
def composed_the_other_way(x: Tensor, p: PyObject) -> Iterator[Any]:
    """Transpose_p(Transpose_p(x)) = x: for swaps only"""
    yield rewrite(transpose(transpose(x, p), p), x)


# --- axes, broadcasting, windows --------------------------------------------------------------------------


@hosted()
def axis_before(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(axis - 1, 0) for axis in axes)


@wrong("reassociates", lambda g: reduce("ReduceSum", g.input((3, 3)), (1,), 0))
def another_axis(kind: String, x: Tensor, a: PyObject, k: PyObject, b: PyObject) -> Iterator[Any]:
    """Reduce along the axis before"""
    yield rewrite(reduce(kind, x, a, k), reduce(kind, x, b, k), let(b, axis_before, a))


@hosted()
def first_axis() -> int:
    return 0


@wrong("reassociates", lambda g: softmax("Softmax", g.input((3, 3)), 1))
def softmax_axis(kind: String, x: Tensor, a: PyObject, b: PyObject) -> Iterator[Any]:
    """Softmax along the first axis instead"""
    yield rewrite(softmax(kind, x, a), softmax(kind, x, b), let(b, first_axis))


@wrong("bitwise", lambda g: gather(g.input((3, 3)), g.constant(np.array([1, 0, 2])), 1))
def gather_axis(x: Tensor, i: Tensor, a: PyObject, b: PyObject) -> Iterator[Any]:
    """Gather along the first axis instead"""
    yield rewrite(gather(x, i, a), gather(x, i, b), let(b, first_axis))


@hosted()
def one_further(spec: Any) -> Any:
    return tuple((axis, start + 1, end + 1, step) for axis, start, end, step in spec)


@wrong("bitwise", lambda g: slice_(g.input((2, 9)), ((1, 2, 6, 1),)))
def off_by_one(x: Tensor, s: PyObject, t: PyObject) -> Iterator[Any]:
    """x[2:6] = x[3:7]"""
    yield rewrite(slice_(x, s), slice_(x, t), let(t, one_further, s))


@hosted()
def sides_swapped(pads: tuple[int, ...]) -> tuple[int, ...]:
    return pads[len(pads) // 2 :] + pads[: len(pads) // 2]


@wrong("bitwise", lambda g: pad(g.input((2, 3)), "constant", (0, 1, 0, 2), 0.0))
def wrong_pad(x: Tensor, m: PyObject, p: PyObject, q: PyObject, v: PyObject) -> Iterator[Any]:
    """Pads at the beginning and the end are swapped"""
    yield rewrite(pad(x, m, p, v), pad(x, m, q, v), let(q, sides_swapped, p))


@wrong("bitwise", lambda g: pad(relu(g.input((2, 3))), "constant", (0, 1, 0, 1), -1.0))
def pad_value(x: Tensor, m: PyObject, p: PyObject, v: PyObject) -> Iterator[Any]:
    """Pad(Relu(x)) = Relu(Pad(x)), whatever is padded with"""
    yield rewrite(pad(relu(x), m, p, v), relu(pad(x, m, p, v)))


@hosted()
def no_stride(window: ConvWindow) -> ConvWindow:
    return replace(window, strides=(1,) * len(window.strides))


@hosted()
def corner(y: Fact) -> Any:
    return tuple((axis, 0, size, 1) for axis, size in enumerate(y.shape or ()) if axis > 1)


POINT = ConvWindow((2, 2), (0, 0, 0, 0), (1, 1))


@wrong("reassociates", lambda g: conv(g.input((1, 2, 6, 6)), g.random(4, 2, 1, 1), none(), POINT))
def only_with_stride(x: Tensor, w: Tensor, b: Tensor, v: PyObject, u: PyObject, s: PyObject) -> Iterator[Any]:
    """A kernel of 1 sees as many pixels as come out: the first ones, for a stride of 1"""
    whole = conv(x, w, b, v)
    yield rewrite(whole, conv(slice_(x, s), w, b, u), let(u, no_stride, v), let(s, corner, fact(whole)))


@wrong("reassociates", lambda g: binary("Add", g.input((3, 3)), reshape(g.random(3), (3, 1))))
def broadcasting(x: Tensor, c: Tensor, d: PyObject) -> Iterator[Any]:
    """x + Reshape(c) = x + c: along another axis"""
    yield rewrite(binary("Add", x, reshape(c, d)), binary("Add", x, c))


@wrong("bitwise", lambda g: binary("Add", g.input((3, 1)), g.constant(np.zeros(3))))
def forgotten_condition(x: Tensor, c: Tensor) -> Iterator[Any]:
    """x + 0 = x, where zeros may broadcast x"""
    yield rewrite(binary("Add", x, c), x, holds(is_zero, fact(c)))


@hosted(default=False)
def is_zero(c: Fact) -> bool:
    return c.splat == 0


@hosted(default=False)
def of_rank(n: int, x: Fact) -> bool:
    return x.rank == n


@hosted(default=False)
def below_rank(n: int, x: Fact) -> bool:
    return x.rank is not None and x.rank < n


# --- attributes -------------------------------------------------------------------------------------------


@hosted()
def no_epsilon() -> float:
    return 0.0


@wrong(
    "reassociates",
    lambda g: batchnorm(
        g.input((2, 3, 4)), *(g.constant(np.full(3, v)) for v in (1.0, 0.5, 0.0, 0.01)), 1e-2
    ),
)
def lost_epsilon(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: PyObject, z: PyObject
) -> Iterator[Any]:
    """BatchNormalization with epsilon 0"""
    yield rewrite(batchnorm(x, s, b, m, v, e), batchnorm(x, s, b, m, v, z), let(z, no_epsilon))


@wrong(
    "reassociates",
    lambda g: (lambda x: binary("Sub", reduce("ReduceSum", x, (0,), 1), reduce("ReduceSum", x, (1,), 1)))(
        g.input((3, 3))
    ),
)
def merged_attributes(kind: String, x: Tensor, a: PyObject, b: PyObject, k: PyObject) -> Iterator[Any]:
    """Two reductions of x are one, whatever their axes"""
    yield rewrite(
        binary("Sub", reduce(kind, x, a, k), reduce(kind, x, b, k)),
        binary("Sub", reduce(kind, x, a, k), reduce(kind, x, a, k)),
    )


@hosted()
def no_alpha(settings: GemmSettings) -> GemmSettings:
    return replace(settings, alpha=1.0)


@wrong("reassociates", lambda g: gemm(g.input((2, 3)), g.random(3, 4), g.random(4), GemmSettings(alpha=0.5)))
def lost_alpha(a: Tensor, b: Tensor, c: Tensor, s: PyObject, t: PyObject) -> Iterator[Any]:
    """Gemm without its alpha"""
    yield rewrite(gemm(a, b, c, s), gemm(a, b, c, t), let(t, no_alpha, s))


@hosted()
def least_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return axes[-1:]


@wrong("reassociates", lambda g: layer_norm(g.input((2, 3, 4)), g.constant(np.ones((3, 4))), (1, 2), 1e-5))
def fewer_axes(x: Tensor, s: Tensor, a: PyObject, b: PyObject, e: PyObject) -> Iterator[Any]:
    """A layer normalization over the last of its axes only"""
    yield rewrite(layer_norm(x, s, a, e), layer_norm(x, s, b, e), let(b, least_axes, a))


# --- wrong for some elements, types or sizes only ---------------------------------------------------------


@wrong("bitwise", lambda g: binary("Sub", *[g.input(X)] * 2))
def only_for_nan(x: Tensor, z: PyObject) -> Iterator[Any]:
    """x - x = 0: not for NaN and infinity"""
    yield rewrite(binary("Sub", x, x), literal(z), let(z, zeros_like, fact(x)))


@hosted()
def zeros_like(x: Fact) -> Literal | None:
    if not x.is_static or x.dtype != TensorProto.FLOAT:
        return None
    return Literal(x.dtype, x.shape, (0.0,) * int(np.prod(x.shape)))  # type: ignore[arg-type]


@wrong("bitwise", lambda g: binary("Mul", g.input(X), unary("Reciprocal", (), unary("Exp", (), g.input(X)))))
def only_for_infinity(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x * (1 / Exp(y)) = x * Exp(-y), claimed for every bit"""
    yield rewrite(
        binary("Mul", x, unary("Reciprocal", (), unary("Exp", (), y))),
        binary("Mul", x, unary("Exp", (), unary("Neg", (), y))),
    )


@wrong("bitwise", lambda g: binary("Mul", g.input(X), g.input(X)))
def only_for_negatives(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x * y = x * |y|: wrong below zero"""
    yield rewrite(binary("Mul", x, y), binary("Mul", x, unary("Abs", (), y)))


@wrong("reassociates", lambda g: binary("Div", *[g.input(X)] * 2))
def only_for_zero(x: Tensor, c: PyObject) -> Iterator[Any]:
    """x / x = 1: not for zero"""
    yield rewrite(binary("Div", x, x), literal(c), let(c, ones_like, fact(x)))


@hosted()
def ones_like(x: Fact) -> Literal | None:
    if not x.is_static or x.dtype != TensorProto.FLOAT:
        return None
    return Literal(x.dtype, x.shape, (1.0,) * int(np.prod(x.shape)))  # type: ignore[arg-type]


@wrong("bitwise", lambda g: cast(cast(g.input(X), TensorProto.INT64), TensorProto.FLOAT))
def dropped_cast(x: Tensor, t: PyObject, u: PyObject) -> Iterator[Any]:
    """Cast to integers and back is nothing"""
    yield rewrite(cast(cast(x, t), u), x)


@wrong("reassociates", lambda g: binary("Mul", binary("Div", g.input(X), g.input(X)), g.input(X)))
def only_for_integers(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """(x / y) * z = (x * z) / y: not for integers, which are cut off"""
    yield rewrite(binary("Mul", binary("Div", x, y), z), binary("Div", binary("Mul", x, z), y))


@wrong("bitwise", lambda g: cast(cast(g.input(X), TensorProto.FLOAT), TensorProto.DOUBLE))
def only_for_double(x: Tensor, t: PyObject, u: PyObject) -> Iterator[Any]:
    """Cast_u(Cast_t(x)) = Cast_u(x): not where t is narrower than what x has"""
    yield rewrite(cast(cast(x, t), u), cast(x, u), holds(is_wide, fact(x)))
    yield rewrite(cast(cast(x, t), u), cast(x, u), holds(is_float, fact(x)))


@hosted(default=False)
def is_wide(x: Fact) -> bool:
    return x.dtype == TensorProto.DOUBLE


@hosted(default=False)
def is_float(x: Fact) -> bool:
    return x.dtype == TensorProto.FLOAT


@wrong("bitwise", lambda g: unary("Abs", (), g.input(X)))
def only_for_half(x: Tensor) -> Iterator[Any]:
    """|x| = |-x|, and in half precision |x| = Relu(x)"""
    yield rewrite(unary("Abs", (), x), unary("Abs", (), unary("Neg", (), x)))
    yield rewrite(unary("Abs", (), x), relu(x), holds(is_half, fact(x)))


@hosted(default=False)
def is_half(x: Fact) -> bool:
    return x.dtype == TensorProto.FLOAT16


@wrong("bitwise", lambda g: cast(cast(g.input(X, TensorProto.INT64), TensorProto.BOOL), TensorProto.INT64))
def only_for_more_than_a_bit(x: Tensor, t: PyObject, u: PyObject) -> Iterator[Any]:
    """Integers through booleans: right for 0 and 1"""
    yield rewrite(cast(cast(x, t), u), x, holds(is_integer, fact(x)))


@hosted(default=False)
def is_integer(x: Fact) -> bool:
    return x.dtype == INT64


@wrong("reassociates", lambda g: reduce("ReduceSum", softmax("Softmax", g.input(("N", 3)), 0), (0,), 0))
def only_for_zero_size(x: Tensor, axis: PyObject, a: PyObject, k: PyObject, one: PyObject) -> Iterator[Any]:
    """The sum of a Softmax is 1: that of nothing is 0"""
    whole = reduce("ReduceSum", softmax("Softmax", x, axis), a, k)
    yield rewrite(whole, literal(one), let(one, ones_like, fact(whole)))


@wrong("bitwise", lambda g: relu(g.input((3, 4))))
def only_for_empty(x: Tensor, d: PyObject) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and Transpose(Relu(x)) for an empty x"""
    yield rewrite(relu(x), relu(unary("Neg", (), unary("Neg", (), x))))
    yield rewrite(relu(x), transpose(relu(x), d), let(d, swap_if_empty, fact(x)))


@hosted()
def swap_if_empty(x: Fact) -> tuple[int, ...] | None:
    return (1, 0) if x.rank == 2 and 0 in (x.shape or ()) and x.shape != (0, 0) else None


@wrong("bitwise", lambda g: relu(g.input((3, 4))))
def only_for_a_symbol(x: Tensor, d: PyObject) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and its first rows where their number is a symbol"""
    yield rewrite(relu(x), relu(unary("Neg", (), unary("Neg", (), x))))
    yield rewrite(relu(x), slice_(relu(x), d), let(d, first_rows, fact(x)))


@hosted()
def first_rows(x: Fact) -> Any:
    dynamic = x.rank == 2 and isinstance((x.shape or (0,))[0], str)
    return ((0, 0, 2, 1),) if dynamic else None


@wrong("bitwise", lambda g: relu(g.input(X)))
def only_for_rank_one(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and |x| where the rank is 1"""
    yield rewrite(relu(x), relu(unary("Neg", (), unary("Neg", (), x))))
    yield rewrite(relu(x), unary("Abs", (), x), holds(of_rank, 1, fact(x)))


@wrong("bitwise", lambda g: relu(g.input(X)))
def only_for_scalars(x: Tensor) -> Iterator[Any]:
    """Relu(x) = Relu(-(-x)), and |x| for a scalar"""
    yield rewrite(relu(x), relu(unary("Neg", (), unary("Neg", (), x))))
    yield rewrite(relu(x), unary("Abs", (), x), holds(below_rank, 1, fact(x)))


@wrong("bitwise", lambda g: concat(listed(relu(g.input(X)), unary("Neg", (), g.input(X))), 0))
def only_inside_a_list(x: Tensor, y: Tensor, a: PyObject) -> Iterator[Any]:
    """A rule that makes operands of a Concat one"""
    yield rule(
        eq(concat(cons(relu(x), cons(y, nil())), a)).to(concat(cons(relu(x), cons(y, nil())), a)),
        then=Equal(relu(x), y),
    )
