"""Modes of DepthToSpace, the axis and the indices of OneHot, and the size of LRN."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Flag, Permutation, Settings, Tensor, hosted, is_same, rewrite
from egraph_opt.operators import Literal, binary, cast, literal, one_hot, reshape, transpose

from .. import of_one, wrong
from . import depth_to_space, lrn, space_to_depth

CRD, DCR = ((("blocksize", 2), ("mode", mode)) for mode in ("CRD", "DCR"))
BLOCKS = (("blocksize", 2),)


@hosted()
def of_one_size(s: Settings, t: Settings) -> bool:
    return dict(s)["blocksize"] == dict(t)["blocksize"]


@wrong("bitwise", of_one(lambda x: depth_to_space(space_to_depth(x, BLOCKS), CRD), (1, 3, 4, 4)))
def depth_and_back(x: Tensor, s: Settings, t: Settings):
    """DepthToSpace(SpaceToDepth(x)) = x for blocks of one size

    Wrong of mode CRD.
    """
    yield rewrite(depth_to_space(space_to_depth(x, s), t), x, of_one_size(s, t), because="forgets the blocks")


@wrong("bitwise", of_one(lambda x: space_to_depth(depth_to_space(x, DCR), (("blocksize", 4),)), (1, 8, 4, 4)))
def space_and_back(x: Tensor, s: Settings, t: Settings):
    """SpaceToDepth(DepthToSpace(x)) = x for mode DCR

    Wrong for blocks of two sizes.
    """
    yield rewrite(space_to_depth(depth_to_space(x, s), t), x, is_dcr(s), because="forgets the blocks")


@hosted()
def is_dcr(s: Settings) -> bool:
    return dict(s)["mode"] == "DCR"


@wrong("bitwise", of_one(lambda x: depth_to_space(x, CRD), (1, 8, 2, 2)))
def mode_of_blocks(x: Tensor, s: Settings):
    """DepthToSpace(x; CRD) = DepthToSpace(x; DCR)

    Wrong where there is more than one channel left.
    """
    yield rewrite(depth_to_space(x, s), depth_to_space(x, DCR), is_same(s, CRD), because="DCR has a kernel")


def _one_hot(g, shape: tuple[int, ...], axis: int):
    return one_hot(g.input(shape, 7), g.constant([4]), g.constant([0.0, 1.0]), axis)


@hosted()
def behind(i: Fact) -> Axis | None:
    """The last axis of a result."""
    return i.rank


@wrong("bitwise", lambda g: _one_hot(g, (2, 3), 0), values=(0, 2, 3))
def one_hot_in_front(i: Tensor, d: Tensor, v: Tensor):
    """OneHot(i) along the first axis = Transpose(OneHot(i)) along the last

    Wrong where i is no vector.
    """
    turned = transpose(one_hot(i, d, v, behind(i)), turn(i))
    yield rewrite(one_hot(i, d, v, 0), turned, because="last axes have a kernel")


@hosted()
def turn(i: Fact) -> Permutation | None:
    return tuple(range((i.rank or 0) + 1))[::-1]


@wrong("bitwise", lambda g: _one_hot(g, (3,), 1), values=(-1, 2, 0))
def one_hot_of_comparison(i: Tensor, d: Tensor, v: Tensor, a: Axis):
    """OneHot(i; 0 and 1) = Cast(Unsqueeze(i) = [0, 1, ..])

    Wrong for indices that are counted from the end.
    """
    equal = binary("Equal", reshape(i, with_one(i)), literal(up_to(d)))
    known = (is_same(a, behind(i)), is_bit(v))
    yield rewrite(one_hot(i, d, v, a), cast(equal, 1), *known, because="one comparison")


@hosted()
def with_one(i: Fact) -> Dims | None:
    return (*i.shape, 1) if i.is_static and i.shape is not None else None


@hosted()
def up_to(d: Fact) -> Literal | None:
    return Literal(7, (int(d.splat),), tuple(range(int(d.splat)))) if d.splat else None


@hosted()
def is_bit(v: Fact) -> bool:
    return v.data == (0.0, 1.0)


NEAR = (("alpha", 0.5), ("beta", 0.75), ("bias", 1.0), ("size", 3))


@wrong("reassociates", lambda g: lrn(g.input((1, 4, 3, 3)) * g.constant(2.0), NEAR))
def scale_before_lrn(x: Tensor, c: Tensor, s: Settings):
    """LRN(x * c) = LRN(x) * c for a number c

    Wrong: c is in the squares as well.
    """
    yield rewrite(lrn(x * c, s), lrn(x, s) * c, is_number(c), because="scales move on")


@hosted()
def is_number(c: Fact) -> bool:
    return c.const and c.shape == ()


@hosted()
def without_neighbours(s: Settings) -> Flag | None:
    return 1 if dict(s)["size"] == 1 else None


@wrong(
    "reassociates",
    lambda g: lrn(g.input((1, 4, 3, 3)), (("alpha", 0.5), ("beta", 0.75), ("bias", 1.0), ("size", 1))),
)
def lrn_of_one_channel(x: Tensor, s: Settings):
    """LRN(x) = x for a size of 1

    Wrong: an element is its own neighbour.
    """
    yield rewrite(lrn(x, s), x, without_neighbours(s), because="every x would be normalised")
