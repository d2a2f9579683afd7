"""What happened to an image before it was flattened happens to the rows of the weight instead.

Reshape(Transpose(x), [.., K]) @ W -> Reshape(x, [.., K]) @ W'         where these axes move
Reshape(x op c, [.., K]) @ W -> (Reshape(x, [.., K]) op c') @ W        for +, * and a constant c

Keras flattens with channels last: a classifier that was converted has a Transpose in front.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Permutation, String, Tensor
from egraph_opt.operators import binary, expand, reshape, transpose
from egraph_opt.rewrites.conditions.chains import affine, chosen, of_weight, weights
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.conditions.combining import NEUTRAL

law = laws_of("matmul", numerics="reassociates", kind="move", serves="traffic")


class Rows(NamedTuple):
    """How the rows of a weight are put into the order of x.

    Attributes:
        left: the permutation of x that is left.
        apart: the dims of the weight with its rows apart.
        order: the permutation of these.
    """

    left: Permutation
    apart: Dims
    order: Permutation


def _flattened(x: Fact, dims: Dims) -> int | None:
    """How many axes of x, and more than one, the last one of its view is made of."""
    shape, size = x.shape or (), 1
    if not dims or len(dims) > len(shape):
        return None
    for count, dim in enumerate(reversed(shape), 1):
        if not isinstance(dim, int) or dim < 1:
            return None
        size *= dim
        rest = shape[: len(shape) - count]
        if (
            count > 1
            and size == dims[-1]
            and symbolic.known_equal(symbolic.product(rest), symbolic.product(dims[:-1]))
        ):
            return count
    return None


@hosted()
def rows_of(x: Fact, p: Permutation, turned: Fact, dims: Dims, w: Fact) -> Rows | None:
    """None where other axes are flattened with those that move, or none of these moves."""
    matrix, count = static_shape(w), _flattened(turned, dims)
    if matrix is None or len(matrix) != 2 or not is_float_constant(w) or count is None or x.shape is None:
        return None
    kept, last = p[: len(p) - count], p[len(p) - count :]
    sizes = [d for d in (x.shape[k] for k in last) if isinstance(d, int)]
    moved = [k for k in last if x.shape[k] != 1]
    if moved == sorted(moved) or len(sizes) != count or math.prod(sizes) != matrix[0]:
        return None
    return Rows((*kept, *sorted(last)), (*sizes, matrix[1]), (*np.argsort(last).tolist(), count))


def _order_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", 3, 4, 2)), g.random(24, 5)
    for image, order, dims, matrix in (
        (x, (0, 2, 3, 1), ("N", 24), w),
        (x, (0, 3, 2, 1), ("N", 24), w),
        (x, (0, 1, 3, 2), ("N", 3, 8), g.random(8, 5)),
        (g.input((2, 3, 4, 2)), (1, 0, 3, 2), (6, 8), g.random(8, 5)),
    ):
        yield g.fires(reshape(transpose(image, order), dims) @ matrix)
    yield from g.near_misses(
        (reshape(transpose(x, (0, 2, 1, 3)), ("N", 4, 6)) @ g.random(6, 5), "an axis is moved away"),
        (reshape(transpose(x, (1, 0, 2, 3)), (3, "N", 8)) @ g.random(8, 5), "these stay in order"),
        (reshape(transpose(x, (0, 2, 3, 1)), ("N", 24)) @ g.input((24, 5)), "the weight is no constant"),
    )


@law(source="tf2onnx; algebra", uses=(weights,), examples=_order_examples)
def order_into_rows(x: Tensor, p: Permutation, d: Dims, w: Tensor):
    """Reshape(Transpose(x), [.., K]) @ W = Reshape(x, [.., K]) @ W' where axes move that are flattened"""
    turned = transpose(x, p)
    how = rows_of(x, p, turned, d, w)
    rows = reshape(transpose(reshape(w, how[1]), how[2]), static_rows(w))
    flat, other = reshape(turned, d), reshape(transpose(x, how[0]), d) @ rows
    once = (guard(varies(x)), *of_weight(flat, w, 0))
    yield rewrite(flat @ w, other, *once, because="forgets the order")


@hosted()
def static_rows(w: Fact) -> Dims | None:
    return static_shape(w)


class Spread(NamedTuple):
    """The dims of a constant that is written out for all axes that are flattened, and flat."""

    whole: Dims
    flat: Dims


@hosted()
def spread(op: str, x: Fact, c: Fact, y: Fact, dims: Dims, w: Fact) -> Spread | None:
    """None where c differs along an axis that stays, or x is made bigger."""
    shape, count = static_shape(c), _flattened(y, dims)
    if op not in NEUTRAL or shape is None or not is_float_constant(c) or count is None or x.shape is None:
        return None
    if not is_float_constant(w) or len(x.shape) != len(y.shape or ()) or len(shape) > len(x.shape):
        return None
    kept = len(x.shape) - count
    if not all(map(symbolic.known_equal, x.shape, y.shape or ())) or math.prod(shape) == 1:
        return None
    full = (1,) * (len(x.shape) - len(shape)) + shape
    if any(d != 1 for d in full[:kept]):
        return None
    whole = tuple(d for d in x.shape[kept:] if isinstance(d, int))
    return Spread(whole, (math.prod(whole),))


@hosted()
def behind_rows(c: Fact, spread: Spread) -> Dims | None:
    """The dims of c without the axes that stay."""
    shape, axes = static_shape(c) or (), len(spread.whole)
    return ((1,) * axes + shape)[-axes:] if axes else None


def _constant_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, c = g.input(("N", 3, 4, 2)), g.random(24, 5), g.random(3, 1, 1)
    for op in ("Mul", "Add"):
        yield g.fires(reshape(binary(op, x, c), ("N", 24)) @ w)
    yield g.fires(reshape(x * g.random(1, 1, 4, 1), ("N", 3, 8)) @ g.random(8, 5))
    yield from g.near_misses(
        (reshape(x * c, ("N", 3, 8)) @ g.random(8, 5), "it varies along an axis that stays"),
        (reshape(x * g.random(), ("N", 24)) @ w, "one number is not written out"),
        (reshape(x * c, ("N", 24)) @ g.input((24, 5)), "nothing takes it in"),
        (reshape(g.input(("N", 3, 1, 2)) * g.random(3, 4, 1), ("N", 24)) @ w, "it makes x bigger"),
    )


@law(source="Ascend auto-optimizer, BNFolding", uses=(affine, weights), examples=_constant_examples)
def constant_of_rows(op: String, x: Tensor, c: Tensor, d: Dims, w: Tensor):
    """Reshape(x op c, [.., K]) @ W = (Reshape(x, [.., K]) op c') @ W for a constant that is flattened, too"""
    y = binary(op, x, c)
    how = spread(op, x, c, y, d, w)
    row = reshape(expand(reshape(c, behind_rows(c, how)), how[0]), how[1])
    flat, other = reshape(y, d), binary(op, reshape(x, d), row) @ w
    once = (*chosen(op, x, c), guard(varies(x)), *of_weight(flat, w, 0))
    yield rewrite(flat @ w, other, *once, because="forgets the axes")
