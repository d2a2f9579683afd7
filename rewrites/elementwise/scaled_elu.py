"""Elu times a number is Selu.

Elu_a(x) * g -> Selu_ag(x)
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float, is_finite
from egraph_opt.laws import Example, Operands, hosted, kernel, law, rewrite
from egraph_opt.laws.sorts import Settings, Tensor
from egraph_opt.operators import unary
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.elementwise.bounds import PRIMITIVES


@hosted()
def settings_of_selu(settings: Settings, c: Fact) -> Settings | None:
    """The slope and the scale of Selu, where the scale is one positive number."""
    if not c.const or c.splat is None or not is_finite(c.splat) or not 0 < as_float(c.splat) < LARGEST_SCALE:
        return None
    return (("alpha", float(dict(settings)["alpha"])), ("gamma", as_float(c.splat)))


LARGEST_SCALE = 1e4
"""Beyond, products with the slope might overflow in one of the types."""


@hosted()
def has_selu(x: Fact) -> bool:
    """onnxruntime's kernel is of float32."""
    return x.dtype == TensorProto.FLOAT


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    for alpha in (1.0, 1.67326):
        elu = unary("Elu", (("alpha", alpha),), x)
        yield g.fires(elu * g.constant(1.0507))
    yield from g.near_misses(
        (elu * g.constant(-1.5), "Selu has a positive scale"),
        (elu * g.random(3), "several scales"),
        (elu * g.constant(np.full((2, 1, 1), 1.5)), "broadcasting makes it bigger"),
        (elu * g.input((1,)), "it is no constant"),
        (unary("LeakyRelu", (("alpha", 0.1),), x) * g.constant(1.5), "no Elu"),
    )


@law(
    "signs",
    numerics="reassociates",
    kind="composite",
    serves="launches",
    source="ONNX, Selu; arXiv 1706.02515",
    examples=_examples,
)
def selu(x: Tensor, s: Settings, c: Tensor):
    """Elu_a(x) * g = Selu_ag(x) for one positive number g"""
    scaled = unary("Selu", settings_of_selu(s, c), x)
    yield rewrite(unary("Elu", s, x) * c, scaled, fits(c, x), kernel(has_selu(x)), inverse=PRIMITIVES)
