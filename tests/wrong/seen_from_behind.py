"""Windows between slices that turn an image round: right where they are the same from either end."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Slices, String, Tensor, hosted, is_same, rewrite
from egraph_opt.operators import ConvWindow, PoolWindow, conv, conv_transpose, none, pool, slice_
from egraph_opt.rewrites.slicing.slice import entry_of

from . import fires_on, wrong


@hosted()
def turned_pool(kind: String, u: PoolWindow, s: Slices, t: Slices, x: Fact, y: Fact) -> bool:
    if len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0] or s[0][0] < 2 or x.shape is None or y.shape is None:
        return False
    a = s[0][0]
    n, m = x.shape[a], y.shape[a]
    if (
        not isinstance(n, int)
        or not isinstance(m, int)
        or s[0] != entry_of(a, range(n)[::-1])
        or t[0] != entry_of(a, range(m)[::-1])
    ):
        return False
    k, axes = a - 2, len(u.kernel)
    if u.pads[k] != u.pads[k + axes] or u.ceil_mode or u.dilations[k] != 1:
        return False
    return (n - u.kernel[k]) % u.strides[k] == 0


def _turned(n, k, s, p, kind="MaxPool"):
    m = (n + 2 * p - k) // s + 1
    return lambda g: slice_(
        pool(
            kind,
            slice_(g.input((1, 2, n)), (entry_of(2, range(n)[::-1]),)),
            PoolWindow((k,), (s,), (p, p), (1,)),
        ),
        (entry_of(2, range(m)[::-1]),),
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
        turned_pool(kind, u, s, t, x, y),
        because="forgets slices",
    )


@hosted()
def turned_window(u: ConvWindow, s: Slices, t: Slices, x: Fact, y: Fact, w: Fact) -> Slices | None:
    if (
        len(s) != 1
        or len(t) != 1
        or s[0][0] != t[0][0]
        or s[0][0] < 2
        or any(f.shape is None for f in (x, y, w))
    ):
        return None
    a = s[0][0]
    dims = [f.shape[a] for f in (x, y, w)]
    if (
        any(not isinstance(d, int) for d in dims)
        or s[0] != entry_of(a, range(dims[0])[::-1])
        or t[0] != entry_of(a, range(dims[1])[::-1])
    ):
        return None
    k, axes = a - 2, len(u.strides)
    if u.pads[k] != u.pads[k + axes]:
        return None
    return (entry_of(a, range(dims[2])[::-1]),)


def _mirrored(n, k, s, p, o):
    def make(g):
        u = ConvWindow((s,), (p, p), (1,), 1, (o,))
        m = s * (n - 1) + o + k - 2 * p
        return slice_(
            conv_transpose(
                slice_(g.input((1, 2, n)), (entry_of(2, range(n)[::-1]),)), g.random(2, 2, k), none(), u
            ),
            (entry_of(2, range(m)[::-1]),),
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


def _back(n):
    return entry_of(2, range(n)[::-1])


@hosted()
def same_from_behind(u: ConvWindow, s: Slices, t: Slices, x: Fact, y: Fact, w: Fact) -> Slices | None:
    if (
        len(s) != 1
        or len(t) != 1
        or s[0][0] != t[0][0]
        or s[0][0] < 2
        or any(f.shape is None for f in (x, y, w))
    ):
        return None
    a = s[0][0]
    n, m, k = (f.shape[a] for f in (x, y, w))
    if (
        any(not isinstance(d, int) for d in (n, m, k))
        or s[0] != entry_of(a, range(n)[::-1])
        or t[0] != entry_of(a, range(m)[::-1])
    ):
        return None
    i, axes = a - 2, len(u.strides)
    if u.pads[i] != u.pads[i + axes] or (n + 2 * u.pads[i] - k) % u.strides[i]:
        return None
    return (entry_of(a, range(k)[::-1]),)


def _conv_back(n, k, s, p, d):
    m = (n + 2 * p - d * (k - 1) - 1) // s + 1
    return lambda g: slice_(
        conv(
            slice_(g.input((1, 2, n)), (_back(n),)), g.random(2, 2, k), none(), ConvWindow((s,), (p, p), (d,))
        ),
        (_back(m),),
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
