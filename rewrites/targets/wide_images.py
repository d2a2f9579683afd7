"""Images too wide for the target are computed on their side, for targets that hold rows at full width.

    Conv(x, W) -> T(Conv(T(x), T(W))), ConvTranspose and pools likewise

T swaps height and width.  The laws fire only where the target publishes `row_width` (the widest row) and
`resident_pixels` (rows times width that its memory holds): on images wider than that and than high, and on
what comes after them up to the next view (`after_wide`), so that all of it can stay on its side.  What the
transposes meet on the way is in `wide_operands`, `transpose`, `transpose_movement` and `transpose_windows`,
which also find the left sides from the right ones.
"""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.sorts import Int, String, Tensor, Tensors, Unit
from egraph_opt.operators import (
    PoolWindow,
    concat,
    none,
    pad,
    pool,
    resize,
    slice_,
    transpose,
    unary,
    variadic,
)
from egraph_opt.operators.linear import ConvWindow, conv, conv_transpose
from egraph_opt.operators.reductions import batchnorm, instance_norm
from egraph_opt.operators.terms import cons, limit
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.transposes.windows import SWAP, moved_window

# --- what is too wide ---------------------------------------------------------------------------------------


def _image(x: Fact) -> tuple[int, int] | None:
    """Height and width of an image that is wider than high."""
    if x.shape is None or len(x.shape) != 4 or x.const:
        return None
    height, width = x.shape[2:]
    if not isinstance(height, int) or not isinstance(width, int) or height >= width:
        return None
    return height, width


@hosted()
def conv_is_too_wide(x: Fact, w: Fact, window: ConvWindow, widest: int, resident: int) -> bool:
    """Whether the rows under one row of the kernel are too wide for the target, or too many."""
    image = _image(x)
    if image is None or w.shape is None or not isinstance(w.shape[2], int):
        return False
    height, width = image
    rows = (w.shape[2] - 1) * window.dilations[0] + 1 + window.strides[0]
    return width > widest or min(rows, height) * width > resident


@hosted()
def transposed_is_too_wide(x: Fact, w: Fact, window: ConvWindow, widest: int, resident: int) -> bool:
    """The same of a ConvTranspose, whose rows have zeros between the pixels."""
    image = _image(x)
    if image is None or w.shape is None or not isinstance(w.shape[2], int):
        return False
    height, width = image[0] * window.strides[0], image[1] * window.strides[1]
    return height < width and (width > widest or min(w.shape[2] + 1, height) * width > resident)


@hosted()
def pool_is_too_wide(x: Fact, widest: int) -> bool:
    image = _image(x)
    return image is not None and image[1] > widest


@table()
def after_wide(x: Tensor) -> Unit:
    """An image too wide for an operator, or computed from one."""


@table()
def wide_among(xs: Tensors) -> Unit:
    """Such an image is an element of the list."""


@auxiliary()
def too_wide(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: PoolWindow, kind: String):
    """Fills `after_wide` with images that are too wide."""
    most = (limit("row_width"), limit("resident_pixels"))
    yield rule(conv(x, w, b, u), conv_is_too_wide(x, w, u, *most), then=after_wide(x))
    yield rule(conv_transpose(x, w, b, u), transposed_is_too_wide(x, w, u, *most), then=after_wide(x))
    yield rule(pool(kind, x, v), pool_is_too_wide(x, most[0]), then=after_wide(x))


@auxiliary(too_wide, either_side)
def wide(
    x: Tensor, y: Tensor, z: Tensor, w: Tensor, b: Tensor, m: Tensor, v: Tensor, xs: Tensors,
    rest: Tensors, op: String, s: Any, mode: Any, value: Any, k: Int,
):  # fmt: skip
    """Fills `after_wide` and `wide_among` behind such images, through operators that keep images."""
    for image in (
        conv(x, w, b, s),
        conv_transpose(x, w, b, s),
        pool(op, x, s),
        unary(op, s, x),
        beside(op, x, y, k),
        batchnorm(x, w, b, m, v, s),
        instance_norm(x, w, b, s),
        pad(x, mode, s, value),
        slice_(x, s),
        resize(x, none(), w, none(), s),
    ):
        yield rule(after_wide(x), eq(z, image), then=after_wide(z))
    yield rule(after_wide(x), eq(xs, cons(x, rest)), then=wide_among(xs))
    yield rule(wide_among(rest), eq(xs, cons(x, rest)), then=wide_among(xs))
    for image in (concat(xs, s), variadic(op, xs)):
        yield rule(wide_among(xs), eq(z, image), then=after_wide(z))


# --- the laws -----------------------------------------------------------------------------------------------


@hosted()
def lies(x: Fact) -> bool:
    """An image wider than high."""
    return _image(x) is not None


@hosted()
def turned_window(window: Any) -> Any:
    """The window of an image as that of the image on its side."""
    return moved_window(SWAP, window) if len(window.strides) == 2 else None


def turn(x: Tensor) -> Any:
    """T(x)"""
    return transpose(x, SWAP)


SHARED: dict[str, Any] = {
    "kind": "move",
    "serves": "target",
    "source": "Ascend auto-optimizer, TransposeLargeInputConv",
}
"""What the laws of this ruleset have in common."""


@law("wide_images", numerics="reassociates", uses=(wide,), **SHARED)
def lay_conv(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) = T(Conv(T(x), T(W), b)) for images too wide for the target, and after them"""
    yield rewrite(
        conv(x, w, b, u),
        turn(conv(turn(x), turn(w), b, turned_window(u))),
        guard(after_wide(x), lies(x)),
        inverse="transpose.through_conv",
    )


@law(
    "wide_images",
    numerics="reassociates",
    uses=(wide,),
    **{**SHARED, "source": "hicann/ops-nn aclnn_convolution.cpp, which does so for outW > 4096"},
)
def lay_conv_transpose(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """ConvTranspose(x, W, b) = T(ConvTranspose(T(x), T(W), b)) for images too wide for the target"""
    yield rewrite(
        conv_transpose(x, w, b, u),
        turn(conv_transpose(turn(x), turn(w), b, turned_window(u))),
        guard(after_wide(x), lies(x)),
        inverse="transpose.through_conv_transpose",
    )


@law("wide_images", numerics="reassociates", uses=(wide,), **SHARED)
def lay_pool(kind: String, x: Tensor, u: PoolWindow):
    """Pool(x) = T(Pool(T(x))) for images too wide for the target"""
    yield rewrite(
        pool(kind, x, u),
        turn(pool(kind, turn(x), turned_window(u))),
        guard(after_wide(x), lies(x)),
        inverse="transpose.through_pool",
    )
