"""Windows between slices that turn an image round: right where they are the same from either end."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Slices, String, Tensor, hosted, is_same, rewrite
from egraph_opt.operators import ConvWindow, PoolWindow, conv, conv_transpose, none, pool, slice_
from egraph_opt.rewrites.slicing.slice import entry_of

from . import fires_on, wrong


def axis_turned_twice(s: Slices, t: Slices, *known: Fact) -> tuple[int, list[int]] | None:
    """The one axis of which two slices take all backwards, and how long each of some operands is there: the
    first slice is of the first of them, the other one of the second."""
    if len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0] or s[0][0] < 2:
        return None
    a = s[0][0]
    dims = [f.shape[a] for f in known if f.shape is not None and a < len(f.shape)]
    sizes = [d for d in dims if isinstance(d, int)]
    if len(sizes) != len(known) or (s[0], t[0]) != (backwards(a, sizes[0]), backwards(a, sizes[1])):
        return None
    return a, sizes


def backwards(axis: int, size: int) -> tuple[int, int, int | None, int]:
    return entry_of(axis, range(size)[::-1])


@hosted()
def turned_pool(u: PoolWindow, s: Slices, t: Slices, x: Fact, y: Fact) -> bool:
    found = axis_turned_twice(s, t, x, y)
    if found is None:
        return False
    axis, (n, _) = found
    k, axes = axis - 2, len(u.kernel)
    if u.pads[k] != u.pads[k + axes] or u.ceil_mode or u.dilations[k] != 1:
        return False
    return (n - u.kernel[k]) % u.strides[k] == 0


def _turned(n, k, s, p, kind="MaxPool"):
    m = (n + 2 * p - k) // s + 1
    return lambda g: slice_(
        pool(kind, slice_(g.input((1, 2, n)), (backwards(2, n),)), PoolWindow((k,), (s,), (p, p), (1,))),
        (backwards(2, m),),
    )


@wrong(
    "finite",
    _turned(8, 2, 3, 1),
    examples=fires_on(_turned(8, 2, 2, 0), _turned(7, 3, 1, 1), _turned(7, 3, 2, 1)),
)
def pool_of_image_turned_round(kind: String, x: Tensor, u: PoolWindow, s: Slices, t: Slices):
    """MaxPool(x[::-1])[::-1] = MaxPool(x)

    Wrong where the stride does not divide the pads.
    """
    z = slice_(x, s)
    y = pool(kind, z, u)
    yield rewrite(
        slice_(y, t),
        pool(kind, x, u),
        is_same(kind, "MaxPool"),
        turned_pool(u, s, t, x, y),
        because="forgets slices",
    )


@hosted()
def turned_window(u: ConvWindow, s: Slices, t: Slices, x: Fact, y: Fact, w: Fact) -> Slices | None:
    found = axis_turned_twice(s, t, x, y, w)
    if found is None:
        return None
    axis, (_, _, size) = found
    k, axes = axis - 2, len(u.strides)
    return (backwards(axis, size),) if u.pads[k] == u.pads[k + axes] else None


def _mirrored(n, k, s, p, o):
    def make(g):
        u = ConvWindow((s,), (p, p), (1,), 1, (o,))
        m = s * (n - 1) + o + k - 2 * p
        return slice_(
            conv_transpose(slice_(g.input((1, 2, n)), (backwards(2, n),)), g.random(2, 2, k), none(), u),
            (backwards(2, m),),
        )

    return make


@wrong(
    "reassociates",
    _mirrored(4, 3, 2, 1, 1),
    examples=fires_on(_mirrored(4, 3, 2, 1, 0), _mirrored(5, 2, 2, 0, 0)),
)
def mirrored_transposed(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices, t: Slices):
    """ConvTranspose(x[::-1], W)[::-1] = ConvTranspose(x, W[::-1]) for equal pads

    Wrong with output_padding, which is behind.
    """
    y = conv_transpose(slice_(x, s), w, b, u)
    yield rewrite(
        slice_(y, t),
        conv_transpose(x, slice_(w, turned_window(u, s, t, x, y, w)), b, u),
        because="kernels are turned round",
    )


@hosted()
def same_from_behind(u: ConvWindow, s: Slices, t: Slices, x: Fact, y: Fact, w: Fact) -> Slices | None:
    found = axis_turned_twice(s, t, x, y, w)
    if found is None:
        return None
    axis, (n, _, size) = found
    k, axes = axis - 2, len(u.strides)
    if u.pads[k] != u.pads[k + axes] or (n + 2 * u.pads[k] - size) % u.strides[k]:
        return None
    return (backwards(axis, size),)


def _conv_back(n, k, s, p, d):
    m = (n + 2 * p - d * (k - 1) - 1) // s + 1
    return lambda g: slice_(
        conv(
            slice_(g.input((1, 2, n)), (backwards(2, n),)),
            g.random(2, 2, k),
            none(),
            ConvWindow((s,), (p, p), (d,)),
        ),
        (backwards(2, m),),
    )


@wrong(
    "reassociates",
    _conv_back(8, 2, 2, 0, 2),
    examples=fires_on(_conv_back(8, 2, 2, 0, 1), _conv_back(7, 3, 2, 1, 1), _conv_back(9, 3, 1, 0, 2)),
)
def convolution_from_behind(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices, t: Slices):
    """Conv(x[::-1], W)[::-1] = Conv(x, W[::-1]) where the windows end with x

    Wrong of strides with gaps: a window is longer than its kernel.
    """
    y = conv(slice_(x, s), w, b, u)
    yield rewrite(
        slice_(y, t),
        conv(x, slice_(w, same_from_behind(u, s, t, x, y, w)), b, u),
        because="kernels are turned round",
    )
