"""Normalisations of float16 that are computed in float32.

Cast_16(Layer(Cast_32(x); s, b)) -> Layer(x; Cast_16(s), Cast_16(b))       likewise RMS
Cast_16(Layer(Cast_32(x); s)) * g -> Cast_16(Layer(Cast_32(x); s) * Cast_32(g))     likewise RMS, and + b

ONNX's own normalisations compute in float32 whatever the type of x is (stash_type), so the casts are theirs.
Where the opset has no such operator, a scale and a bias in float16 go in front of the cast: spelled in
float16, the mean of the squares would overflow.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, absent, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Float, Int, Tensor
from egraph_opt.operators import cast, layer_norm, rms_norm, shifted_layer_norm
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.terms import opset
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.normalization.layer_norm import fitting

law = laws_of("normalization", numerics="reassociates", kind="fuse", serves="traffic")

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT

NORMAL = (2.0**-14, 65504.0)
"""The least and the greatest normal number of float16."""


@hosted()
def has_operator(x: Fact, axes: Axes, op: str, opset: int) -> bool:
    """x is of float16, and ONNX has this normalisation of it."""
    if x.rank is None or x.dtype != HALF or not is_available(op, opset):
        return False
    return bool(axes) and axes == tuple(range(axes[0], x.rank))


@hosted()
def suits_half(c: Fact) -> bool:
    """Constants that float16 has, but for the rounding; of those with many elements that is assumed."""
    known = c.data if c.data is not None else () if c.splat is None else (c.splat,)
    return c.const and all(v == 0 or NORMAL[0] <= abs(float(v)) <= NORMAL[1] for v in known)


LAYER, RMS = "LayerNormalization", "RMSNormalization"


def _wide(x: Tensor) -> Tensor:
    return cast(x, SINGLE)  # type: ignore[no-any-return]


def _half(x: Tensor) -> Tensor:
    return cast(x, HALF)  # type: ignore[no-any-return]


# --- the casts are the operator's -------------------------------------------------------------------------


def _casts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, single, double = (g.input(("N", 4), t) for t in (HALF, SINGLE, TensorProto.DOUBLE))
    s, b, small, large = g.random(4), g.random(4), *(g.constant(np.full(4, c)) for c in (1e-7, 1e5))
    steep, high = (g.constant(np.full(4, c)) for c in (3e4, 7e4))
    yield g.fires(_half(layer_norm(_wide(x), s, (1,), 1e-5)))
    yield g.fires(_half(shifted_layer_norm(_wide(x), s, b, (1,), 1e-3)))
    yield replace(g.fires(_half(rms_norm(_wide(x), s, (1,), 1e-5))), opset=23)
    for norm, why in (
        (_half(layer_norm(_wide(x), small, (1,), 1e-5)), "float16 has no such scale"),
        (_half(layer_norm(_wide(x), large, (1,), 1e-5)), "the scale would be infinite"),
        (_half(shifted_layer_norm(_wide(x), large, b, (1,), 1e-5)), "the scale would be infinite"),
        (_half(shifted_layer_norm(_wide(x), steep, high, (1,), 1e-5)), "the bias would be infinite"),
        (_half(layer_norm(_wide(x), g.input((4,)), (1,), 1e-5)), "the scale may be any number"),
        (_half(layer_norm(single, s, (1,), 1e-5)), "x is no float16"),
        (_half(layer_norm(_wide(double), s, (1,), 1e-5)), "x is no float16"),
        (cast(layer_norm(_wide(x), s, (1,), 1e-5), TensorProto.DOUBLE), "the result is no float16"),
        (_half(layer_norm(_wide(g.input((4, 4), HALF)), s, (0,), 1e-5)), "ONNX has the last axes only"),
    ):
        yield g.near_miss(norm, why)
    infinite = g.near_miss(_half(rms_norm(_wide(x), large, (1,), 1e-5)), "the scale would be infinite")
    yield replace(infinite, opset=23)


@law(examples=_casts, source="ONNX, LayerNormalization's stash_type")
def computed_in_float32(x: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float):
    """Cast_16(Layer(Cast_32(x); s, b)) = Layer(x; Cast_16(s), Cast_16(b)) of float16, likewise RMS"""
    why = "what computes in float32 inside needs no casts"
    for op, norm in ((LAYER, layer_norm), (RMS, rms_norm)):
        sound = (has_operator(x, a, op, opset()), suits_half(s))
        yield rewrite(_half(norm(_wide(x), s, a, e)), norm(x, _half(s), a, e), *sound, because=why)
    whole, shifted = shifted_layer_norm(x, _half(s), _half(b), a, e), shifted_layer_norm(_wide(x), s, b, a, e)
    fit = (suits_half(s), suits_half(b))
    yield rewrite(_half(shifted), whole, has_operator(x, a, LAYER, opset()), *fit, because=why)


# --- scale and bias in front of the cast ------------------------------------------------------------------


def _scales(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, wide = g.input(("N", 4), HALF), g.random(4), g.input(("N", 4))
    own, rows, many = (g.input(shape, HALF) for shape in ((4,), ("N", 1), (3, "N", 4)))
    for norm, version in ((layer_norm, 13), (rms_norm, 17)):
        inner, apart = norm(_wide(x), s, (1,), 1e-5), norm(wide, s, (1,), 1e-5)
        yield from (replace(g.fires(z), opset=version) for z in (_half(inner) * own, own + _half(inner)))
        for z, why in (
            (_half(inner) * rows, "a number for each row"),
            (_half(inner) + many, "the result is bigger"),
            (_half(apart) * own, "x was no float16"),
            (inner * _wide(own), "there is no cast behind"),
        ):
            yield replace(g.near_miss(z, why), opset=version)


@law(uses=(either_side,), examples=_scales)
def scaled_before_cast(x: Tensor, s: Tensor, g: Tensor, a: Axes, e: Float, i: Int):
    """Cast_16(Layer(Cast_32(x); s)) * g = Cast_16(Layer(Cast_32(x); s) * Cast_32(g)), also of RMS, and + b"""
    for op, norm in ((LAYER, layer_norm), (RMS, rms_norm)):
        inner = norm(_wide(x), s, a, e)
        for sign in ("Mul", "Add"):
            outer = beside(sign, _half(inner), g, i)
            spelled = guard(absent(has_operator(x, a, op, opset())), fitting(x, a, g), varies(outer))
            made = _half(beside(sign, inner, _wide(g), i))
            yield rewrite(outer, made, spelled, because="one cast, of the result")
