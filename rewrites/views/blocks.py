"""Blocks of a plane that become channels, and back, as one operator.

Reshape(Transpose(Reshape(x))) = DepthToSpace(x), or SpaceToDepth(x)

As views they meet others, and each other.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, law, opset, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Dims, Name, Permutation, Settings, String, Tensor
from egraph_opt.operators import blockwise, reshape, transpose
from egraph_opt.operators.quantization import BYTES
from egraph_opt.rewrites.conditions.view_shapes import same_dims

ORDERS: dict[tuple[int, ...], tuple[str, str]] = {
    (0, 3, 4, 1, 5, 2): ("DepthToSpace", "DCR"),
    (0, 1, 4, 2, 5, 3): ("DepthToSpace", "CRD"),
    (0, 3, 5, 1, 2, 4): ("SpaceToDepth", ""),
}
"""What the transpose between two views of an image says: the operator, and its mode."""


def block_size(x: Shape, dims: Shape, p: Permutation) -> int | None:
    """The side of the blocks that a view of an image tells apart; None where it is another view.

    >>> block_size(("N", 12, 2, "W"), ("N", 3, 2, 2, 2, "W"), (0, 1, 4, 2, 5, 3))
    2
    """
    if p not in ORDERS or len(x) != 4 or len(dims) != 6:
        return None
    kind, mode = ORDERS[p]
    if kind == "SpaceToDepth":
        size, parts = dims[3], (dims[2:4], dims[4:])
        told = same_dims(x[:2], dims[:2]) and all(
            symbolic.known_equal(symbolic.product(part), whole)
            for part, whole in zip(parts, x[2:], strict=True)
        )
        sides = (dims[3], dims[5])
    else:
        size = dims[2]
        sides = dims[1:3] if mode == "DCR" else dims[2:4]
        told = same_dims((x[0], *x[2:]), (dims[0], *dims[4:]))
        told = told and symbolic.known_equal(symbolic.product(dims[1:4]), x[1])
    known = isinstance(size, int) and size > 1 and sides[0] == sides[1]
    return size if told and known else None  # type: ignore[return-value]


def merged(dims: Shape, p: Permutation) -> Shape:
    """The dims of an image of which a view was transposed: neighbours are merged again."""
    turned = tuple(dims[axis] for axis in p)
    if ORDERS[p][0] == "SpaceToDepth":
        return (turned[0], symbolic.product(turned[1:4]), *turned[4:])
    return (*turned[:2], symbolic.product(turned[2:4]), symbolic.product(turned[4:]))


@hosted()
def block_operator(x: Fact, dims: Dims, p: Permutation, result: Dims) -> Name | None:
    """DepthToSpace or SpaceToDepth, where that is what two views and a transpose between them do."""
    if x.shape is None or block_size(x.shape, dims, p) is None or not same_dims(merged(dims, p), result):
        return None
    return ORDERS[p][0]


@hosted()
def block_settings(x: Fact, dims: Dims, p: Permutation) -> Settings | None:
    """The size of the blocks, and the order of the channels of DepthToSpace."""
    size = None if x.shape is None else block_size(x.shape, dims, p)
    if size is None:
        return None
    kind, mode = ORDERS[p]
    return (("blocksize", size), ("mode", mode)) if kind == "DepthToSpace" else (("blocksize", size),)


@hosted()
def has_kernel(x: Fact, version: int) -> bool:
    """Of a type that onnxruntime moves in blocks."""
    return x.dtype in KERNEL_FLOATS or (x.dtype in BYTES and version >= 11)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    deep, wide, long = g.input(("N", 12, 2, 5)), g.input(("N", 3, 4, 6)), g.input(("N", 3, 4, 9))
    bytes_, (first, second, apart) = g.input(("N", 12, 2, 5), TensorProto.UINT8), tuple(ORDERS)
    for x, dims, p, result in (
        (deep, ("N", 2, 2, 3, 2, 5), first, ("N", 3, 4, 10)),
        (deep, ("N", 3, 2, 2, 2, 5), second, ("N", 3, 4, 10)),
        (wide, ("N", 3, 2, 2, 3, 2), apart, ("N", 12, 2, 3)),
    ):
        yield g.fires(reshape(transpose(reshape(x, dims), p), result))
    yield g.fires(reshape(transpose(reshape(bytes_, ("N", 2, 2, 3, 2, 5)), first), ("N", 3, 4, 10)))
    for x, dims, p, other, why in (
        (deep, ("N", 2, 2, 3, 2, 5), first, ("N", 3, 40), "the plane is flat"),
        (deep, ("N", 3, 2, 2, 2, 5), (0, 1, 4, 3, 5, 2), ("N", 3, 4, 10), "blocks are turned"),
        (long, ("N", 3, 2, 2, 3, 3), apart, ("N", 18, 2, 3), "blocks are no squares"),
    ):
        yield g.near_miss(reshape(transpose(reshape(x, dims), p), other), why)


@law(
    "reshape",
    numerics="bitwise",
    kind="fuse",
    serves="launches",
    source="PixelShuffle of PyTorch; ONNX, DepthToSpace",
    examples=_examples,
)
def blocks_of_views(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x))) = DepthToSpace(x), or SpaceToDepth(x)"""
    views = reshape(transpose(reshape(x, d), p), e)
    whole = blockwise(block_operator(x, d, p, e), x, block_settings(x, d, p))
    yield rewrite(views, whole, kernel(has_kernel(x, opset())), inverse="views_of_blocks")


@hosted()
def views_of(op: str, known: Settings, x: Fact) -> tuple[Dims, Permutation, Dims] | None:
    """The dims of an image with its blocks apart, how that is transposed, and the dims of the result."""
    setting = dict(known)
    mode, size = setting.get("mode", ""), setting.get("blocksize")
    if not size or not x.is_symbolic or x.rank != 4:
        return None
    n, c, h, w = x.shape or ()
    p = next((p for p, kind in ORDERS.items() if kind == (op, mode)), None)
    if p is None:
        return None
    if op == "SpaceToDepth":
        rows, columns = (symbolic.exact_div(d, size) for d in (h, w))
        if rows is None or columns is None:
            return None
        dims: Shape = (n, c, rows, size, columns, size)
    else:
        channels = symbolic.exact_div(c, size * size)
        if channels is None:
            return None
        dims = (n, size, size, channels, h, w) if mode == "DCR" else (n, channels, size, size, h, w)
    return dims, p, merged(dims, p)


def _blocks(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    deep, wide, size = g.input(("N", 12, 2, "L")), g.input(("N", 3, 4, 6)), ("blocksize", 2)
    for mode in ("DCR", "CRD"):
        yield g.fires(blockwise("DepthToSpace", deep, (size, ("mode", mode))))
    yield g.fires(blockwise("SpaceToDepth", wide, (size,)))
    yield g.near_miss(relu(wide), why="no blocks")


@law("reshape", numerics="bitwise", kind="split", serves="traffic", examples=_blocks)
def views_of_blocks(x: Tensor, op: String, k: Settings):
    """DepthToSpace(x) = Reshape(Transpose(Reshape(x))), likewise SpaceToDepth"""
    how = views_of(op, k, x)
    views = reshape(transpose(reshape(x, how[0]), how[1]), how[2])
    yield rewrite(blockwise(op, x, k), views, guard(varies(x)), inverse="blocks_of_views")
