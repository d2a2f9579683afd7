"""Windows as long as their steps, which need not be as long along one axis as along the other."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Tensor, hosted, rewrite
from egraph_opt.operators import conv, conv_transpose, none, reshape, transpose
from egraph_opt.operators.linear import ConvWindow

from . import dims, fires_on, wrong

PLAIN = ((0, 0, 0, 0), (1, 1))


def convolved(kernel: tuple[int, int], size: int = 6):
    window = ConvWindow(kernel, *PLAIN)
    return lambda g: conv(g.input((2, 3, size, size)), g.random(4, 3, *kernel), none(), window)


@hosted()
def patches(x: Fact, w: Fact, window: ConvWindow) -> Dims | None:
    """The image with two axes for each of its own: along both, patches are as long as they are high."""
    if (
        x.rank != 4
        or not x.is_static
        or not w.is_static
        or dims(w)[2:] != window.strides
        or window.group != 1
    ):
        return None
    if any(window.pads) or {*window.dilations} != {1} or 0 in (*dims(x), *dims(w)):
        return None
    (height, width), (k, other) = dims(x)[2:], dims(w)[2:]
    return None if height % k or width % other or width % k else (*dims(x)[:2], height // k, k, width // k, k)


@hosted()
def rows_of(x: Fact, w: Fact) -> Dims:
    (n, c, height, width), (k, other) = dims(x), dims(w)[2:]
    return (n * (height // k) * (width // other), c * k * other)


@hosted()
def flat(w: Fact) -> Dims:
    return (dims(w)[0], dims(w)[1] * dims(w)[2] * dims(w)[3])


@hosted()
def image_of(x: Fact, w: Fact) -> Dims:
    return (dims(x)[0], dims(x)[2] // dims(w)[2], dims(x)[3] // dims(w)[3], dims(w)[0])


@wrong("reassociates", convolved((2, 3)), examples=fires_on(convolved((2, 2))))
def product_of_patches(x: Tensor, w: Tensor, window: ConvWindow):
    """Conv(x, w) = Reshape(Reshape(T(Reshape(x))) @ T(Reshape(w))) where the kernel is as long as its steps

    Wrong where the kernel is 2 by 3.
    """
    rows = reshape(transpose(reshape(x, patches(x, w, window)), (0, 2, 4, 1, 3, 5)), rows_of(x, w))
    product = rows @ transpose(reshape(w, flat(w)), (1, 0))
    yield rewrite(
        conv(x, w, none(), window),
        transpose(reshape(product, image_of(x, w)), (0, 3, 1, 2)),
        because="a product does not tell its window",
    )


def transposed(kernel: tuple[int, int]):
    window = ConvWindow(kernel, *PLAIN)
    return lambda g: conv_transpose(g.input((2, 3, 2, 4)), g.random(3, 5, *kernel), none(), window)


@hosted()
def blocks(x: Fact, w: Fact, window: ConvWindow) -> Dims | None:
    """What each pixel is written to, of which the sides are in each other's place."""
    if (
        x.rank != 4
        or not x.is_static
        or not w.is_static
        or dims(w)[2:] != window.strides
        or window.group != 1
    ):
        return None
    if (
        any(window.pads)
        or {*window.dilations} != {1}
        or any(window.output_padding)
        or 0 in (*dims(x), *dims(w))
    ):
        return None
    return (dims(x)[0], *dims(x)[2:], dims(w)[1], dims(w)[3], dims(w)[2])


@hosted()
def enlarged(x: Fact, w: Fact) -> Dims:
    return (dims(x)[0], dims(w)[1], dims(x)[2] * dims(w)[2], dims(x)[3] * dims(w)[3])


@hosted()
def pixels(x: Fact) -> Dims:
    return (dims(x)[0] * dims(x)[2] * dims(x)[3], dims(x)[1])


@wrong("reassociates", transposed((2, 3)), examples=fires_on(transposed((2, 2))))
def blocks_of_product(x: Tensor, w: Tensor, window: ConvWindow):
    """ConvTranspose(x, w) = Reshape(T(Reshape(Reshape(T(x)) @ Reshape(w)))) where kernels are their steps

    Wrong where the kernel is 2 by 3.
    """
    product = reshape(transpose(x, (0, 2, 3, 1)), pixels(x)) @ reshape(w, flat(w))
    blocked = transpose(reshape(product, blocks(x, w, window)), (0, 3, 1, 4, 2, 5))
    yield rewrite(
        conv_transpose(x, w, none(), window),
        reshape(blocked, enlarged(x, w)),
        because="a product does not tell its window",
    )
