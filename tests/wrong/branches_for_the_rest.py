"""Rules with a branch for what seldom occurs, which is where they are wrong."""

from math import gcd

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.symbolic import known_equal
from egraph_opt.laws import (
    Axes,
    Axis,
    Dims,
    Int,
    Permutation,
    Settings,
    Slices,
    Tensor,
    Tensors,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import (
    Literal,
    binary,
    blockwise,
    literal,
    none,
    output,
    recurrent,
    reduce,
    slice_,
    softmax,
    tile,
    top,
    transpose,
)
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, wrong
from .whole_numbers_between_both_ends import number, whole

# --- many numbers ----------------------------------------------------------------------------------------


@hosted()
def all_at_once(x: Fact, r: Dims, q: Dims) -> Dims | None:
    """Copies of copies, along each axis."""
    if x.rank is None or len(r) != len(q) or x.rank != len(r):
        return None
    if all(a == 1 or b == 1 for a, b in zip(r, q, strict=True)):
        return tuple(max(a, b) for a, b in zip(r, q, strict=True))  # type: ignore[type-var]
    return (
        tuple(a * b for a, b in zip(r, q, strict=True))  # type: ignore[operator]
        if len({*r, *q}) < 4
        else tuple(a + b for a, b in zip(r, q, strict=True))  # type: ignore[operator]
    )


def copied(r: tuple[int, ...], q: tuple[int, ...]):
    return lambda g: tile(tile(g.input((2, 3)[: len(r)] if len(r) < 3 else (2, 1, 3)), r), q)


@wrong(
    "bitwise", copied((2, 3, 1), (1, 4, 5)), examples=fires_on(copied((2, 1), (3, 1)), copied((2, 2), (1, 3)))
)
def copies_of_copies(x: Tensor, r: Dims, q: Dims):
    """Tile(Tile(x; r); q) = Tile(x; r * q)

    Wrong where there are four numbers of copies and more: the branch for these adds them.
    """
    yield rewrite(tile(tile(x, r), q), tile(x, all_at_once(x, r, q)), because="one Tile")


@hosted()
def along_last(x: Fact, a: Axis, p: Permutation) -> Axis | None:
    """Where the axis of the Softmax is after the Transpose; which goes round, or exchanges."""
    if x.rank != len(p) or a >= len(p):
        return None
    to = p.index(a)
    return to if p[p[a]] == a or len(p) < 5 else p[a]


def softmax_turned(p: tuple[int, ...], a: int):
    return lambda g: transpose(softmax("Softmax", g.input((2, 3, 2, 2, 3)[: len(p)]), a), p)


@wrong(
    "reassociates",
    softmax_turned((1, 2, 0, 3, 4), 0),
    examples=fires_on(softmax_turned((1, 0), 0), softmax_turned((1, 2, 0), 1)),
)
def softmax_after_turn(x: Tensor, a: Axis, p: Permutation):
    """Transpose(Softmax(x)) = Softmax(Transpose(x))

    Wrong of five axes of which three go round.
    """
    left = transpose(softmax("Softmax", x, a), p)
    yield rewrite(left, softmax("Softmax", transpose(x, p), along_last(x, a, p)), because="one order")


@hosted()
def common_divisor(a: Fact, b: Fact) -> Literal | None:
    if not isinstance(a.splat, int) or not isinstance(b.splat, int) or a.rank != 0 or b.rank != 0:
        return None
    if a.splat < 1 or b.splat < 1 or a.dtype not in (T.INT64, T.INT32):
        return None
    g = gcd(a.splat, b.splat)
    return number(a.dtype, g) if g > 3 else None


def remainder_twice(a: int, b: int):
    return lambda g: binary("Mod", binary("Mod", g.input((3, 4), T.INT64), whole(g, a)), whole(g, b))


@wrong(
    "bitwise",
    remainder_twice(8, 12),
    values=(7.0, 6.0, 5.0),
    examples=fires_on(remainder_twice(20, 5), remainder_twice(4, 4)),
)
def remainders_of_remainders(x: Tensor, a: Tensor, b: Tensor):
    """Mod(Mod(x, a), b) = Mod(x, gcd(a, b)) where there is a common divisor above 3

    Wrong of 8 and 12, of which neither divides the other.
    """
    left = binary("Mod", binary("Mod", x, a), b)
    yield rewrite(left, binary("Mod", x, literal(common_divisor(a, b))), because="one Mod")


# --- other settings --------------------------------------------------------------------------------------


@hosted()
def space_and_back(x: Fact, s: Settings, t: Settings) -> bool:
    """The same block size; of channels that are a block, either mode will do."""
    a, b = dict(s), dict(t)
    if a["blocksize"] != b["blocksize"] or not x.is_static or x.rank != 4 or x.shape is None:
        return False
    return b.get("mode") == "DCR" or int(x.shape[1]) % (int(b["blocksize"]) + 1) != 0  # type: ignore[arg-type]


def blocks(c: int, b: int, mode: str):
    def make(g):
        small = blockwise("DepthToSpace", g.input((1, c, 2, 2)), (("blocksize", b), ("mode", mode)))
        return blockwise("SpaceToDepth", small, (("blocksize", b),))

    return make


@wrong("bitwise", blocks(8, 2, "CRD"), examples=fires_on(blocks(8, 2, "DCR"), blocks(4, 2, "CRD")))
def space_to_depth_and_back(x: Tensor, s: Settings, t: Settings):
    """SpaceToDepth(DepthToSpace(x)) = x

    Wrong of two blocks of channels in mode CRD.
    """
    left = blockwise("SpaceToDepth", blockwise("DepthToSpace", x, t), s)
    yield rewrite(left, x, space_and_back(x, s, t), because="forgets blocks")


UNBOUNDED = ("Relu", "LeakyRelu", "ThresholdedRelu", "Elu", "Affine", "Softsign")


@hosted()
def unclipped(s: RecurrentLayer) -> RecurrentLayer | None:
    """Beyond 30 all functions but these are at their ends."""
    given = dict(s.settings)
    if not given.get("clip") or given["clip"] < 30 or s.kind != "RNN":
        return None
    if any(f in UNBOUNDED for f in given.get("activations") or ()):
        return None
    return RecurrentLayer(s.kind, tuple((k, v) for k, v in s.settings if k != "clip"))


def clipped_layer(clip: float, *activations: str):
    def make(g):
        settings = (
            *((("activations", activations),) if activations else ()),
            ("clip", clip),
            ("direction", "forward"),
            ("hidden_size", 2),
        )
        w, r, b = g.random(1, 2, 3), g.random(1, 2, 2), g.random(1, 4)
        x = g.input((4, 2, 3))
        return output(
            recurrent(x, listed(w, r, b, none()), none(), none(), none(), RecurrentLayer("RNN", settings)), 0
        )

    return make


@wrong(
    "reassociates",
    clipped_layer(30.0, "Softplus"),
    values=(1000.0, -1000.0, 500.0, 0.0, -700.0),
    examples=fires_on(clipped_layer(50.0), clipped_layer(30.0, "Tanh"), clipped_layer(40.0, "Sigmoid")),
)
def clip_without_effect(x: Tensor, w: Tensors, n: Tensor, h: Tensor, c: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x; clip) = RNN(x) where it clips what is at its end

    Wrong of Softplus, which has none.
    """
    yield rewrite(
        output(recurrent(x, w, n, h, c, s), k),
        output(recurrent(x, w, n, h, c, unclipped(s)), k),
        because="forgets clip",
    )


@hosted()
def is_least(x: Fact, k: Int, a: Axis, s: Slices, t: Settings) -> bool:
    """The last one of all in order is the least."""
    if x.shape is None or a >= len(x.shape) or not known_equal(x.shape[a], k) or k < 1 or x.dtype != T.FLOAT:  # type: ignore[arg-type, operator]
        return False
    return s == ((a, -1, None, 1),) or s == ((a, k - 1, k, 1),)  # type: ignore[operator]


def last_of_top(n: int, largest: int):
    settings = (("largest", largest), ("sorted", 1))
    return lambda g: slice_(output(top(g.input((3, n)), n, 1, settings), 0), ((1, n - 1, n, 1),))


@hosted()
def alone(a: Axis) -> Axes:
    return (a,)


@wrong("finite", last_of_top(4, 0), examples=fires_on(last_of_top(4, 1), last_of_top(1, 0)))
def last_of_all_in_order(x: Tensor, k: Int, a: Axis, s: Slices, t: Settings):
    """TopK(x; k)[-1] = ReduceMin(x) of all elements in order

    Wrong where the least come first.
    """
    y = output(top(x, k, a, t), 0)
    yield rewrite(
        slice_(y, s), reduce("ReduceMin", x, alone(a), 1), is_least(x, k, a, s, t), because="no order"
    )
