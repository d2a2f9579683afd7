"""Views in a row of which all examples have one channel: where it is among the dims, none of them says."""

# Written as people write, who look at whether a shape is static and then take its dims for numbers.
# mypy: disable-error-code="arg-type, index, misc, operator"

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Permutation, Settings, Tensor, hosted, rewrite
from egraph_opt.laws.examples import FLOAT
from egraph_opt.operators import ConvWindow, blockwise, conv, none, reshape, transpose

from . import fires_on, wrong

ONE = "one operator"


# --- blocks ------------------------------------------------------------------------------------------------


def shuffle(n: int, c: int, b: int, h: int, w: int):
    def make(g):
        apart = reshape(g.input((n, c * b * b, h, w)), (n, c, b, b, h, w))
        return reshape(transpose(apart, (0, 1, 4, 2, 5, 3)), (n, c, h * b, w * b))

    return make


@hosted()
def shuffled(d: Dims, p: Permutation, e: Dims, x: Fact) -> Settings | None:
    if p != (0, 1, 4, 2, 5, 3) or len(d) != 6 or x.rank != 4 or not x.is_static or x.dtype != FLOAT:
        return None
    n, c, b, other, h, w = d
    if b != other or b < 2 or (n, c * b * b, h, w) != x.shape or e != (n, c, h * b, w * b):
        return None
    return (("blocksize", b), ("mode", "DCR"))


@wrong("bitwise", shuffle(1, 2, 2, 2, 3), examples=fires_on(shuffle(1, 1, 2, 3, 4), shuffle(2, 1, 3, 2, 2)))
def pixel_shuffle_of_floats(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x))) = DepthToSpace(x)

    Wrong of several channels: it is the other mode.
    """
    apart = reshape(transpose(reshape(x, d), p), e)
    yield rewrite(apart, blockwise("DepthToSpace", x, shuffled(d, p, e, x)), because=ONE)


def unshuffle(n: int, c: int, h: int, w: int, b: int):
    def make(g):
        apart = reshape(g.input((n, c, h * b, w * b)), (n, c, h, b, w, b))
        return reshape(transpose(apart, (0, 1, 3, 5, 2, 4)), (n, c * b * b, h, w))

    return make


@hosted()
def unshuffled(d: Dims, p: Permutation, e: Dims, x: Fact) -> Settings | None:
    if p != (0, 1, 3, 5, 2, 4) or len(d) != 6 or x.rank != 4 or not x.is_static or x.dtype != FLOAT:
        return None
    n, c, h, b, w, other = d
    if b != other or b < 2 or (n, c, h * b, w * b) != x.shape or e != (n, c * b * b, h, w):
        return None
    return (("blocksize", b),)


@wrong(
    "bitwise", unshuffle(1, 3, 2, 2, 2), examples=fires_on(unshuffle(1, 1, 2, 3, 2), unshuffle(2, 1, 2, 2, 3))
)
def pixel_unshuffle(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x))) = SpaceToDepth(x)

    Wrong of several channels, which SpaceToDepth has behind the blocks.
    """
    apart = reshape(transpose(reshape(x, d), p), e)
    yield rewrite(apart, blockwise("SpaceToDepth", x, unshuffled(d, p, e, x)), because=ONE)


# --- patches -----------------------------------------------------------------------------------------------


def patches(c: int, h: int = 2, k: int = 2, p: int = 2, outputs: int = 5):
    def make(g):
        apart = reshape(g.input((1, c, h * p, k * p)), (1, c, h, p, k, p))
        rows = reshape(transpose(apart, (0, 2, 4, 3, 5, 1)), (1, h * k, p * p * c))
        return rows @ g.random(p * p * c, outputs)

    return make


@hosted()
def patch_of(d: Dims, e: Dims, x: Fact, w: Fact) -> ConvWindow | None:
    if not x.is_static or not w.is_static or x.rank != 4 or w.rank != 2 or len(d) != 6 or x.dtype != FLOAT:
        return None
    n, c, h, p, k, other = d
    if p != other or (n, c, h * p, k * p) != x.shape or 0 in x.shape:
        return None
    if e != (n, h * k, p * p * c) or w.shape[0] != p * p * c:
        return None
    return ConvWindow((p, p), (0, 0, 0, 0), (1, 1))


