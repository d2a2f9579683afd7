"""What is quantized alike is joined before: one kernel instead of several.

Concat(Q(x), Q(y), ..) -> Q(Concat(x, y, ..))       of the same scale

`movement` has the same of DQ, so that branches of a quantized network, each with its pair, keep one.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, laws_of, rewrite, rule, table
from egraph_opt.laws.sorts import Axis, DataType, Tensor, Tensors
from egraph_opt.operators import concat, none, quantize
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.values import dtype_of
from egraph_opt.rewrites.quantization.movement import scales_stay
from egraph_opt.rewrites.quantization.round_trips import parameters
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk

law = laws_of("quantization", numerics="bitwise", kind="move", serves="launches")


@table()
def quantized_from(
    xs: Tensors, axis: Axis, s: Tensor, z: Tensor, along: Axis, to: DataType, source: DataType
) -> Tensors:
    """What the elements of a list are quantized from, all with one scale, of one type, to one."""


@auxiliary(listing)
def quantizing(
    x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, s: Tensor, z: Tensor, a: Axis, b: Axis, t: DataType
):  # fmt: skip
    """Fills `quantized_from`."""
    d, first = dtype_of(x), quantize(x, s, z, b, t)
    last = (operands_of(xs, a), eq(xs, cons(first, nil())))
    yield rule(*last, then=assign(quantized_from(xs, a, s, z, b, t, d), cons(x, nil())))
    more = (operands_of(xs, a), eq(xs, cons(first, rest)), eq(ys, quantized_from(rest, a, s, z, b, t, d)))
    yield rule(*more, then=assign(quantized_from(xs, a, s, z, b, t, d), cons(x, ys)))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    (s, z), to = parameters(g), TensorProto.UINT8
    x, y, w = (g.input(("N", n, 4)) for n in (2, 3, 1))
    by_axis, parts = parameters(g, shape=(4,)), parameters(g, shape=(2,))
    yield from g.all_fire(
        concat(listed(*(quantize(v, s, z, 0, to) for v in (x, y, w, x))), 1),
        concat(listed(*(quantize(v, s, none(), 0, to) for v in (x, y))), 1),
        concat(listed(*(quantize(v, *by_axis, 2, to) for v in (x, y))), 1),
    )
    other, least = g.constant(np.array(0.25, np.float32)), g.constant(np.array(7, np.uint8))
    yield from g.near_misses(
        (concat(listed(quantize(x, s, z, 0, to), quantize(y, other, z, 0, to)), 1), "two scales"),
        (concat(listed(quantize(x, s, z, 0, to), quantize(y, s, least, 0, to)), 1), "two zero points"),
        (concat(listed(*[quantize(x, *parts, 1, to)] * 2), 1), "joined along the scales' axis"),
        (concat(listed(quantize(x, s, z, 0, to), g.input(("N", 3, 4), to)), 1), "one is not quantized"),
    )


@law(uses=(quantizing,), examples=_examples)
def concat_of_quantized(
    xs: Tensors, ys: Tensors, s: Tensor, z: Tensor, a: Axis, b: Axis, t: DataType, d: DataType
):  # fmt: skip
    """Concat(Q(x), Q(y), ..) = Q(Concat(x, y, ..)) of the same scale"""
    known = (guard(worth_a_walk(xs)), eq(ys, quantized_from(xs, a, s, z, b, t, d)), scales_stay(a, b, s))
    yield rewrite(concat(xs, a), quantize(concat(ys, a), s, z, b, t), *known, because="floats are joined")
