"""ONNX Runtime's own attention, which takes rows of all heads and needs no transposes.

Attention(q, k, v; s) -> Heads(MultiHeadAttention(Rows(q), Rows(k), Rows(v); h, s))
Attention(q, k, v, m; s) -> Heads(MultiHeadAttention(.., m; h, s))       m: a number per key, or query and key

`Rows` joins the heads of [batch, heads, length, size] to [batch, length, heads * size], `Heads` takes them
apart again: views and transposes, which cancel those that exporters write around attention.

Source: onnxruntime, contrib_ops/cpu/bert/multihead_attention_helper.h.  The ruleset runs where it is named:
other runtimes do not have the operator.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import ABSENT, UNKNOWN, Dim, Fact, Shape
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.sorts import Dims, Float, Tensor
from egraph_opt.operators import (
    OnnxForm,
    attention,
    concat,
    expand_to,
    literal,
    masked_attention,
    none,
    operator,
    reshape,
    shape_of,
    transpose,
)
from egraph_opt.operators.declaration import ints
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.operators.terms import listed

RULESET = "onnxruntime.operators"
DOMAIN = "com.microsoft"
ONE_WAY = "only this ruleset writes operators of ONNX Runtime's own"

SHARED: dict[str, Any] = {"numerics": "reassociates", "kind": "fuse", "serves": "target"}

Heads = Annotated[int, attribute_sort("Heads")]
"""How many heads a row holds."""

HEADS_INNER = (0, 2, 1, 3)
"""[batch, heads, length, size] to [batch, length, heads, size], and back."""


# --- the operator ----------------------------------------------------------------------------------------


def _takes(q: Fact, k: Fact, v: Fact, heads: int) -> bool:
    """Whether the kernel takes rows of these types and shapes."""
    shapes = [x.shape for x in (q, k, v)]
    if any(x.dtype != TensorProto.FLOAT for x in (q, k, v)) or any(s is None or len(s) != 3 for s in shapes):
        return False
    equal, (a, b, c) = symbolic.known_equal, [s or () for s in shapes]
    alike = equal(a[0], b[0]) and equal(a[0], c[0]) and equal(b[1], c[1]) and equal(a[2], b[2])
    return alike and all(isinstance(s[2], int) and s[2] > 0 and s[2] % heads == 0 for s in (a, c))


def _takes_bias(q: Fact, k: Fact, m: Fact, heads: int) -> bool:
    """Whether the kernel adds this to the scores: it is broadcast along batch and heads only."""
    if m.dtype != TensorProto.FLOAT or m.shape is None or len(m.shape) != 4 or not q.shape or not k.shape:
        return False
    scores: Shape = (q.shape[0], heads, q.shape[1], k.shape[1])
    fits = [symbolic.known_equal(a, b) for a, b in zip(m.shape, scores, strict=True)]
    return all(fit or (axis < 2 and m.shape[axis] == 1) for axis, fit in enumerate(fits))


def _accepted(heads: int, facts: tuple[Fact, ...]) -> bool:
    q, k, v, bias = facts
    return _takes(q, k, v, heads) and (bias == ABSENT or _takes_bias(q, k, bias, heads))


def _form(opset: int, attributes: tuple[int, float], facts: tuple[Fact, ...]) -> OnnxForm | None:
    heads, scale = attributes
    if not _accepted(heads, facts):
        return None
    bias = () if facts[3] == ABSENT else (None, None, 3)  # behind: biases of q, k and v, a mask of keys
    settings = (("num_heads", heads), ("scale", scale))
    return OnnxForm("MultiHeadAttention", (0, 1, 2, *bias), settings, DOMAIN)


def _infer(opset: int, attributes: tuple[int, float], facts: tuple[Fact, ...]) -> Fact:
    q, _, v, _ = facts
    if not _accepted(attributes[0], facts) or q.shape is None or v.shape is None:
        return UNKNOWN
    return Fact(TensorProto.FLOAT, (*q.shape[:2], v.shape[2]))


@operator(form=_form, infer=_infer)
def multi_head_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, heads: Heads, scale: Float) -> Tensor:
    """Attention of rows that hold all heads: q [B, L, h * d], k [B, S, h * d], v [B, S, h * e].

    `bias` is added to the scores, [B or 1, h or 1, L, S], or is none.
    """


# --- laws ------------------------------------------------------------------------------------------------


@hosted()
def heads_of(q: Fact, k: Fact, v: Fact, scale: Float) -> Heads | None:
    """How many heads there are, where the kernel takes their rows; to it a scale of 0 is the usual one."""
    shapes = [x.shape for x in (q, k, v) if x.shape is not None and len(x.shape) == 4]
    if len(shapes) != 3 or scale == 0 or q.const:
        return None
    heads = shapes[0][1]
    if not isinstance(heads, int) or heads == 0 or any(shape[1] != heads for shape in shapes):
        return None
    a, b, c = (Fact(x.dtype, row_dims(x)) for x in (q, k, v))
    return heads if _takes(a, b, c, heads) else None


@hosted()
def row_dims(x: Fact) -> Dims | None:
    """The dims of rows that hold all heads."""
    if x.rank not in (None, 4):
        return None
    batch, heads, length, size = x.shape or (None,) * 4
    return (batch, length, symbolic.mul(heads, size))


@hosted()
def head_dims(q: Fact, v: Fact) -> Dims | None:
    """The dims of the result before its heads are moved in front of its rows."""
    if q.rank not in (None, 4):
        return None
    (batch, heads, length, _), size = q.shape or (None,) * 4, (v.shape or (None,))[-1]
    return (batch, length, heads, size)


def _rows(x: Tensor) -> Any:
    return reshape(transpose(x, HEADS_INNER), row_dims(x))


def _apart(y: Any, q: Tensor, v: Tensor) -> Any:
    return transpose(reshape(y, head_dims(q, v)), HEADS_INNER)


def _operands(g: Operands, heads: Dim = 3, dtype: int = TensorProto.FLOAT, shared: Dim = 0) -> Any:
    """q, k and v; `shared`: how many heads the latter two have, if not as many."""
    counts, sizes = (heads, shared or heads, shared or heads), (("L", 4), ("M", 4), ("M", 5))
    return [g.input(("N", count, *size), dtype) for count, size in zip(counts, sizes, strict=True)]


def _misses(g: Operands) -> Iterator[tuple[Any, float, str]]:
    """Operands and scales that the kernel does not take."""
    yield _operands(g), 0.0, "a scale of 0 is the usual one"
    yield _operands(g, "L"), 0.5, "how many heads is not known"
    yield _operands(g, 3, TensorProto.DOUBLE), 0.5, "there is no kernel for doubles"
    yield _operands(g, shared=1), 0.5, "heads share keys and values"


def _plain_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, k, v = _operands(g)
    yield g.fires(attention(q, k, v, 0.5, 0))
    yield g.fires(attention(q, q, q, -0.5, 0))
    for operands, scale, why in _misses(g):
        yield g.near_miss(attention(*operands, scale, 0), why)


@law(RULESET, source="onnxruntime, MultiHeadAttention", examples=_plain_examples, **SHARED)
def multi_head(q: Tensor, k: Tensor, v: Tensor, s: Float):
    """Attention(q, k, v; s) = Heads(MultiHeadAttention(Rows(q), Rows(k), Rows(v); h, s))"""
    whole = multi_head_attention(_rows(q), _rows(k), _rows(v), none(), heads_of(q, k, v, s), s)
    yield rewrite(attention(q, k, v, s, 0), _apart(whole, q, v), because=ONE_WAY)


@hosted()
def bias_dims(m: Fact, q: Fact, k: Fact) -> Dims | None:
    """m's dims with axes of 1 in front, where it has a number for every query and key."""
    dims = _full_dims(m, q, k)
    return dims if dims is not None and dims[2] != 1 else None


