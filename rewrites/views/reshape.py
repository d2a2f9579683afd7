"""Views (Reshape, Squeeze, Unsqueeze, Flatten): composition, known targets, functions of one operand.

Reshape_b(Reshape_a(x)) -> Reshape_b(x)
Reshape to x's own dims -> x
Reshape to a computed target -> Reshape to the dims that it is known to give
f(Reshape(x)) = Reshape(f(x)), casts too
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import DataType, Dims, Flag, Settings, String, Tensor
from egraph_opt.operators import cast, reshape, reshape_to, shape_of, unary
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, same_dims

law = laws_of("reshape", numerics="bitwise")


@hosted()
def own_dims(x: Fact, dims: Dims) -> bool:
    return same_dims(x.shape, dims)


@law(kind="merge", source="onnxoptimizer fuse_consecutive_reshapes, fuse_consecutive_squeezes")
def compose_reshapes(x: Tensor, a: Dims, b: Dims):
    """Reshape_b(Reshape_a(x)) = Reshape_b(x), or x where these are its dims"""
    both = reshape(reshape(x, a), b)
    yield rewrite(both, reshape(x, b), guard(changes_dims(x, b)), because="forgets a")
    yield rewrite(both, x, own_dims(x, b), because="forgets a")


@law(kind="eliminate", source="onnxoptimizer eliminate_nop_reshape")
def drop_own_dims(x: Tensor, dims: Dims):
    """Reshape_dims(x: dims) = x"""
    yield rewrite(reshape(x, dims), x, own_dims(x, dims), because="every x is a Reshape of itself")


@hosted()
def known_target(x: Fact, z: Fact) -> Dims | None:
    """The dims of a reshape's result, where those of its operand are known as well."""
    return z.shape if x.is_symbolic and z.is_symbolic else None


def _targets(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (
        (("N", "L", 12), ("N", "L", 3, 4)),
        (("N", "L", 12), ("N", 4, "L", 3)),
        ((6, "L"), ("L", 3, 2)),
    ):
        g = Operands(rng)
        yield g.fires(reshape_to(g.input(shape), shape_of(g.input(dims), 0, len(dims)), 0))
    g = Operands(rng)
    target = g.input((2,), TensorProto.INT64)
    yield g.near_miss(reshape_to(g.input((6, "L")), target, 0), why="nothing is known of the target")
    x, y = g.input((None, 12)), g.input(("L", 4, 3))
    yield g.near_miss(reshape_to(x, shape_of(y, 0, 3), 0), why="the operand's dims are not known")


@law(source="Ascend auto-optimizer, DynamicReshape", examples=_targets)
def know_the_target(x: Tensor, t: Tensor, a: Flag):
    """Reshape(x, target) = Reshape_dims(x) where the dims of the result are known

    It can be written where at most one of them is neither a number nor a copy of x's dim at the same place.
    """
    z = reshape_to(x, t, a)
    yield rewrite(z, reshape(x, known_target(x, z)), because="forgets how the target is computed")


@law(kind="move", source="TASO")
def through_unary(x: Tensor, op: String, s: Settings, dims: Dims):
    """f(Reshape(x)) = Reshape(f(x))"""
    demand = guard(changes_dims(x, dims))
    yield equal(unary(op, s, reshape(x, dims)), reshape(unary(op, s, x), dims), demand)


@law(kind="move", source="TASO")
def through_cast(x: Tensor, to: DataType, dims: Dims):
    """Cast(Reshape(x)) = Reshape(Cast(x))"""
    demand = guard(changes_dims(x, dims))
    yield equal(cast(reshape(x, dims), to), reshape(cast(x, to), dims), demand)
