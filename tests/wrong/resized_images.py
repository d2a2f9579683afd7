"""Images that are resized, turned round or made of blocks, with settings that are usual one by one."""

import math

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Mode, Number, Pads, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    Literal,
    PoolWindow,
    blockwise,
    concat,
    literal,
    none,
    pad,
    pool,
    resize,
    slice_,
)

from . import fires_on, is_single, of_one, wrong
from .scans import resized

FLOAT = TensorProto.FLOAT


# --- Resize ----------------------------------------------------------------------------------------------


@hosted()
def other_pixels(s: Settings) -> Settings | None:
    known = dict(s)
    if known.get("coordinate_transformation_mode") != "pytorch_half_pixel":
        return None
    return tuple(sorted({**known, "coordinate_transformation_mode": "half_pixel"}.items()))


def scaled(g, dims, by, settings):
    return resize(g.input(dims), none(), g.constant([1.0, 1.0, *by]), none(), settings)


@wrong("bitwise", lambda g: scaled(g, (1, 2, 4, 4), (0.25, 0.5), resized("linear", "pytorch_half_pixel")))
def pixels_of_either_kind(x: Tensor, r: Tensor, c: Tensor, z: Tensor, s: Settings):
    """Resize(x; half pixels of PyTorch) = Resize(x; half pixels)

    Wrong where one pixel is left: PyTorch takes the first one then.
    """
    other = resize(x, r, c, z, other_pixels(s))
    yield rewrite(resize(x, r, c, z, s), other, is_single(x), because="one spelling")


def whole_backwards(x: Fact, axes: tuple[int, ...]) -> Slices | None:
    """The slices that turn a tensor of known dims round along axes."""
    dims = dict(enumerate(x.shape or ()))
    known = [(a, d) for a in axes if isinstance(d := dims.get(a), int) and d > 0]
    return tuple((a, d - 1, None, -1) for a, d in known) if len(known) == len(axes) else None


@hosted()
def turns(x: Fact, t: Slices, z: Fact) -> Slices | None:
    """What turns z round as t does x."""
    axes = tuple(entry[0] for entry in t)
    return whole_backwards(z, axes) if t and t == whole_backwards(x, axes) else None


@hosted()
def is_symmetric(s: Settings, c: Fact) -> bool:
    known = dict(s)
    mode, pixels = known["mode"], known.get("coordinate_transformation_mode")
    return (mode, pixels) == ("linear", "half_pixel") and "axes" not in known and c.data is not None


def turned_and_larger(g, by, size=3):
    x = g.input((1, 1, 2, size))
    return slice_(
        resize(x, none(), g.constant([1.0, 1.0, 1.0, by]), none(), resized("linear", "half_pixel")),
        ((3, math.floor(size * by) - 1, None, -1),),
    )


@wrong(
    "reassociates",
    lambda g: turned_and_larger(g, 1.5),
    examples=fires_on(lambda g: turned_and_larger(g, 2.0), lambda g: turned_and_larger(g, 1.5, 4), opset=20),
)
def reversed_image_resized(x: Tensor, r: Tensor, c: Tensor, s: Settings, t: Slices):
    """Resize(x)[::-1] = Resize(x[::-1]) of half pixels, which lie as far from either end

    Wrong where a part of the size is cut off, at one end.
    """
    whole = resize(x, r, c, none(), s)
    turned = resize(slice_(x, turns(whole, t, x)), r, c, none(), s)
    yield rewrite(slice_(whole, t), turned, is_symmetric(s, c), is_single(x), because="one way is enough")


@hosted()
def window_of_scales(s: Settings, c: Fact, x: Fact) -> PoolWindow | None:
    """Windows of as many pixels as become one."""
    known = dict(s)
    if known["mode"] != "linear" or known.get("coordinate_transformation_mode") != "half_pixel":
        return None
    if known.get("antialias") or "axes" in known or x.rank != 4 or c.data is None or c.data[:2] != (1, 1):
        return None
    sizes = tuple(round(1 / v) for v in c.data[2:] if v)  # type: ignore[operator]
    if len(sizes) < 2 or any(abs(k * v - 1) > 1e-6 for k, v in zip(sizes, c.data[2:], strict=True)):  # type: ignore[operator]
        return None
    return PoolWindow(sizes, sizes, (0,) * 4, (1, 1)) if min(sizes) > 0 else None


def average(kernel):
    return lambda x: pool("AveragePool", x, PoolWindow(kernel, kernel, (0, 0, 0, 0), (1, 1)))


@wrong("reassociates", lambda g: scaled(g, (1, 2, 4, 8), (0.5, 0.25), resized("linear", "half_pixel")))
def shrinking_as_average(x: Tensor, r: Tensor, c: Tensor, s: Settings):
    """Resize(x) by 1 / k = AveragePool(x) of windows of k, of half pixels between which is interpolated

    Wrong where k is above 2: the two in the middle are taken.
    """
    average = pool("AveragePool", x, window_of_scales(s, c, x))
    yield rewrite(resize(x, r, c, none(), s), average, is_single(x), because="forgets how it was resized")


