"""Laws that are right of terms and wrong of nodes: readers and forms of operators forget something."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Operands,
    Permutation,
    Place,
    Settings,
    Slices,
    Tensor,
    hosted,
    laws_of,
    listed,
    rewrite,
)
from egraph_opt.operators import OnnxForm, TermSpec, concat, lowers, operator, slice_, transpose

law = laws_of("hasty", numerics="bitwise", kind="move", serves="traffic")


@operator(form=lambda opset, attributes, facts: OnnxForm("Trilu", (0,), attributes[0]))
def hasty_triangle(x: Tensor, settings: Settings) -> Tensor:
    """x with zeros on one side of its diagonal."""


@lowers("Trilu")
def _hasty_triangle(node: Any) -> TermSpec:
    return TermSpec("hasty_triangle", (node.settings(),), (0,))


def _triangles(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(hasty_triangle(hasty_triangle(g.input(("N", 4, 4)), (("upper", 1),)), (("upper", 1),)))


@law(examples=_triangles)
def triangle_twice(x: Tensor, s: Settings):
    """Trilu(Trilu(x)) = Trilu(x): the diagonal may be another one."""
    yield rewrite(
        hasty_triangle(hasty_triangle(x, s), s),
        hasty_triangle(x, s),
        because="forgets that it was done twice",
    )


@operator(form=lambda opset, attributes, facts: OnnxForm("MatMulInteger", (0, 1)))
def hasty_product(x: Tensor, y: Tensor) -> Tensor:
    """The product of matrices of bytes."""


@lowers("MatMulInteger")
def _hasty_product(node: Any) -> TermSpec:
    return TermSpec("hasty_product", (), (0, 1))


def _products(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    a, b, c = (g.input(shape, T.UINT8) for shape in ((4, 5), (5, 3), (5, 2)))
    yield g.fires(concat(listed(hasty_product(a, b), hasty_product(a, c)), 1))


@hosted()
def are_matrices(x: Fact, y: Fact, z: Fact) -> bool:
    return x.rank == y.rank == z.rank == 2 and y.dtype == z.dtype


@law(examples=_products)
def joined_products(x: Tensor, y: Tensor, z: Tensor):
    """[x y, x z] = x [y, z]: there may be zero points."""
    each = concat(listed(hasty_product(x, y), hasty_product(x, z)), 1)
    joined = hasty_product(x, concat(listed(y, z), 1))
    yield rewrite(each, joined, are_matrices(x, y, z), because="one product for two")


@operator(
    form=lambda opset, attributes, facts: OnnxForm(
        "LpNormalization", (0,), (("axis", attributes[0]), ("p", 2))
    )
)
def hasty_norm(x: Tensor, axis: Axis) -> Tensor:
    """x by its length along an axis."""


@lowers("LpNormalization")
def _hasty_norm(node: Any) -> TermSpec | None:
    return TermSpec("hasty_norm", (node.attribute("axis"),), (0,)) if node.attribute("p") == 2 else None


def _parts(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(hasty_norm(slice_(g.input((2, 6, 3)), ((1, 0, 2, 1),)), 2))


@hosted()
def is_elsewhere(z: Slices, a: Axis) -> bool:
    return all(cut[0] != a for cut in z)


@law(numerics="reassociates", examples=_parts)
def part_of_normalized(x: Tensor, z: Slices, a: Axis):
    """Norm_a(x[..]) = Norm_a(x)[..] along other axes: that of a node may be below 0."""
    yield rewrite(
        hasty_norm(slice_(x, z), a), slice_(hasty_norm(x, a), z), is_elsewhere(z, a), because="one way"
    )


def _compress(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm:
    return OnnxForm("Compress", (0, 1), () if attributes[0] is None else (("axis", attributes[0]),))


@operator(form=_compress, infer=lambda opset, attributes, facts: Fact(facts[0].dtype, None))
def hasty_compress(x: Tensor, c: Tensor, axis: Place) -> Tensor:
    """The slices of x of which c is true."""


@lowers("Compress")
def _hasty_compress(node: Any) -> TermSpec:
    return TermSpec("hasty_compress", (node.attribute("axis"),), (0, 1))


def _compressions(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(hasty_compress(slice_(g.input((2, 6, 3)), ((1, 0, 2, 1),)), g.input((2,), T.BOOL), 2))


@hosted()
def is_another(z: Slices, a: Place) -> bool:
    return a is not None and all(cut[0] != a for cut in z)


@law(examples=_compressions)
def part_of_compressed(x: Tensor, c: Tensor, z: Slices, a: Place):
    """Compress_a(x[..]) = Compress_a(x)[..] along other axes: that of a node may be below 0."""
    part = hasty_compress(slice_(x, z), c, a)
    yield rewrite(part, slice_(hasty_compress(x, c, a), z), is_another(z, a), because="one way")


def _lambd_only(opset: int, attributes: tuple[Any, ...], facts: tuple[Fact, ...]) -> OnnxForm:
    return OnnxForm("Shrink", (0,), tuple(pair for pair in attributes[0] if pair[0] == "lambd"))


@operator(form=_lambd_only)
def hasty_shrink(x: Tensor, settings: Settings) -> Tensor:
    """x without what is small."""


@lowers("Shrink")
def _hasty_shrink(node: Any) -> TermSpec:
    return TermSpec("hasty_shrink", (node.settings(),), (0,))


def _turned(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(hasty_shrink(transpose(g.input((2, 3)), (1, 0)), (("bias", 0.0), ("lambd", 0.5))))


@law(examples=_turned)
def shrunk_in_another_order(x: Tensor, s: Settings, p: Permutation):
    """Shrink(x') = Shrink(x)': the form writes no bias."""
    yield rewrite(hasty_shrink(transpose(x, p), s), transpose(hasty_shrink(x, s), p), because="one way")
