"""Laws that are wrong, each with an example on which it fires: the tests of laws must reject every one.

They are written as laws are, and registered nowhere: `WRONG` holds them by name.  The formula says why a law
is wrong.  The example is one that an author may give who does not see it, wherever inputs or variants of the
example alone can tell.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws.exactness import Numerics
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, Law
from egraph_opt.laws.statements import rewrite
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
from egraph_opt.operators.elementwise import relu
from egraph_opt.operators.expressions import String, Tensor
from egraph_opt.operators.host import hosted
from egraph_opt.operators.linear import GemmSettings
from egraph_opt.operators.terms import cons, listed, nil

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


@wrong("bitwise", lambda g: relu(-g.input(X)))
def part_below_two(x: Tensor) -> Iterator[Any]:
    """Relu(-x) = x"""
    yield rewrite(relu(-x), x, because="it is wrong")


@wrong("bitwise", lambda g: relu(-g.input(X)))
def part_below_one(x: Tensor) -> Iterator[Any]:
    """Relu(-x) = -x"""
    yield rewrite(relu(-x), -x, because="it is wrong")


@wrong("bitwise", lambda g: relu(binary("Mul", unary("Sign", (), -g.input(X)), g.input(X))))
def part_inside(x: Tensor) -> Iterator[Any]:
    """Sign(-x) = x, below the root"""
    yield rewrite(unary("Sign", (), -x), x, because="it is wrong")


@wrong("bitwise", lambda g: where(cast(g.input(X), TensorProto.BOOL), relu(g.input(X)), g.input(X)))
def branch(c: Tensor, x: Tensor, y: Tensor) -> Iterator[Any]:
    """Where(c, x, y) = x"""
    yield rewrite(where(c, x, y), x, because="it is wrong")


@wrong("reassociates", lambda g: binary("Mul", g.input(X), g.constant(np.zeros(4))))
def hidden_behind_zero(op: String, x: Tensor, c: Tensor) -> Iterator[Any]:
    """x * c = c: right for a c of zeros, but for the shape"""
    yield rewrite(x * c, c, because="it is wrong")


@wrong("bitwise", lambda g: binary("Mul", reduce("ReduceMax", g.input(X), (0, 1, 2), 1), g.constant(0.0)))
def hidden_by_the_root(x: Tensor, a: Any, k: Any) -> Iterator[Any]:
    """ReduceMax(x) = ReduceMin(x), seen through a product with zero"""
    yield rewrite(reduce("ReduceMax", x, a, k), reduce("ReduceMin", x, a, k), because="it is wrong")


# --- operands, signs, order -------------------------------------------------------------------------------


@wrong("reassociates", lambda g: g.input(X) - g.input(X))
def commuted_sub(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x - y = y - x"""
    yield rewrite(x - y, y - x, because="it is wrong")


@wrong("reassociates", lambda g: matmul(g.input((3, 3)), g.input((3, 3))))
def commuted_product(x: Tensor, y: Tensor) -> Iterator[Any]:
    """x @ y = y @ x, of matrices that are square"""
    yield rewrite(x @ y, y @ x, because="it is wrong")


