"""Spellings that keep ONNX Runtime from fusions that do not pay.

Layer(x + y; s, b) -> Squeeze(Layer(Unsqueeze(x + y); s, b))       rank 3, along the last axis

A LayerNormalization behind a sum that nobody else uses becomes SkipLayerNormalization, whose kernel (1.31,
CPU) may take eight times as long as the two that it stands for; behind a view it does not.  The cost model
`onnxruntime` brings the ruleset, and measures whether it pays.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Axes, Dims, Float, Tensor
from egraph_opt.operators import layer_norm, reshape, shifted_layer_norm

ONE_WAY = "a spelling for one runtime"


@hosted()
def deeper(x: Fact, axes: Axes) -> Dims | None:
    """The dims of x with an axis of 1 in front, where the runtime's fusion looks at x: rows in rank 3."""
    if x.dtype != TensorProto.FLOAT or x.const or not x.is_symbolic or x.rank != 3 or axes != (2,):
        return None
    return (1, *(x.shape or ()))


@hosted()
def dims_of(x: Fact) -> Dims:
    return x.shape or ()


@hosted()
def shifted(axes: Axes) -> Axes:
    """The same axes behind one more."""
    return tuple(axis + 1 for axis in axes)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, s, b = g.input(("N", "L", 4)), g.input(("N", "L", 4)), g.random(4), g.random(4)
    flat, double = g.input(("N", 4)), g.input(("N", "L", 4), TensorProto.DOUBLE)
    for norm, *bias in ((layer_norm,), (shifted_layer_norm, b)):
        yield g.fires(norm(x + y, s, *bias, (2,), 1e-5))
        yield g.near_miss(norm(x, s, *bias, (2,), 1e-5), why="no sum")
        yield g.near_miss(norm(flat + s, s, *bias, (1,), 1e-5), why="the runtime fuses in rank 3 only")
    yield g.near_miss(layer_norm(double + double, double, (0, 1, 2), 1e-5), why="not along the last axis")


@law(
    "onnxruntime.spelling",
    numerics="reassociates",
    kind="replace",
    serves="target",
    source="onnxruntime, optimizer/skip_layer_norm_fusion.cc",
    examples=_examples,
)
def norm_behind_view(x: Tensor, y: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float):
    """Layer(x + y; s, b) = Squeeze(Layer(Unsqueeze(x + y); s, b)), without b likewise"""
    z = x + y
    wide = reshape(z, deeper(z, a))
    for given, apart in (
        (layer_norm(z, s, a, e), layer_norm(wide, s, shifted(a), e)),
        (shifted_layer_norm(z, s, b, a, e), shifted_layer_norm(wide, s, b, shifted(a), e)),
    ):
        yield rewrite(given, reshape(apart, dims_of(z)), because=ONE_WAY)
