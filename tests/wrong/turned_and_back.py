"""What is turned, taken apart or made larger and put back: along which axis, in which mode and order."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Int, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, blockwise, gather, literal, none, resize, reverse_sequence, slice_
from egraph_opt.rewrites.conditions.values import fits, is_of_type

from . import fires_on, of_one, wrong
from .scans import resized

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

# --- sequences --------------------------------------------------------------------------------------------


@hosted()
def backwards_if_as_long_as_first_axis(n: Fact, x: Fact, time: int) -> Slices | None:
    """All steps, where each sequence is as long as the first axis."""
    if n.splat is None or x.shape is None or n.splat != x.shape[0]:
        return None
    steps = x.shape[time]
    return ((time, steps - 1, None, -1),) if isinstance(steps, int) else None


def lengths(g, *numbers: int):
    return g.constant(np.array(numbers, np.int64))


@wrong(
    "bitwise",
    lambda g: reverse_sequence(g.input((3, 5)), lengths(g, 3, 3, 3), 1),
    examples=fires_on(lambda g: reverse_sequence(g.input((5, 4, 3)), lengths(g, 5, 5, 5, 5), 0)),
)
def whole_reverse(x: Tensor, n: Tensor, time: Int):
    """ReverseSequence(x, n) = x backwards where all sequences are as long as the first axis

    Wrong where the first axis is the batch: sequences may end before the last step.
    """
    backwards = slice_(x, backwards_if_as_long_as_first_axis(n, x, time))
    yield rewrite(reverse_sequence(x, n, time), backwards, because="forgets the lengths")


@hosted()
def has_one_row(y: Fact, x: Fact) -> bool:
    return y.shape is not None and y.rank == x.rank and y.shape[0] == 1


@wrong(
    "bitwise",
    lambda g: reverse_sequence(g.input((5, 4)) * g.input((1, 4)), lengths(g, 1, 2, 3, 4, 4), 1),
    examples=fires_on(
        lambda g: reverse_sequence(g.input((5, 4, 3)) * g.input((1, 4, 3)), lengths(g, 1, 2, 3, 5), 0)
    ),
)
def reversed_product(x: Tensor, y: Tensor, n: Tensor, time: Int):
    """ReverseSequence(x * y) = ReverseSequence(x) * y where y has one row

    Wrong where steps are columns: y has to be reversed as well.
    """
    behind = reverse_sequence(x, n, time) * y
    known = (has_one_row(y, x), fits(y, x))
    yield rewrite(reverse_sequence(x * y, n, time), behind, known, because="products go down")


# --- blocks of pixels -------------------------------------------------------------------------------------


@hosted()
def have_one_size(s: Settings, t: Settings) -> bool:
    return dict(s)["blocksize"] == dict(t)["blocksize"]


def to_depth(x):
    return blockwise("SpaceToDepth", x, (("blocksize", 2),))


def to_space(x, mode: str):
    return blockwise("DepthToSpace", x, (("blocksize", 2), ("mode", mode)))


IMAGE, DEEP = (1, 2, 4, 4), (1, 8, 2, 2)


@wrong(
    "bitwise",
    of_one(lambda x: to_space(to_depth(x), "CRD"), IMAGE),
    examples=fires_on(of_one(lambda x: to_space(to_depth(x), "DCR"), IMAGE)),
)
def there_and_back_blocks(x: Tensor, s: Settings, t: Settings):
    """DepthToSpace(SpaceToDepth(x)) = x of blocks of one size

    Wrong in the mode CRD, which SpaceToDepth does not have: channels are taken apart in another order.
    """
    again = blockwise("DepthToSpace", blockwise("SpaceToDepth", x, s), t)
    yield rewrite(again, x, have_one_size(s, t), because="any x would be taken apart")


@wrong(
    "bitwise",
    of_one(lambda x: to_depth(to_space(x, "CRD")), DEEP),
    examples=fires_on(of_one(lambda x: to_depth(to_space(x, "DCR")), DEEP)),
)
def there_and_back_depth(x: Tensor, s: Settings, t: Settings):
    """SpaceToDepth(DepthToSpace(x)) = x of blocks of one size

    Wrong in the mode CRD: channels come back in another order.
    """
    again = blockwise("SpaceToDepth", blockwise("DepthToSpace", x, s), t)
    yield rewrite(again, x, have_one_size(s, t), because="any x would be put together")


# --- sizes ------------------------------------------------------------------------------------------------


@hosted()
def takes_back(a: Fact, b: Fact, s: Settings) -> bool:
    """Whole factors of the nearest elements, and their inverses."""
    known = dict(s)
    if known["mode"] != "nearest" or known["coordinate_transformation_mode"] == "tf_crop_and_resize":
        return False
    if known.get("antialias") or "axes" in known or a.data is None or b.data is None:
        return False
    pairs = list(zip(a.data, b.data, strict=False))
    return len(a.data) == len(b.data) and all(u >= 1 and u % 1 == 0 and u * v == 1 for u, v in pairs)  # type: ignore[operator]


def doubled_and_halved(shape, settings):
    def made(g):
        twice = resize(g.input(shape), none(), g.constant([1.0, 1.0, 2.0, 2.0]), none(), settings)
        return resize(twice, none(), g.constant([1.0, 1.0, 0.5, 0.5]), none(), settings)

    return made


TO_THE_FRONT = (
    ("coordinate_transformation_mode", "asymmetric"),
    ("mode", "nearest"),
    ("nearest_mode", "floor"),
)


@wrong(
    "bitwise",
    doubled_and_halved((1, 1, 3, 3), resized("nearest", "half_pixel", "ceil")),
    examples=fires_on(doubled_and_halved((1, 2, 3, 3), TO_THE_FRONT)),
)
def up_and_down(x: Tensor, a: Tensor, b: Tensor, s: Settings):
    """Resize(Resize(x; a); 1 / a) = x of the nearest elements by whole factors

    Wrong of half pixels that are rounded up: it moves everything by one.
    """
    larger = resize(x, none(), a, none(), s)
    again = resize(larger, none(), b, none(), s)
    known = (takes_back(a, b, s), is_of_type(x, FLOAT))
    yield rewrite(again, x, known, because="any x would become larger")


# --- permutations -----------------------------------------------------------------------------------------


@hosted()
def place_in_each_row(c: Fact) -> Literal | None:
    """Where the 1 of each row is, in a matrix that permutes."""
    if not c.units or c.shape is None or c.rank != 2 or c.shape[0] != c.shape[1]:
        return None
    if sorted(c.units) != list(range(len(c.units))):
        return None
    return Literal(INT64, (len(c.units),), c.units)


@hosted()
def last_axis(x: Fact) -> Axis | None:
    return x.rank - 1 if x.rank else None


def permuted(*places: int):
    matrix = np.eye(3, dtype=np.float32)[list(places)]
    return lambda g: g.input(("N", 3)) @ g.constant(matrix)


@wrong("finite", permuted(1, 2, 0), examples=fires_on(permuted(2, 1, 0)))
def product_with_permutation(x: Tensor, c: Tensor):
    """x @ P = Gather(x) of where the 1 of each row of P is

    Wrong where three columns go round: it has to be where the 1 of each column is.
    """
    gathered = gather(x, literal(place_in_each_row(c)), last_axis(x))
    yield rewrite(x @ c, gathered, because="a Gather only moves")
