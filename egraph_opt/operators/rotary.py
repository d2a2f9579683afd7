"""The rotation of pairs of features by angles that depend on the position (RoFormer)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.declaration import Attributes, OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import Tensor
from egraph_opt.operators.sorts import Settings

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

OP = "RotaryEmbedding"

ROTATED = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16))
"""Types for which onnxruntime has a kernel."""


def settings_of(interleaved: int, heads: int = 0, part: int = 0) -> Attributes:
    """The attributes: heads in a row of x (0: they have an axis), features that are rotated (0: all)."""
    return (("interleaved", interleaved), ("num_heads", heads), ("rotary_embedding_dim", part))


def _angles_of(x: Shape, heads: int, part: int) -> Shape | None:
    """The shape of the cosines for x, [batch, heads, length, size] or [batch, length, heads * size]."""
    if len(x) != (3 if heads else 4) or not isinstance(x[-1], int) or x[-1] % max(heads, 1):
        return None
    size = x[-1] // max(heads, 1)
    part = part or size
    return (x[0], x[-2], part // 2) if part % 2 == 0 and 2 <= part <= size else None


def _fits(settings: Attributes, x: Fact, cosines: Fact, sines: Fact) -> bool:
    known = dict(settings)
    sizes = known["num_heads"], known["rotary_embedding_dim"]
    expected = None if x.shape is None else _angles_of(x.shape, *sizes)
    return expected is not None and all(
        c.shape is not None
        and c.dtype == x.dtype
        and len(c.shape) == 3
        and all(map(symbolic.known_equal, c.shape, expected))
        for c in (cosines, sines)
    )


def _form(opset: int, attributes: tuple[Attributes], facts: tuple[Fact, ...]) -> OnnxForm | None:
    if not is_available(OP, opset) or facts[0].dtype not in ROTATED or not _fits(attributes[0], *facts):
        return None
    return OnnxForm(OP, (0, 1, 2), attributes[0])


def _infer(opset: int, attributes: tuple[Attributes], facts: tuple[Fact, ...]) -> Fact:
    return Fact(facts[0].dtype, facts[0].shape, all(fact.const for fact in facts))


@operator(form=_form, infer=_infer)
def rotary(x: Tensor, cosines: Tensor, sines: Tensor, settings: Settings) -> Tensor:
    """Pairs (a, b) of x [B, H, L, d] as (a cos - b sin, b cos + a sin); the angles: [B, L, d / 2].

    The halves of a row are the first and the second of each pair, or neighbours are if it is interleaved.
    """


@lowers(OP)
def _lower_rotary(node: NodeReader) -> TermSpec | None:
    x = node.fact(0)
    if node.has(3) or x.rank not in (3, 4):
        return None
    heads = node.attribute("num_heads") if x.rank == 3 else 0
    settings = settings_of(node.attribute("interleaved"), heads, node.attribute("rotary_embedding_dim"))
    if not _fits(settings, *(node.fact(k) for k in range(3))):
        return None
    return TermSpec("rotary", (settings,), (0, 1, 2))