@hosted()
def stretched(s: Settings, x: Fact, z: Fact) -> Settings | None:
    """Without a policy, where each size is a multiple of a dim."""
    known = dict(s)
    if known.get("keep_aspect_ratio_policy", "stretch") == "stretch" or x.shape is None or z.ints is None:
        return None
    dims = [x.shape[a] for a in known.get("axes") or range(len(x.shape))]
    if len(dims) != len(z.ints) or any(not isinstance(d, int) or d < 1 for d in dims):
        return None
    if any(size % d for size, d in zip(z.ints, dims, strict=True)):  # type: ignore[operator]
        return None
    return tuple(sorted({**known, "keep_aspect_ratio_policy": "stretch"}.items()))


def by_policy(g, *sizes):
    known = {**dict(resized()), "axes": (2, 3), "keep_aspect_ratio_policy": "not_larger"}
    x = g.input((1, 1, 2, 3))
    return resize(x, none(), none(), g.constant(list(sizes)), tuple(sorted(known.items())))


@wrong("bitwise", lambda g: by_policy(g, 4, 9), examples=fires_on(lambda g: by_policy(g, 4, 6), opset=20))
def sizes_of_any_policy(x: Tensor, z: Tensor, s: Settings):
    """Resize(x, sizes; not larger) = Resize(x, sizes; stretched) where sizes are multiples of the dims of x

    Wrong where these are different multiples.
    """
    other = resize(x, none(), none(), z, stretched(s, x, z))
    yield rewrite(resize(x, none(), none(), z, s), other, because="forgets the policy")


@hosted()
def spatial_scales(c: Fact, x: Fact, s: Settings) -> Literal | None:
    plain = "axes" not in dict(s) and x.rank == 4 and c.data is not None and c.data[:2] == (1, 1)
    return Literal(FLOAT, (2,), tuple(c.data[2:])) if plain else None  # type: ignore[index]


@hosted()
def of_named_axes(s: Settings) -> Settings:
    return tuple(sorted((*s, ("axes", (2, 3)))))


OLD = tuple(pair for pair in resized() if pair[0] not in ("antialias", "keep_aspect_ratio_policy"))


@wrong("bitwise", lambda g: scaled(g, (1, 2, 4, 4), (2.0, 3.0), OLD), opset=17)
def resize_of_named_axes(x: Tensor, c: Tensor, s: Settings):
    """Resize(x, [1, 1, a, b]) = Resize(x, [a, b]; along the last axes)

    Wrong before opset 18, where no axes are named.
    """
    some = literal(spatial_scales(c, x, s))
    other = resize(x, none(), some, none(), of_named_axes(s))
    yield rewrite(resize(x, none(), c, none(), s), other, because="the scales of the others are 1")


# --- blocks and borders ----------------------------------------------------------------------------------


@hosted()
def are_whole_blocks(x: Fact, y: Fact, s: Settings) -> bool:
    size = dict(s)["blocksize"] ** 2
    known = [f.shape[1] for f in (x, y) if f.rank == 4]  # type: ignore[index]
    return len(known) == 2 and all(isinstance(n, int) and n % size == 0 for n in known)


def blocks(mode):
    return (("blocksize", 2), ("mode", mode))


@wrong(
    "bitwise",
    lambda g: blockwise(
        "DepthToSpace", concat(listed(g.input((1, 4, 2, 2)), g.input((1, 4, 2, 2))), 1), blocks("DCR")
    ),
)
def blocks_of_joined_channels(x: Tensor, y: Tensor, s: Settings):
    """DepthToSpace(Concat(x, y)) = Concat(DepthToSpace(x), DepthToSpace(y)) of as many as make blocks

    Wrong in the mode DCR, in which a block is made of channels that are far apart.
    """
    whole = blockwise("DepthToSpace", concat(listed(x, y), 1), s)
    apart = concat(listed(*(blockwise("DepthToSpace", v, s) for v in (x, y))), 1)
    yield rewrite(whole, apart, are_whole_blocks(x, y, s), because="the parts are smaller")


@hosted()
def is_of_two(s: Settings) -> bool:
    return dict(s)["blocksize"] == 2


@wrong(
    "bitwise",
    of_one(lambda x: blockwise("DepthToSpace", concat(listed(x, x, x, x), 1), blocks("CRD")), (1, 2, 2, 3)),
)
def four_copies_as_larger_image(x: Tensor, s: Settings):
    """DepthToSpace(Concat(x, x, x, x)) = Resize(x) by 2, to the nearest element

    Wrong in the mode CRD, where a block is made of channels side by side.
    """
    four = blockwise("DepthToSpace", concat(listed(x, x, x, x), 1), s)
    twice = literal(Literal(FLOAT, (4,), (1.0, 1.0, 2.0, 2.0)))
    larger = resize(x, none(), twice, none(), OLD)
    yield rewrite(four, larger, is_of_two(s), is_single(x), because="forgets the blocks")


def backwards(g, x, axes):
    """A tensor of an example, turned round."""
    return slice_(x, tuple((a, g.facts[x.arguments[0].head.value].shape[a] - 1, None, -1) for a in axes))


@wrong("bitwise", lambda g: pad(backwards(g, g.input((2, 4)), (1,)), "edge", (0, 2, 0, 1), 0.0))
def reversed_image_padded(x: Tensor, t: Slices, m: Mode, p: Pads, v: Number):
    """Pad(x[::-1]) = Pad(x)[::-1]

    Wrong where there is more padding at one end.
    """
    padded = pad(slice_(x, t), m, p, v)
    yield rewrite(padded, slice_(pad(x, m, p, v), turns(x, t, padded)), because="one way is enough")
