"""Laws of the same kinds that are right: a reader answers None, or counts axes from the front."""

from typing import Any

import numpy as np

from egraph_opt.laws import Axis, Operands, Permutation, Settings, Slices, Tensor, hosted, laws_of, rewrite
from egraph_opt.operators import OnnxForm, TermSpec, lowers, operator, slice_, transpose

law = laws_of("careful", numerics="bitwise", kind="move", serves="traffic")


@operator(form=lambda opset, attributes, facts: OnnxForm("Trilu", (0,), attributes[0]))
def careful_triangle(x: Tensor, settings: Settings) -> Tensor:
    """x with zeros on one side of its diagonal."""


@lowers("Trilu")
def _careful_triangle(node: Any) -> TermSpec | None:
    return None if node.has(1) else TermSpec("careful_triangle", (node.settings(),), (0,))


def _triangles(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    upper, lower = ((("upper", k),) for k in (1, 0))
    once = careful_triangle(g.input(("N", 4, 4)), upper)
    yield g.fires(careful_triangle(once, upper))
    yield g.near_miss(careful_triangle(once, lower), why="the other side")


@law(examples=_triangles)
def triangle_twice(x: Tensor, s: Settings):
    """Trilu(Trilu(x)) = Trilu(x)"""
    yield rewrite(
        careful_triangle(careful_triangle(x, s), s),
        careful_triangle(x, s),
        because="forgets that it was done twice",
    )


@operator(
    form=lambda opset, attributes, facts: OnnxForm(
        "LpNormalization", (0,), (("axis", attributes[0]), ("p", 2))
    )
)
def careful_norm(x: Tensor, axis: Axis) -> Tensor:
    """x by its length along an axis."""


@lowers("LpNormalization")
def _careful_norm(node: Any) -> TermSpec | None:
    rank = node.fact(0).rank
    if not rank or node.attribute("p") != 2:
        return None
    return TermSpec("careful_norm", (node.attribute("axis") % rank,), (0,))


def _parts(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(careful_norm(slice_(g.input((2, 6, 3)), ((1, 0, 2, 1),)), 2))


@hosted()
def is_elsewhere(z: Slices, a: Axis) -> bool:
    return all(cut[0] != a for cut in z)


@law(numerics="reassociates", examples=_parts)
def part_of_normalized(x: Tensor, z: Slices, a: Axis):
    """Norm_a(x[..]) = Norm_a(x)[..] along other axes"""
    yield rewrite(
        careful_norm(slice_(x, z), a), slice_(careful_norm(x, a), z), is_elsewhere(z, a), because="one way"
    )


@operator(form=lambda opset, attributes, facts: OnnxForm("MeanVarianceNormalization", (0,), attributes[0]))
def careful_deviation(x: Tensor, settings: Settings) -> Tensor:
    """x without its mean, by its deviation."""


@lowers("MeanVarianceNormalization")
def _careful_deviation(node: Any) -> TermSpec:
    return TermSpec("careful_deviation", (node.settings(),), (0,))


@hosted()
def in_order(p: Permutation, s: Settings) -> Settings:
    """The axes of x that a transposed x has at those of the settings, which are always there."""
    return (("axes", tuple(sorted(p[axis] for axis in dict(s)["axes"]))),)


def _turned(rng: np.random.Generator) -> Any:
    g = Operands(rng)
    yield g.fires(careful_deviation(transpose(g.input((2, 6, 3, 4)), (0, 2, 3, 1)), (("axes", (0, 1, 2)),)))


@law(numerics="reassociates", examples=_turned)
def standardized_in_another_order(x: Tensor, p: Permutation, s: Settings):
    """MVN(x') = MVN(x)' along the same axes"""
    yield rewrite(
        careful_deviation(transpose(x, p), s),
        transpose(careful_deviation(x, in_order(p, s)), p),
        because="one way",
    )


@operator(form=lambda opset, attributes, facts: OnnxForm("Shrink", (0,), attributes[0]))
def careful_shrink(x: Tensor, settings: Settings) -> Tensor:
    """x without what is small."""


@lowers("Shrink")
def _careful_shrink(node: Any) -> TermSpec:
    return TermSpec("careful_shrink", (node.settings(),), (0,))


@hosted()
def keeps_the_rest(s: Settings) -> bool:
    """Asks for a setting that every node has, if only by default."""
    return bool(dict(s)["bias"] == 0 and dict(s)["lambd"] >= 0)


def _twice(rng: np.random.Generator) -> Any:
    g, settings = Operands(rng), (("bias", 0.0), ("lambd", 0.5))
    yield g.fires(careful_shrink(careful_shrink(g.input((2, 3)), settings), settings))


@law(kind="eliminate", examples=_twice)
def shrunk_twice(x: Tensor, s: Settings):
    """Shrink(Shrink(x)) = Shrink(x) without a bias"""
    yield rewrite(
        careful_shrink(careful_shrink(x, s), s),
        careful_shrink(x, s),
        keeps_the_rest(s),
        because="forgets one of two",
    )