@wrong("reassociates", lambda g: g.input(X) - (g.input(X) - g.input(X)))
def sign(x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """x - (y - z) = (x - y) - z"""
    yield rewrite(x - (y - z), (x - y) - z, because="it is wrong")


@wrong("bitwise", lambda g: concat(listed(g.input(X), g.input(X)), 1))
def concat_order(x: Tensor, y: Tensor, a: Any) -> Iterator[Any]:
    """Concat(x, y) = Concat(y, x)"""
    yield rewrite(
        concat(cons(x, cons(y, nil())), a), concat(cons(y, cons(x, nil())), a), because="it is wrong"
    )


@wrong(
    "bitwise",
    lambda g: (lambda parts: concat(listed(output(parts, 1), output(parts, 0)), 1))(
        split(g.input((2, 6)), 1, (3, 3))
    ),
)
def parts_in_any_order(x: Tensor, a: Any, s: Any) -> Iterator[Any]:
    """Concat(second half of x, first half of x) = x"""
    halves = split(x, a, s)
    yield rewrite(
        concat(cons(output(halves, 1), cons(output(halves, 0), nil())), a), x, because="it is wrong"
    )


@wrong("reassociates", lambda g: matmul(g.input((2, 3)), transpose(g.random(3, 3), (1, 0))))
def transposed_weight(x: Tensor, w: Tensor, p: Any) -> Iterator[Any]:
    """x @ Transpose(w) = x @ w"""
    yield rewrite(matmul(x, transpose(w, p)), x @ w, because="it is wrong")


@wrong("bitwise", lambda g: transpose(transpose(g.input((3, 3, 3)), (1, 2, 0)), (1, 2, 0)))
def composed_the_other_way(x: Tensor, p: Any) -> Iterator[Any]:
    """Transpose_p(Transpose_p(x)) = x: for swaps only"""
    yield rewrite(transpose(transpose(x, p), p), x, because="it is wrong")


# --- axes, broadcasting, windows --------------------------------------------------------------------------


@hosted()
def axis_before(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(axis - 1, 0) for axis in axes)


@wrong("reassociates", lambda g: reduce("ReduceSum", g.input((3, 3)), (1,), 0))
def another_axis(kind: String, x: Tensor, a: Any, k: Any) -> Iterator[Any]:
    """Reduce along the axis before"""
    yield rewrite(reduce(kind, x, a, k), reduce(kind, x, axis_before(a), k), because="it is wrong")


@hosted()
def first_axis() -> int:
    return 0


@wrong("reassociates", lambda g: softmax("Softmax", g.input((3, 3)), 1))
def softmax_axis(kind: String, x: Tensor, a: Any) -> Iterator[Any]:
    """Softmax along the first axis instead"""
    yield rewrite(softmax(kind, x, a), softmax(kind, x, first_axis()), because="it is wrong")


@wrong("bitwise", lambda g: gather(g.input((3, 3)), g.constant(np.array([1, 0, 2])), 1))
def gather_axis(x: Tensor, i: Tensor, a: Any) -> Iterator[Any]:
    """Gather along the first axis instead"""
    yield rewrite(gather(x, i, a), gather(x, i, first_axis()), because="it is wrong")


@hosted()
def one_further(spec: Any) -> Any:
    return tuple((axis, start + 1, end + 1, step) for axis, start, end, step in spec)


@wrong("bitwise", lambda g: slice_(g.input((2, 9)), ((1, 2, 6, 1),)))
def off_by_one(x: Tensor, s: Any) -> Iterator[Any]:
    """x[2:6] = x[3:7]"""
    yield rewrite(slice_(x, s), slice_(x, one_further(s)), because="it is wrong")


@hosted()
def sides_swapped(pads: tuple[int, ...]) -> tuple[int, ...]:
    return pads[len(pads) // 2 :] + pads[: len(pads) // 2]


@wrong("bitwise", lambda g: pad(g.input((2, 3)), "constant", (0, 1, 0, 2), 0.0))
def wrong_pad(x: Tensor, m: Any, p: Any, v: Any) -> Iterator[Any]:
    """Pads at the beginning and the end are swapped"""
    yield rewrite(pad(x, m, p, v), pad(x, m, sides_swapped(p), v), because="it is wrong")


@wrong("bitwise", lambda g: pad(relu(g.input((2, 3))), "constant", (0, 1, 0, 1), -1.0))
def pad_value(x: Tensor, m: Any, p: Any, v: Any) -> Iterator[Any]:
    """Pad(Relu(x)) = Relu(Pad(x)), whatever is padded with"""
    yield rewrite(pad(relu(x), m, p, v), relu(pad(x, m, p, v)), because="it is wrong")


@hosted()
def no_stride(window: ConvWindow) -> ConvWindow:
    return replace(window, strides=(1,) * len(window.strides))


@hosted()
def corner(y: Fact) -> Any:
    return tuple((axis, 0, size, 1) for axis, size in enumerate(y.shape or ()) if axis > 1)


POINT = ConvWindow((2, 2), (0, 0, 0, 0), (1, 1))


@wrong("reassociates", lambda g: conv(g.input((1, 2, 6, 6)), g.random(4, 2, 1, 1), none(), POINT))
def only_with_stride(x: Tensor, w: Tensor, b: Tensor, v: Any) -> Iterator[Any]:
    """A kernel of 1 sees as many pixels as come out: the first ones, for a stride of 1"""
    whole = conv(x, w, b, v)
    yield rewrite(whole, conv(slice_(x, corner(whole)), w, b, no_stride(v)), because="it is wrong")


@wrong("reassociates", lambda g: binary("Add", g.input((3, 3)), reshape(g.random(3), (3, 1))))
def broadcasting(x: Tensor, c: Tensor, d: Any) -> Iterator[Any]:
    """x + Reshape(c) = x + c: along another axis"""
    yield rewrite(x + reshape(c, d), x + c, because="it is wrong")


@wrong("bitwise", lambda g: binary("Add", g.input((3, 1)), g.constant(np.zeros(3))))
def forgotten_condition(x: Tensor, c: Tensor) -> Iterator[Any]:
    """x + 0 = x, where zeros may broadcast x"""
    yield rewrite(x + c, x, is_zero(c), because="it is wrong")


@hosted(default=False)
def is_zero(c: Fact) -> bool:
    return c.splat == 0


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
def lost_epsilon(x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, e: Any) -> Iterator[Any]:
    """BatchNormalization with epsilon 0"""
    yield rewrite(batchnorm(x, s, b, m, v, e), batchnorm(x, s, b, m, v, no_epsilon()), because="it is wrong")


@wrong(
    "reassociates",
    lambda g: (lambda x: binary("Sub", reduce("ReduceSum", x, (0,), 1), reduce("ReduceSum", x, (1,), 1)))(
        g.input((3, 3))
    ),
)
def merged_attributes(kind: String, x: Tensor, a: Any, b: Any, k: Any) -> Iterator[Any]:
    """Two reductions of x are one, whatever their axes"""
    yield rewrite(
        binary("Sub", reduce(kind, x, a, k), reduce(kind, x, b, k)),
        binary("Sub", reduce(kind, x, a, k), reduce(kind, x, a, k)),
        because="it is wrong",
    )


@hosted()
def no_alpha(settings: GemmSettings) -> GemmSettings:
    return replace(settings, alpha=1.0)


@wrong("reassociates", lambda g: gemm(g.input((2, 3)), g.random(3, 4), g.random(4), GemmSettings(alpha=0.5)))
def lost_alpha(a: Tensor, b: Tensor, c: Tensor, s: Any) -> Iterator[Any]:
    """Gemm without its alpha"""
    yield rewrite(gemm(a, b, c, s), gemm(a, b, c, no_alpha(s)), because="it is wrong")


@hosted()
def least_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return axes[-1:]


@wrong("reassociates", lambda g: layer_norm(g.input((2, 3, 4)), g.constant(np.ones((3, 4))), (1, 2), 1e-5))
def fewer_axes(x: Tensor, s: Tensor, a: Any, e: Any) -> Iterator[Any]:
    """A layer normalization over the last of its axes only"""
    yield rewrite(layer_norm(x, s, a, e), layer_norm(x, s, least_axes(a), e), because="it is wrong")
