"""RMSNormalization and LayerNormalization from their parts.

x / Sqrt(mean(x^2) + e) = RMS(x)                mean over the axes a, scale 1
RMS(x; s) * g = RMS(x; s * g)                   likewise Layer
RMS(x - mean(x); s) = Layer(x; s)
Layer(x; s) + b = Layer(x; s, b)                Layer(x; s, b) + c = Layer(x; s, b + c)
Layer_a(x) = T(Layer(T'(x)))                    where ONNX has it for the last axes only; likewise RMS

How their parts are spelled is the matter of `moments`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, holds, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    binary,
    layer_norm,
    literal,
    reduce,
    reshape,
    rms_norm,
    shifted_layer_norm,
    transpose,
    unary,
)
from egraph_opt.operators.composites import Axes, scale_dims
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact

KEPT = PyObject(1)


# --- the core ------------------------------------------------------------------------------------------


@hosted()
def epsilon_of(e: Fact) -> float | None:
    """A constant that is added to a mean of squares."""
    if not e.const or e.splat is None or e.splat < 0 or any(d != 1 for d in e.shape or ()):
        return None
    return float(e.splat)


@hosted()
def unit_scale(x: Fact, axes: Axes) -> Literal | None:
    """A scale of ones."""
    dims = scale_dims(x, axes)
    if dims is None or x.const or x.dtype not in KERNEL_FLOATS:
        return None
    if not all(isinstance(d, int) and d > 0 for d in dims):
        return None  # onnxruntime normalises one element or more
    return Literal(x.dtype, dims, (1.0,))  # type: ignore[arg-type]


def _root(g: Operands, x: Any, axes: Axes = (2,), epsilon: float = 1e-5, kind: str = "ReduceMean") -> Any:
    moment = reduce(kind, binary("Mul", x, x), axes, 1)
    return unary("Sqrt", (), binary("Add", moment, g.constant(np.full((1,), epsilon))))


def _rms_examples(rng: np.random.Generator) -> Iterator[Example]:
    for axes in ((2,), (1,), (1, 2)):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        root = _root(g, x, axes)
        yield g.fires(binary("Div", x, root))
        yield g.fires(binary("Mul", x, unary("Reciprocal", (), root)))
        yield g.fires(binary("Mul", unary("Reciprocal", (), root), x))
    yield g.near_miss(binary("Div", g.input(("N", 3, 4)), _root(g, x)), why="another tensor's mean")
    yield g.near_miss(binary("Div", x, _root(g, x, kind="ReduceSum")), why="a sum of squares")
    yield g.near_miss(binary("Mul", x, _root(g, x)), why="multiplied")
    yield g.near_miss(binary("Div", x, _root(g, x, epsilon=-1.0)), why="a negative epsilon")
    y = g.input(("N", 3, "L"))
    yield g.near_miss(binary("Div", y, _root(g, y)), why="a scale needs a known length")
    y = g.input((2, 3, 0))
    yield g.near_miss(binary("Div", y, _root(g, y)), why="there is nothing to normalise")


@law("normalization", numerics="reassociates", examples=_rms_examples)
def root_mean_square(x: Tensor, c: Tensor, a: PyObject, e: PyObject, s: PyObject) -> Iterator[Any]:
    """x / Sqrt(ReduceMean(x * x) + e) = RMSNormalization(x)

    Source: ONNX, RMSNormalization; Zhang and Sennrich 2019.
    """
    root = unary("Sqrt", (), binary("Add", reduce("ReduceMean", binary("Mul", x, x), a, KEPT), c))
    inverse = unary("Reciprocal", (), root)
    for spelled in (binary("Div", x, root), binary("Mul", x, inverse), binary("Mul", inverse, x)):
        whole = rms_norm(x, literal(s), a, e)
        yield rewrite(spelled, whole, let(e, epsilon_of, fact(c)), let(s, unit_scale, fact(x), a))


# --- scale and shift -----------------------------------------------------------------------------------


@hosted()
def fitting(x: Fact, axes: Axes, g: Fact) -> Any:
    """The shape that makes g a scale or a bias; None if it differs along other axes."""
    dims = scale_dims(x, axes)
    if dims is None or g.shape is None or x.shape is None or g.dtype != x.dtype:
        return None
    if len(g.shape) > len(x.shape) or None in dims:
        return None
    full = (1,) * (len(x.shape) - len(g.shape)) + g.shape
    for axis, dim in enumerate(full):
        within = axis in axes and symbolic.known_equal(dim, x.shape[axis])
        if not within and dim != 1:
            return None
    return full[axes[0] :]


def _scaled_examples(rng: np.random.Generator) -> Iterator[Example]:
    for function in (rms_norm, layer_norm):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        norm = function(x, g.random(4), (2,), 1e-5)
        for shape in ((4,), (1, 1, 4), (1,), ()):
            yield g.fires(binary("Mul", norm, g.random(*shape)))
        yield g.fires(binary("Mul", norm, g.input((4,))))
        yield g.fires(binary("Mul", g.input((1, 4)), norm))
        inner = function(x, g.random(3, 1), (1,), 1e-5)
        yield g.fires(binary("Mul", inner, g.random(3, 1)))
        yield g.near_miss(binary("Mul", norm, g.random(3, 1)), why="along another axis")
        yield g.near_miss(binary("Mul", norm, g.random(2, 1, 1, 4)), why="broadcasting adds an axis")


@law("normalization", numerics="reassociates", examples=_scaled_examples)
def scale(x: Tensor, s: Tensor, g: Tensor, a: PyObject, e: PyObject, d: PyObject) -> Iterator[Any]:
    """RMS(x; s) * g = RMS(x; s * g), likewise LayerNormalization without bias

    Source: algebra.
    """
    fits = let(d, fitting, fact(x), a, fact(g))
    for function in (rms_norm, layer_norm):
        both = function(x, binary("Mul", s, reshape(g, d)), a, e)
        for left, right in ((function(x, s, a, e), g), (g, function(x, s, a, e))):
            yield rewrite(binary("Mul", left, right), both, *fits)


def _shifted_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s = g.input(("N", 3, 4)), g.random(4)
    norm = layer_norm(x, s, (2,), 1e-5)
    for shape in ((4,), (1, 1, 4)):
        yield g.fires(binary("Add", norm, g.random(*shape)))
    yield g.fires(binary("Add", g.input((4,)), norm))
    yield g.fires(binary("Add", shifted_layer_norm(x, s, g.random(4), (2,), 1e-5), g.random(1, 4)))
    yield g.near_miss(binary("Add", norm, g.random(3, 1)), why="along another axis")
    yield g.near_miss(binary("Add", norm, g.constant(1.0)), why="a bias has the scale's shape")
    yield g.near_miss(binary("Add", norm, x), why="a residual")


@hosted()
def whole_fitting(x: Fact, axes: Axes, b: Fact) -> Any:
    """The shape that makes b a bias, where it has all elements of one."""
    dims = fitting(x, axes, b)
    return dims if dims is not None and dims == scale_dims(x, axes) else None


@law("normalization", numerics="reassociates", examples=_shifted_examples)
def shift(x: Tensor, s: Tensor, b: Tensor, c: Tensor, a: PyObject, e: PyObject, d: PyObject) -> Iterator[Any]:
    """Layer(x; s) + b = Layer(x; s, b), Layer(x; s, b) + c = Layer(x; s, b + c)

    Source: algebra.
    """
    norm = layer_norm(x, s, a, e)
    fits = let(d, whole_fitting, fact(x), a, fact(b))
    for left, right in ((norm, b), (b, norm)):
        yield rewrite(binary("Add", left, right), shifted_layer_norm(x, s, reshape(b, d), a, e), *fits)
    more = let(d, fitting, fact(x), a, fact(c))
    yield rewrite(
        binary("Add", shifted_layer_norm(x, s, b, a, e), c),
        shifted_layer_norm(x, s, binary("Add", b, reshape(c, d)), a, e),
        *more,
    )


# --- the mean ------------------------------------------------------------------------------------------


def _centred_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s = g.input(("N", 3, 4)), g.random(4)
    mean = reduce("ReduceMean", x, (2,), 1)
    yield g.fires(rms_norm(binary("Sub", x, mean), s, (2,), 1e-5))
    all_axes = reduce("ReduceMean", x, (1, 2), 1)
    yield g.fires(rms_norm(binary("Sub", x, all_axes), g.random(3, 4), (1, 2), 1e-5))
    yield g.near_miss(rms_norm(binary("Sub", x, all_axes), s, (2,), 1e-5), why="the mean of other axes")
    yield g.near_miss(rms_norm(binary("Sub", mean, x), s, (2,), 1e-5), why="the other way round")
    other = reduce("ReduceMean", g.input(("N", 3, 4)), (2,), 1)
    yield g.near_miss(rms_norm(binary("Sub", x, other), s, (2,), 1e-5), why="another tensor's mean")


@law("normalization", numerics="reassociates", examples=_centred_examples)
def centred(x: Tensor, s: Tensor, a: PyObject, e: PyObject) -> Iterator[Any]:
    """RMS(x - mean(x); s) = Layer(x; s)

    Source: ONNX, LayerNormalization.
    """
    away = binary("Sub", x, reduce("ReduceMean", x, a, KEPT))
    yield rewrite(rms_norm(away, s, a, e), layer_norm(x, s, a, e))


# --- axes ----------------------------------------------------------------------------------------------


@hosted()
def axes_to_end(x: Fact, axes: Axes) -> tuple[int, ...] | None:
    """The permutation that moves the normalised axes behind the others; None if they are there."""
    rank = x.rank
    if rank is None or axes == tuple(range(axes[0], rank)):
        return None
    return (*(k for k in range(rank) if k not in axes), *axes)


@hosted()
def inverse(p: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(p.index(k) for k in range(len(p)))


@hosted()
def last_axes(x: Fact, axes: Axes) -> Axes:
    assert x.rank is not None
    return tuple(range(x.rank - len(axes), x.rank))


@hosted()
def normalised_dims(x: Fact, axes: Axes) -> Any:
    return tuple(x.shape[k] for k in axes) if x.shape is not None and x.is_symbolic else None


@hosted(default=False)
def is_constant(s: Fact) -> bool:
    return s.const


def _inner_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4)), g.input((2, 3, 4, 5))
    yield g.fires(rms_norm(x, g.random(3, 1), (1,), 1e-5))
    yield g.fires(layer_norm(x, g.random(3, 1), (1,), 1e-5))
    yield g.fires(shifted_layer_norm(x, g.random(3, 1), g.random(3, 1), (1,), 1e-5))
    yield g.fires(layer_norm(y, g.random(3, 1, 5), (1, 3), 1e-5))
    yield g.near_miss(layer_norm(x, g.random(4), (2,), 1e-5), why="the last axis already")
    yield g.near_miss(layer_norm(x, g.input((3, 1)), (1,), 1e-5), why="reshaped at run time")


@law("normalization", numerics="reassociates", examples=_inner_examples)
def inner_axes(
    x: Tensor,
    s: Tensor,
    b: Tensor,
    a: PyObject,
    e: PyObject,
    p: PyObject,
    q: PyObject,
    d: PyObject,
    k: PyObject,
) -> Iterator[Any]:
    """Layer_a(x) = T(Layer(T'(x))) where T' moves the axes a behind the others, likewise RMS

    Source: ONNX, which normalises the last axes only.
    """
    moved = (
        *let(p, axes_to_end, fact(x), a),
        *let(q, inverse, p),
        *let(d, normalised_dims, fact(x), a),
        *let(k, last_axes, fact(x), a),
        holds(is_constant, fact(s)),
    )
    behind = transpose(x, p)
    for function in (rms_norm, layer_norm):
        whole = transpose(function(behind, reshape(s, d), k, e), q)
        yield rewrite(function(x, s, a, e), whole, *moved)
    shifted = shifted_layer_norm(behind, reshape(s, d), reshape(b, d), k, e)
    given = shifted_layer_norm(x, s, b, a, e)
    yield rewrite(given, transpose(shifted, q), *moved, holds(is_constant, fact(b)))
