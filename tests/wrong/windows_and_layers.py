"""Windows, images and layers: axes that turn round, even kernels, groups, forgotten activations."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

from dataclasses import replace

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Int, Permutation, Settings, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    PoolWindow,
    conv,
    literal,
    lp_pool,
    none,
    output,
    pool,
    recurrent,
    resize,
    slice_,
    transpose,
)
from egraph_opt.operators.recurrent import RecurrentLayer

from . import fires_on, of_one, wrong
from .layers_with_settings import last, layer

# --- axes that turn round -----------------------------------------------------------------------------------

TURN, BACK = (0, 1, 3, 4, 2), (0, 1, 4, 2, 3)
SWAP = (0, 1, 3, 2)
"""Axes of an image exchanged, which is its own inverse."""


@hosted()
def undoes(p: Permutation, q: Permutation) -> bool:
    return len(p) == len(q) and all(p[q[k]] == k for k in range(len(p)))


def _ordered(p, numbers):
    """Numbers of the axes behind the second, or of their beginnings and their ends, in an order."""
    n = len(p) - 2
    return tuple(numbers[begin + a - 2] for begin in range(0, len(numbers), n) for a in p[2:])


@hosted()
def pool_in_order(p: Permutation, w: PoolWindow) -> PoolWindow | None:
    if p[:2] != (0, 1) or len(p) != len(w.kernel) + 2:
        return None
    settings = {name: _ordered(p, getattr(w, name)) for name in ("kernel", "strides", "pads", "dilations")}
    return replace(w, **settings)


def _pool_between(w):
    return of_one(lambda x: transpose(pool("MaxPool", transpose(x, TURN), w), BACK), (1, 1, 4, 4, 4))


@wrong("finite", _pool_between(PoolWindow((1, 2, 3), (1,) * 3, (0,) * 6, (1,) * 3)))
def pool_between_turns(x: Tensor, p: Permutation, q: Permutation, w: PoolWindow):
    """Transpose_q(MaxPool(Transpose_p(x))) = MaxPool(x) for a q that turns p back

    Wrong of three axes that turn round: the settings have to be turned by q, not by p.
    """
    left = transpose(pool("MaxPool", transpose(x, p), w), q)
    yield rewrite(left, pool("MaxPool", x, pool_in_order(p, w)), undoes(p, q), because="no transposes")


def _norm_between(p, shape, w, q):
    return of_one(lambda x: transpose(lp_pool(2, transpose(x, p), w), q), shape)


@wrong(
    "reassociates",
    _norm_between(TURN, (1, 1, 3, 3, 3), PoolWindow((2,) * 3, (1,) * 3, (1, 0, 0, 0, 0, 0), (1,) * 3), BACK),
    examples=fires_on(
        _norm_between(SWAP, ("N", 2, 5, 6), PoolWindow((2, 3), (1, 1), (1, 0, 0, 0), (1, 1)), SWAP)
    ),
)
def norm_pool_between_turns(n: Int, x: Tensor, w: PoolWindow, p: Permutation, q: Permutation):
    """Transpose_q(LpPool(Transpose_p(x))) = LpPool(x), its settings in the order of x

    Wrong of three axes that turn round: the order is that of q.
    """
    left = transpose(lp_pool(n, transpose(x, p), w), q)
    yield rewrite(left, lp_pool(n, x, pool_in_order(p, w)), undoes(p, q), because="no transposes")


@hosted()
def kernel_order(p: Permutation) -> Permutation | None:
    return p if p[:2] == (0, 1) else None


@hosted()
def conv_in_order(q: Permutation, w: ConvWindow) -> ConvWindow | None:
    if q[:2] != (0, 1) or len(q) != len(w.strides) + 2:
        return None
    return replace(w, **{name: _ordered(q, getattr(w, name)) for name in ("strides", "pads", "dilations")})


def _conv_between(g):
    x, k = transpose(g.input((1, 1, 3, 3, 3)), TURN), g.random(1, 1, 2, 2, 2)
    return transpose(conv(x, k, none(), ConvWindow((1,) * 3, (0,) * 6, (1,) * 3)), BACK)


@wrong("reassociates", _conv_between)
def conv_between_turns(x: Tensor, k: Tensor, b: Tensor, w: ConvWindow, p: Permutation, q: Permutation):
    """Transpose_q(Conv(Transpose_p(x), W)) = Conv(x, Transpose(W))

    Wrong of three axes that turn round: W is turned by p, and has to be by q.
    """
    left = transpose(conv(transpose(x, p), k, b, w), q)
    turned = conv(x, transpose(k, kernel_order(p)), b, conv_in_order(q, w))
    yield rewrite(left, turned, undoes(p, q), because="no transposes")


# --- kernels and images -------------------------------------------------------------------------------------


@hosted()
def middle_of(k: Fact, x: Fact, w: ConvWindow) -> Slices | None:
    """The middle of a kernel, where pads as wide as half of it leave one pixel to see."""
    if x.rank != 4 or not x.is_static or not k.is_static or x.shape[2:] != (1, 1) or 0 in k.shape:
        return None
    reach = [(k.shape[2 + a] - 1) * w.dilations[a] for a in (0, 1)]
    if w.group != 1 or w.strides != (1, 1) or any(2 * pad != reach[a % 2] for a, pad in enumerate(w.pads)):
        return None
    return tuple((a, k.shape[a] // 2, k.shape[a] // 2 + 1, 1) for a in (2, 3))


@hosted()
def of_one_pixel(w: ConvWindow) -> ConvWindow:
    return replace(w, pads=(0,) * len(w.pads), dilations=(1,) * len(w.dilations))


def _of_pixel(kernel, pads, dilations):
    window = ConvWindow((1, 1), pads, dilations)
    return lambda g: conv(g.input((2, 2, 1, 1)), g.random(3, 2, *kernel), none(), window)


@wrong(
    "reassociates",
    _of_pixel((2, 3), (1, 1, 1, 1), (2, 1)),
    examples=fires_on(_of_pixel((3, 3), (1, 1, 1, 1), (1, 1)), _of_pixel((3, 3), (1, 2, 1, 2), (1, 2))),
)
def middle_of_kernel(x: Tensor, k: Tensor, b: Tensor, w: ConvWindow):
    """Conv(x, W) = Conv(x, the middle of W) for an image of one pixel and SAME pads

    Wrong of even kernels with an even dilation: the pixel lies between two elements.
    """
    middle = conv(x, slice_(k, middle_of(k, x, w)), b, of_one_pixel(w))
    yield rewrite(conv(x, k, b, w), middle, because="the rest sees pads")


@hosted()
def seen_channels(x: Fact, k: Fact, w: ConvWindow, t: Slices) -> Slices | None:
    """What outputs of one group see: channels from the beginning or the middle on, or one channel."""
    if len(t) != 1 or t[0][0] != 1 or not x.is_static or not k.is_static or w.group < 2:
        return None
    _, begin, end, step = t[0]
    inputs, outputs = x.shape[1], k.shape[0]
    each, rows = inputs // w.group, outputs // w.group
    if step != 1 or end is None or begin // rows != (end - 1) // rows:
        return None
    if each == rows == 1:
        return ((1, begin, end, 1),)
    if inputs % 2 or outputs % 2:
        return None
    first = 0 if begin < outputs // 2 else inputs // 2
    return ((1, first, first + each, 1),)


@hosted()
def rows_of_outputs(t: Slices) -> Slices:
    return ((0, *t[0][1:]),)


@hosted()
def in_one_group(w: ConvWindow) -> ConvWindow:
    return replace(w, group=1)


def _grouped(channels, groups, begin, end):
    def make(g):
        k, window = g.random(channels, channels // groups, 2, 2), ConvWindow((1, 1), (0,) * 4, (1, 1), groups)
        return slice_(conv(g.input((1, channels, 4, 4)), k, none(), window), ((1, begin, end, 1),))

    return make


@wrong("reassociates", _grouped(8, 4, 2, 3), examples=fires_on(_grouped(4, 2, 2, 4), _grouped(4, 4, 1, 2)))
def channels_of_one_group(x: Tensor, k: Tensor, w: ConvWindow, t: Slices):
    """Conv(x, W; groups)[:, a:b] = Conv(the channels of its group, W[a:b])

    Wrong of four groups and more of two channels: the second is not in the first half.
    """
    part = conv(slice_(x, seen_channels(x, k, w, t)), slice_(k, rows_of_outputs(t)), none(), in_one_group(w))
    yield rewrite(slice_(conv(x, k, none(), w), t), part, because="less to compute")


PLAIN = (
    ("antialias", 0),
    ("coordinate_transformation_mode", "asymmetric"),
    ("cubic_coeff_a", -0.75),
    ("exclude_outside", 0),
    ("extrapolation_value", 0.0),
    ("keep_aspect_ratio_policy", "stretch"),
    ("mode", "nearest"),
    ("nearest_mode", "floor"),
)


@hosted()
def is_nearest(s: Settings) -> bool:
    known = dict(s)
    policy = known.get("keep_aspect_ratio_policy", "stretch")
    plain = (known["mode"], known["coordinate_transformation_mode"], policy)
    return plain == ("nearest", "asymmetric", "stretch") and "axes" not in known


@hosted()
def scales_of(x: Fact, n: Fact) -> Literal | None:
    if not x.is_static or 0 in x.shape or n.ints is None or len(n.ints) != x.rank or 0 in n.ints:
        return None
    scales = tuple(float(np.float32(size / dim)) for size, dim in zip(n.ints, x.shape, strict=True))
    return Literal(T.FLOAT, (x.rank,), scales)


def _sized(dim, size):
    return lambda g: resize(
        g.input((1, 1, dim, 2)), none(), none(), g.constant(np.array([1, 1, size, 2])), PLAIN
    )


@wrong("bitwise", _sized(11, 13), examples=fires_on(_sized(4, 8), opset=18))
def sizes_as_scales(x: Tensor, r: Tensor, n: Tensor, s: Settings):
    """Resize(x; sizes) = Resize(x; sizes / dims)

    Wrong where the rounded scale makes one pixel less.
    """
    scaled = resize(x, r, literal(scales_of(x, n)), none(), s)
    yield rewrite(resize(x, r, none(), n, s), scaled, is_nearest(s), because="constant scales")


# --- activations --------------------------------------------------------------------------------------------

WITH_ALPHA = {"LeakyRelu", "ThresholdedRelu", "HardSigmoid", "ScaledTanh"}
WITH_BETA = {"HardSigmoid", "ScaledTanh"}


def _without(setting, s, users):
    how = dict(s.settings)
    if not how.pop(setting, None) or users & {*(how.get("activations") or ())}:
        return None
    return RecurrentLayer(s.kind, tuple(sorted(how.items())))


@hosted()
def without_alpha(s: RecurrentLayer) -> RecurrentLayer | None:
    return _without("activation_alpha", s, WITH_ALPHA)


@hosted()
def without_beta(s: RecurrentLayer) -> RecurrentLayer | None:
    return _without("activation_beta", s, WITH_BETA)


def _activated(name, **settings):
    return lambda g: last(layer(g, "RNN", activations=(name,), activation_alpha=(0.5,), **settings))


@wrong("bitwise", _activated("Elu"), examples=fires_on(_activated("Softsign")))
def alpha_of_no_activation(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x; alpha) = RNN(x) for activations that have no alpha

    Wrong of Elu, which was forgotten.
    """
    how = listed(w, r, b, p), none(), none(), none()
    left = output(recurrent(x, *how, s), k)
    yield rewrite(left, output(recurrent(x, *how, without_alpha(s)), k), because="one spelling")


@wrong(
    "bitwise",
    _activated("Affine", activation_beta=(0.25,)),
    examples=fires_on(_activated("LeakyRelu", activation_beta=(0.25,))),
)
def beta_of_no_activation(x: Tensor, w: Tensor, r: Tensor, b: Tensor, p: Tensor, s: RecurrentLayer, k: Int):
    """RNN(x; beta) = RNN(x) for activations that have no beta

    Wrong of Affine, which was forgotten.
    """
    how = listed(w, r, b, p), none(), none(), none()
    left = output(recurrent(x, *how, s), k)
    yield rewrite(left, output(recurrent(x, *how, without_beta(s)), k), because="one spelling")
