"""The constructors that every graph needs, and the tables of the analysis.

One e-class of sort `Tensor` is one mathematical value.  The constructors of operators are declared in
`operators/`.  Lists (`nil`, `cons`) only ever merge by congruence, so a list class has one element list.
"""

from __future__ import annotations

from typing import Any

from egraph_opt.errors import LawError, nearest
from egraph_opt.operators import host
from egraph_opt.operators.expressions import (
    Attribute,
    Bundle,
    Expression,
    Function,
    Int,
    String,
    Tensor,
    Tensors,
    declare,
)
from egraph_opt.operators.expressions import Sort as _Sort

_TENSOR, _TENSORS, _BUNDLE = _Sort("tensor"), _Sort("tensors"), _Sort("bundle")
_OBJECT, _INT, _STRING = _Sort("object"), _Sort("int"), _Sort("string")


nil = declare(Function("nil", (), _TENSORS, doc="The empty list of operands."))
cons = declare(Function("cons", (("first", _TENSOR), ("rest", _TENSORS)), _TENSORS, doc="A longer list."))
append = declare(
    Function(
        "append",
        (("left", _TENSORS), ("right", _TENSORS)),
        _TENSORS,
        doc="The elements of left, then those of right; computed by the analysis.",
    )
)

# What the host writes: term i of a lowered graph, by its sort.
node = declare(Function("node", (("i", _INT),), _TENSOR, "first", "Term i of the graph, if it is a tensor."))
bundle_node = declare(Function("bundle_node", (("i", _INT),), _BUNDLE, "first"))
list_node = declare(Function("list_node", (("i", _INT),), _TENSORS, "first"))

# What is known.
fact = declare(Function("fact", (("x", _TENSOR),), _OBJECT, host.meet, "The `types.Fact` of a class."))
facts = declare(Function("facts", (("xs", _TENSORS),), _OBJECT, "last", "Those of a list's elements."))
bundle_facts = declare(
    Function("bundle_facts", (("b", _BUNDLE),), _OBJECT, "last", "Those of a bundle's outputs.")
)
FACTS_OF = {"tensor": fact, "tensors": facts, "bundle": bundle_facts}
"""The tables of facts, by the kind of what they are of."""

opset = declare(Function("opset", (), _INT, "last", "The model's opset of the default domain."))
_limit = declare(Function("limit", (("name", _STRING),), _INT, "last"))


LIMITS = {
    "blocked_channels": "images have channels in blocks of so many",
    "byte_kernels": "operators between DQ and Q are kernels on bytes: 1, or no limit",
    "channel_block": "kernels of images have channels in blocks of so many",
    "conv_dilation": "the largest dilation of a convolution",
    "conv_kernel": "the largest kernel of a convolution along an axis",
    "conv_pad": "the largest pad of a convolution along an axis",
    "conv_stride": "the largest stride of a convolution along an axis",
    "fused_stages": "how many vector operators a cube operator takes in",
    "in_place_block": "images whose channels are a multiple of this are joined as convolutions write them",
    "lift_conv1d": "images are convolved in 2-D only",
    "narrow_int64": "integers are computed in 32 bits",
    "plain_products": "which products take matrices in ND (see `rewrites/conditions/formats`)",
    "pool_kernel": "the largest window of a pooling, in elements",
    "pool_stride": "the largest stride of a pooling",
    "pool_window": "the largest window of a pooling along an axis",
    "resident_pixels": "how many elements of a row are held at full width",
    "row_width": "the widest image",
    "tile_side": "kernels of products have matrices in tiles of so many rows and columns",
    "vector_stages": "how many vector operators one kernel computes",
}
"""What a target may publish for laws to ask for; laws that split fire only above a limit."""


def declare_limit(name: str, meaning: str) -> str:
    """Declare a limit that laws and cost models of one's own share; returns its name."""
    LIMITS[name] = meaning
    return name


def limit(name: str) -> Int:
    """A limit that the target publishes: the pattern matches only under targets that do.

    Raises:
        LawError: there is no such limit.
    """
    if name not in LIMITS:
        near = nearest(str(name), LIMITS)
        raise LawError(f"there is no limit {name}" + (f"; did you mean {near}?" if near else ""))
    return _limit(name)  # type: ignore[no-any-return]


def listed(*items: Any) -> Tensors:
    """A list of operands, for `concat` and `variadic`."""
    answer: Tensors = nil()
    for item in reversed(items):
        answer = cons(item, answer)
    return answer


def unlisted(whole: Expression) -> tuple[list[Expression], Expression]:
    """What a list begins with, and what is behind that: `nil`, or a list that is not written out."""
    items: list[Expression] = []
    while whole.head is cons:
        item, whole = whole.arguments
        items.append(item)
    return items, whole


__all__ = [
    "FACTS_OF",
    "LIMITS",
    "Attribute",
    "Bundle",
    "Expression",
    "Int",
    "String",
    "Tensor",
    "Tensors",
    "append",
    "bundle_facts",
    "bundle_node",
    "cons",
    "declare_limit",
    "fact",
    "facts",
    "limit",
    "list_node",
    "listed",
    "nil",
    "node",
    "opset",
    "unlisted",
]