@hosted()
def kernel_dims(d: Dims, w: Fact) -> Dims | None:
    return (w.shape[1], d[1], d[3], d[3]) if w.is_static and len(d) == 6 and w.rank == 2 else None


@hosted()
def dims_of_rows(z: Fact) -> Dims | None:
    return z.shape if z.is_static else None


@wrong("reassociates", patches(3), examples=fires_on(patches(1), patches(1, 3, 2, 2, 4)))
def patches_are_convolved(x: Tensor, w: Tensor, d: Dims, e: Dims):
    """Patches(x) @ w = Conv(x, w') with steps as long as patches

    Wrong of several channels, which are the last axis of a patch.
    """
    z = reshape(transpose(reshape(x, d), (0, 2, 4, 3, 5, 1)), e) @ w
    image = conv(x, reshape(transpose(w, (1, 0)), kernel_dims(d, w)), none(), patch_of(d, e, x, w))
    yield rewrite(z, reshape(transpose(image, (0, 2, 3, 1)), dims_of_rows(z)), because=ONE)


def image(c: int, n: int = 1, h: int = 2, w: int = 3, p: int = 2):
    def make(g):
        apart = reshape(g.input((n, h * w, p * p * c)), (n, h, w, p, p, c))
        return reshape(transpose(apart, (0, 5, 1, 3, 2, 4)), (n, c, h * p, w * p))

    return make


@hosted()
def pixels(x: Fact, d: Dims, e: Dims) -> Dims | None:
    if not x.is_static or x.rank != 3 or len(d) != 6 or x.dtype != FLOAT or 0 in d:
        return None
    n, h, w, p, other, c = d
    if p != other or p < 2 or x.shape != (n, h * w, p * p * c) or e != (n, c, h * p, w * p):
        return None
    return (n, h, w, p * p * c)


@hosted()
def block_of(d: Dims) -> Settings | None:
    return (("blocksize", d[3]), ("mode", "CRD")) if len(d) == 6 else None


@wrong("bitwise", image(3), examples=fires_on(image(1), image(1, 2, 3, 3)))
def patches_as_image(x: Tensor, d: Dims, e: Dims):
    """Reshape(Transpose(Reshape(x))) = DepthToSpace(Transpose(Reshape(x))) of patches

    Wrong of several channels: they are behind, and it is the other mode.
    """
    whole = reshape(transpose(reshape(x, d), (0, 5, 1, 3, 2, 4)), e)
    deep = transpose(reshape(x, pixels(x, d, e)), (0, 3, 1, 2))
    yield rewrite(whole, blockwise("DepthToSpace", deep, block_of(d)), because=ONE)


# --- heads -------------------------------------------------------------------------------------------------


def of_heads(heads: int, steps: int = 3, width: int = 4):
    def make(g):
        x = g.input((1, steps, 2)) @ g.random(2, heads * width)
        apart = transpose(reshape(x, (1, steps, heads, width)), (0, 2, 1, 3))
        return reshape(apart, (heads, steps, width))

    return make


@hosted()
def has_one_head(y: Fact, d: Dims, e: Dims) -> bool:
    if not y.is_static or y.rank != 3 or len(d) != 4 or d[0] != 1:
        return False
    n, steps, heads, width = d
    return y.shape == (n, steps, heads * width) and e == (n * heads, steps, width)


@wrong("reassociates", of_heads(2), examples=fires_on(of_heads(1), of_heads(1, 5, 2)))
def heads_of_a_product(x: Tensor, w: Tensor, d: Dims, e: Dims):
    """Reshape(Transpose(Reshape(x @ w))) = Reshape(x @ w) of one head

    Wrong where it looks at the batch.
    """
    y = x @ w
    apart = reshape(transpose(reshape(y, d), (0, 2, 1, 3)), e)
    yield rewrite(apart, reshape(y, e), has_one_head(y, d, e), because="one transpose less")
