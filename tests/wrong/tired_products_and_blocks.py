"""Products by their letters, blocks that are read where they were written, views known later, bytes."""

from onnx import TensorProto as T

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Axis, Equation, Slices, String, Tensor
from egraph_opt.operators import dequantize, einsum, none, overwrite, reshape_to, slice_
from egraph_opt.operators.elementwise import variadic
from egraph_opt.operators.terms import listed

from . import wrong


@hosted()
def are_matrices(e: Equation, x: Fact, y: Fact) -> bool:
    left, arrow, result = e.partition("->")
    a, _, b = left.partition(",")
    if not arrow or "." in e or "," in b or len(a) < 2 or len(a) != len(b) or x.dtype != T.FLOAT:
        return False
    if x.shape is None or y.shape is None or (len(x.shape), len(y.shape)) != (len(a), len(b)):
        return False
    stacked = a[:-2] == b[:-2] and a[-1] == b[-2] and len({*a, *b}) == len(a) + 1
    fit = zip((*x.shape[:-2], x.shape[-1]), (*y.shape[:-2], y.shape[-2]), strict=True)
    return stacked and {*result} == {*a[:-1], b[-1]} and all(symbolic.known_equal(m, n) for m, n in fit)


@wrong("reassociates", lambda g: einsum("ab,bc->ca", listed(g.input((2, 3)), g.input((3, 4)))))
def product_in_any_order(e: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; ab,bc->ac) = x @ y, with letters in front likewise

    Wrong of a result whose letters are in another order.
    """
    yield rewrite(einsum(e, listed(x, y)), x @ y, are_matrices(e, x, y), because="forgets e")


@hosted()
def are_a_chain(e: Equation, x: Fact, y: Fact, z: Fact) -> bool:
    left, _, result = e.partition("->")
    pairs = left.split(",")
    if [*map(len, pairs)] != [2, 2, 2] or not all(f.is_static and f.dtype == T.FLOAT for f in (x, y, z)):
        return False
    (a, b), (c, d), (f, g) = map(tuple, pairs)
    chained = b == c and d == f and len({a, b, d, g}) == 4 and {*result} == {a, g}
    shapes = [v.shape or () for v in (x, y, z)]
    return chained and shapes[0][1] == shapes[1][0] and shapes[1][1] == shapes[2][0]


def _chain(g):
    return einsum("ab,bc,cd->da", listed(g.input((2, 3)), g.input((3, 4)), g.input((4, 2))))


@wrong("reassociates", _chain)
def products_in_any_order(e: Equation, x: Tensor, y: Tensor, z: Tensor):
    """Einsum(x, y, z; ab,bc,cd->ad) = (x @ y) @ z

    Wrong of a result whose letters are in the other order.
    """
    left = einsum(e, listed(x, y, z))
    yield rewrite(left, (x @ y) @ z, are_a_chain(e, x, y, z), because="forgets e")


BLOCK = ((0, 0, 4, 1),)


@wrong("bitwise", lambda g: slice_(overwrite(g.input((6, 2)), g.input((2, 2, 2)), "ScatterND", BLOCK), BLOCK))
def read_of_written(x: Tensor, u: Tensor, op: String, t: Slices):
    """Slice_t(x with u instead of block t) = u

    Wrong of a ScatterND that takes u as another view of the block.
    """
    yield rewrite(slice_(overwrite(x, u, op, t), t), u, because="forgets x")


@hosted()
def copies_nothing_known(t: Fact) -> bool:
    return t.rank == 1 and all(d != 0 for d in t.value or ())


@wrong("bitwise", lambda g: reshape_to(g.input((2, 0)), g.input((2,), T.INT64), 1), values=(0, 0))
def zeros_are_allowed(x: Tensor, t: Tensor):
    """Reshape(x, t; allowzero) = Reshape(x, t) where t has no 0

    Wrong where nothing is known of t before the model runs.
    """
    right = reshape_to(x, t, 0)
    yield rewrite(reshape_to(x, t, 1), right, copies_nothing_known(t), because="fewer kernels have it")


def _behind_absent(g):
    return relu(dequantize(g.input((2, 2), T.INT8), g.constant(0.5), none(), 0))


@hosted()
def is_a_size(s: Fact) -> bool:
    return s.splat is not None and s.splat > 0


@wrong("bitwise", _behind_absent, values=(3, -4))
def relu_of_bytes(q: Tensor, s: Tensor, z: Tensor, a: Axis):
    """Relu(DequantizeLinear(q; s, z)) = DequantizeLinear(Max(q, z); s, z) for s > 0

    Wrong without a zero point: there is no Max of nothing, and onnxruntime looks for it.
    """
    right = dequantize(variadic("Max", listed(q, z)), s, z, a)
    yield rewrite(relu(dequantize(q, s, z, a)), right, is_a_size(s), because="bytes are less to read")
