"""What is cast goes to types that few graphs have: floats of 8 bits, and others that few operators take.

What a condition of types does not name it takes for one of the usual ones, and ONNX gave operators these
types one after the other: a Cast has had floats of 8 bits since opset 19, a Transpose since 21, a Slice
never.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.beside.between_powers import cast_to
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.terms import UNSHOWN
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.elementwise import cast

TARGETS: tuple[tuple[int, tuple[int, ...]], ...] = (
    *((dtype, (17,)) for dtype in tables.CASTS),
    (TensorProto.STRING, (17,)),
    (TensorProto.FLOAT8E4M3FN, (19, 21, 24)),
    (TensorProto.FLOAT8E5M2, (19, 24)),
    (TensorProto.FLOAT8E4M3FNUZ, (19, 21)),
    (TensorProto.FLOAT8E5M2FNUZ, (19,)),
    (TensorProto.FLOAT8E8M0, (24,)),
    (TensorProto.BFLOAT16, (21,)),
    (TensorProto.INT4, (21,)),
    (TensorProto.UINT4, (24,)),
)
"""Types, and opsets in which something is cast to them: of each the first one, and one of the last."""

MOST_TYPES = 2
"""Types of casts of an example that are changed."""


def with_other_targets(example: Example) -> Iterator[Example]:
    """All casts to one type to another one, in the opsets that have it.

    What comes out is cast to float32: onnxruntime hands out no values of such types.
    """
    casts = (node.arguments[1].head.value for node in nodes_of(example) if node.head.name == "cast")
    for old in list(dict.fromkeys(casts))[:MOST_TYPES]:
        for new, opsets in TARGETS:
            made = cast_to(example, old, new)
            yield from (_shown(replace(made, opset=opset)) for opset in opsets if new != old)


def _shown(example: Example) -> Example:
    lowered = lowered_if_typed(example)
    if lowered is None or isinstance(example.term, tuple):
        return example
    known = lowered.facts[lowered.outputs[0]]
    hidden = known is not None and known.dtype in UNSHOWN | {TensorProto.STRING}
    return replace(example, term=cast(example.term, TensorProto.FLOAT)) if hidden else example