@hosted()
def row_bias_dims(m: Fact, q: Fact, k: Fact) -> Dims | None:
    """The same, where it has a number for every key, whatever the query."""
    dims = _full_dims(m, q, k)
    return dims if dims is not None and dims[2] == 1 and q.shape is not None and q.shape[2] != 1 else None


def _full_dims(m: Fact, q: Fact, k: Fact) -> Shape | None:
    if any(x.shape is None for x in (m, q, k)) or len(m.shape or ()) > 4:
        return None
    dims: Shape = (1,) * (4 - len(m.shape or ())) + (m.shape or ())
    q_dims, k_dims = q.shape or (), k.shape or ()
    if len(q_dims) != 4 or len(k_dims) != 4 or not symbolic.known_equal(dims[3], k_dims[2]):
        return None
    known = zip(dims[:3], q_dims[:3], strict=True)
    return dims if all(a == 1 or symbolic.known_equal(a, b) for a, b in known) else None


_BIASES: tuple[Shape, ...] = (
    ("N", 3, "L", "M"), ("N", 1, "L", "M"), (3, "L", "M"), ("L", "M"), ("N", 1, 1, "M")
)  # fmt: skip
_NO_BIASES: tuple[tuple[Shape, str], ...] = (
    (("L", 1), "one number per query"),
    (("N", 1, 1, 1), "one per batch"),
)
_SMALL: tuple[Shape, ...] = (("L", "M"), (1, "M"))


def _biased_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in _BIASES:
        g = Operands(rng)
        yield g.fires(masked_attention(*_operands(g), g.input(shape), 0.5, 0))
    g = Operands(rng)
    for shape, why in _NO_BIASES:
        yield g.near_miss(masked_attention(*_operands(g), g.input(shape), 0.5, 0), why)
    for shape in _SMALL:
        for operands, scale, why in _misses(g):
            dtype = TensorProto.DOUBLE if "doubles" in why else TensorProto.FLOAT
            yield g.near_miss(masked_attention(*operands, g.input(shape, dtype), scale, 0), why)


@law(RULESET, source="onnxruntime, MultiHeadAttention", examples=_biased_examples, **SHARED)
def biased_multi_head(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float):
    """Attention(q, k, v, m; s) = Heads(MultiHeadAttention(Rows(q), Rows(k), Rows(v), m; h, s))

    What is the same for all queries, as a mask of keys is, is repeated for each.
    """
    given, heads = masked_attention(q, k, v, m, s, 0), heads_of(q, k, v, s)
    once = reshape(m, row_bias_dims(m, q, k))
    target = concat(listed(literal(ints((1, 1))), shape_of(q, 2, 3), literal(ints((1,)))), 0)
    for bias in (reshape(m, bias_dims(m, q, k)), expand_to(once, target)):
        whole = multi_head_attention(_rows(q), _rows(k), _rows(v), bias, heads, s)
        yield rewrite(given, _apart(whole, q, v), because=ONE_WAY)
