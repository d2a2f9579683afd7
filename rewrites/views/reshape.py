"""Views (Reshape, Squeeze, Unsqueeze, Flatten): composition, known targets, functions of one operand.

Reshape_b(Reshape_a(x)) -> Reshape_b(x)
Reshape to x's own dims -> x
Reshape to a computed target -> Reshape to the dims that it is known to give
f(Reshape(x)) = Reshape(f(x)), casts too, and Softmax along a last axis that the view keeps
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, laws_of, opset, rewrite
from egraph_opt.laws.sorts import Axis, DataType, Dims, Flag, Settings, String, Tensor
from egraph_opt.operators import cast, reshape, reshape_to, shape_of, softmax, unary
from egraph_opt.operators.views import by_way_of, has_flatten
from egraph_opt.rewrites.conditions.float_types import in_8_bits, is_viewed
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, known_dims, same_dims

law = laws_of("reshape", numerics="bitwise")


@hosted()
def own_dims(x: Fact, dims: Dims) -> bool:
    return same_dims(x.shape, dims)


@law(kind="merge", source="onnxoptimizer fuse_consecutive_reshapes, fuse_consecutive_squeezes")
def compose_reshapes(x: Tensor, a: Dims, b: Dims):
    """Reshape_b(Reshape_a(x)) = Reshape_b(x), or x where these are its dims"""
    both = reshape(reshape(x, a), b)
    demand = guard(changes_dims(x, b))
    yield rewrite(both, reshape(x, b), demand, because="forgets a")
    yield rewrite(both, x, own_dims(x, b), because="forgets a")


@law(kind="eliminate", source="onnxoptimizer eliminate_nop_reshape")
def drop_own_dims(x: Tensor, dims: Dims):
    """Reshape_dims(x: dims) = x"""
    yield rewrite(reshape(x, dims), x, own_dims(x, dims), because="every x is a Reshape of itself")


@hosted()
def known_target(x: Fact, z: Fact) -> Dims | None:
    """The dims of a reshape's result, where those of its operand are known as well."""
    return z.shape if x.is_symbolic and z.is_symbolic else None


@hosted()
def dims_between(x: Fact, z: Fact, target: Fact, opset: int) -> Dims | None:
    """What comes before, where a view of an empty tensor, of which none is inferred, takes two steps."""
    if not (x.is_symbolic and z.is_symbolic) or -1 in (target.value or ()):
        return None
    return by_way_of(x.shape or (), z.shape or (), flattens=has_flatten(opset, x.dtype))


def _targets(rng: np.random.Generator) -> Iterator[Example]:
    for shape, dims in (
        (("N", "L", 12), ("N", "L", 3, 4)),
        (("N", "L", 12), ("N", 4, "L", 3)),
        ((6, "L"), ("L", 3, 2)),
        (("N", 4, "L"), ("N", 2, 2, "L")),
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
    Beside a copy of 0 none is inferred: where axes of 1 help, all are copied, else the target stays computed.
    """
    z, because = reshape_to(x, t, a), "forgets how the target is computed"
    yield rewrite(z, reshape(x, known_target(x, z)), because=because)
    between = reshape(x, dims_between(x, z, t, opset()))
    yield rewrite(z, reshape(between, known_dims(z)), because=because)


@law(kind="move", source="TASO")
def through_unary(x: Tensor, op: String, s: Settings, dims: Dims):
    """f(Reshape(x)) = Reshape(f(x))"""
    demand = guard(changes_dims(x, dims))
    yield equal(unary(op, s, reshape(x, dims)), reshape(unary(op, s, x), dims), demand)


@law(
    kind="move",
    source="TASO",
    examples=in_8_bits(lambda x: reshape(x, (1, 3)), "an old view takes no floats of 8 bits"),
)
def through_cast(x: Tensor, to: DataType, dims: Dims):
    """Cast(Reshape(x)) = Reshape(Cast(x))"""
    demand = guard(changes_dims(x, dims))
    left, right = cast(reshape(x, dims), to), reshape(cast(x, to), dims)
    yield equal(left, right, is_viewed(to), demand)


@hosted()
def last_axis(x: Fact, dims: Dims, axis: Axis) -> Axis | None:
    """The last axis of x, where a view of x keeps it and `axis` is the view's last."""
    kept = x.shape and dims and symbolic.known_equal(x.shape[-1], dims[-1])
    return len(x.shape) - 1 if kept and x.shape and axis == len(dims) - 1 else None


def _softmaxes(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 6, 4))
    for kind in ("Softmax", "LogSoftmax", "Hardmax"):
        yield g.fires(softmax(kind, reshape(x, ("N", 2, 3, 4)), 3))
    yield g.near_miss(softmax("Softmax", reshape(x, ("N", 3, 2, 4)), 2), why="another axis")
    yield g.near_miss(softmax("Softmax", reshape(x, ("N", 3, 8)), 2), why="rows are joined")


@law(numerics="finite", kind="move", source="algebra", examples=_softmaxes)
def through_softmax(x: Tensor, kind: String, dims: Dims, a: Axis):
    """Softmax(Reshape(x)) = Reshape(Softmax(x)) along a last axis that the view keeps; likewise its kin"""
    moved, demand = reshape(softmax(kind, x, last_axis(x, dims, a)), dims), guard(changes_dims(x, dims))
    yield rewrite(softmax(kind, reshape(x, dims), a), moved, demand, because="views move towards the outputs")
