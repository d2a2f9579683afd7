"""Formats of Ascend's kernels: NC1HWC0 ("5HD") of images, FRACTAL_NZ of matrices, and ND, that of ONNX.

Which of them an operator takes is asked by laws, and by the cost model of a chip.  Source of all:
hicann/ops-nn, where another is not named.  No laws here.
"""

import math

from egraph_opt.facts.fact import Fact, Shape

IMAGES = "NC1HWC0"
"""Channels in blocks of 32 bytes, each block a plane; with a depth it is called NDC1HWC0."""

MATRICES = "FRACTAL_NZ"
"""The last two dims in tiles."""

ROWS = "FRACTAL_NZ of all rows"
"""The same of a tensor whose leading dims are further rows, as products with one matrix take it."""

IN_PLACE = {function: f"{IMAGES} in place, {function or 'bare'}" for function in ("", "Relu", "LeakyRelu")}
"""Per function behind convolutions what the format is called where they write a part of a wider image: a
Concat of them joins no tensors (ConvConcatFusionPass, hiascend atlasrr_30_0010)."""

RULES = {"aligned": 1, "inner": 2}
"""Which products take operands in ND (matmul_util.cpp, IsFormatSupportNd), as laws have it for a limit.

aligned: the last two dims of both are multiples of the tile's side (310, 310P, 910A); inner: the last dims of
both are within 128..65535 or multiples of the side, or both matrices are small (910B).
"""

_SMALL = 65535
_LEAST = 128
CHIP_FLOATS = frozenset((1, 10, 16))
"""float32, float16 and bfloat16: what chips compute as float16."""


def is_chip_float(x: Fact) -> bool:
    """What the chip computes as float16 (float32 as well, see `float_bytes` of the cost model)."""
    return x.dtype in CHIP_FLOATS


def runs(x: Fact) -> bool:
    """What the chip computes as float16 when the model runs."""
    return is_chip_float(x) and not x.const


def is_image(x: Fact) -> bool:
    """Floats with channels and two or three spatial axes, computed when the model runs."""
    return runs(x) and x.rank in (4, 5)


def is_matrix(x: Fact) -> bool:
    """Floats of two axes or more, computed when the model runs."""
    return runs(x) and x.rank is not None and x.rank >= 2


def is_vector(shape: Shape) -> bool:
    """A row or a column has no format: it is read as the tiles that it fills, one after the other.

    GEMV mode, hiascend atlas_ascendc_10_10019; a column is the row of the transposed product.
    """
    return len(shape) < 2 or 1 in shape[-2:]


def folded(a: Shape, b: Shape) -> Shape:
    """The left operand as products take it: batches are further rows where the right one is a matrix.

    PyTorch's matmul does so before it calls aclnnMatmul; of offline models it is inferred.
    """
    rows = a[:-1]
    if not _is_one_matrix(b) or len(a) < 3 or not all(isinstance(d, int) for d in rows):
        return a
    return (math.prod(rows), a[-1])  # type: ignore[arg-type]


def _is_one_matrix(shape: Shape) -> bool:
    return len(shape) >= 2 and all(d == 1 for d in shape[:-2])


def product_format(a: Shape, b: Shape, side: int) -> str:
    """The format of a product whose operands are not taken in ND.

    Whole tiles of rows, and a single matrix, are in the same order in both formats of matrices: they have
    the more common name.
    """
    several = len(a) > 2 and any(d != 1 for d in a[:-2])
    rows = a[-2] if several else side
    return ROWS if _is_one_matrix(b) and not (isinstance(rows, int) and rows % side == 0) else MATRICES


def takes_plain(a: Fact, b: Fact, rule: int, side: int) -> bool:
    """Whether a product runs on operands in ND; no where a dim that matters is not known.

    Args:
        a, b: the operands.
        rule: one of `RULES`.
        side: of a tile.
    """
    if a.shape is None or b.shape is None:
        return False
    matrices = [shape[-2:] for shape in (folded(a.shape, b.shape), b.shape) if not is_vector(shape)]
    if not all(isinstance(d, int) for matrix in matrices for d in matrix):
        return False
    if rule == RULES["aligned"]:
        return all(d % side == 0 for matrix in matrices for d in matrix)  # type: ignore[operator]
    inner = [matrix[-1] for matrix in matrices]
    if all(_LEAST <= d <= _SMALL or (d < _LEAST and d % side == 0) for d in inner):  # type: ignore[operator]
        return True
    return all(m[0] * m[-1] <= _SMALL for m in matrices)  # type: ignore[operator]


def suits(layout: str, other: Fact, result: Fact) -> bool:
    """Whether an element-wise kernel in a format takes an operand as well whose result has that shape.

    In blocks of channels either all spatial dims are broadcast or none is, and never the channels: there is
    one padding for both.  Symbols that differ are taken for equal dims, as only prices depend on it.
    Constants are brought into the format beforehand.
    """
    if other.const:
        return True
    if other.shape is None or result.shape is None or other.rank != result.rank:
        return False
    own, whole = other.shape, result.shape
    if layout == ROWS:
        return _agree(own, whole)
    if layout == IMAGES:
        spatial = all(d == 1 for d in own[2:]) or _agree(own[2:], whole[2:])
        return spatial and _agree(own[1:2], whole[1:2]) and (own[:1] == (1,) or _agree(own[:1], whole[:1]))
    leading = zip(own[:-2], whole[:-2], strict=True)
    return _agree(own[-2:], whole[-2:]) and all(d == 1 or _agree((d,), (e,)) for d, e in leading)


def _agree(shape: Shape, other: Shape) -> bool:
    """Whether no dims are known to differ."""
    numbers = (pair for pair in zip(shape, other, strict=True) if all(isinstance(d, int) for d in pair))
    return all(d == e for d, e in numbers)
