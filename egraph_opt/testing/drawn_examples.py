"""Examples drawn from the statements of a law: random terms that match the pattern and meet the conditions.

What `drawing` builds is kept where its types check and every condition holds, or all but one of them: then
it is a near-miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import output
from egraph_opt.operators.expressions import Expression
from egraph_opt.testing.attribute_draws import pick
from egraph_opt.testing.drawing import Draw
from egraph_opt.testing.resolution import asks
from egraph_opt.testing.scope import Rejected, parts
from egraph_opt.testing.sides import Side, ask

PATIENCE = 24
"""How often operands are drawn anew for one example, for the first quarter of those that are tried."""

_FLOATS = (TensorProto.FLOAT,) * 6 + (TensorProto.DOUBLE, TensorProto.FLOAT16)
_TYPES = (*_FLOATS * 2, TensorProto.INT64, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)


def drawn(side: Side, rng: np.random.Generator, tries: int, *, fail: int | None = None) -> Iterator[Example]:
    """Examples of one statement of a law.

    Args:
        fail: the number of the condition (of `Side.conditions`) that must not hold, while all others do.
    """
    failed = None if fail is None else side.conditions[fail]
    for attempt in range(tries):
        draw = Draw(rng=rng, retries=PATIENCE if attempt < tries // 4 else 2)
        try:
            yield _attempt(draw, *_without_tables(side, rng, failed))
        except Rejected:
            continue


def _without_tables(side: Side, rng: np.random.Generator, failed: Any) -> tuple[Side, Any]:
    """A statement joined with the rules that fill the tables which it asks, and what has to fail of it.

    An entry of a table fails where a condition of a rule that would fill it does.
    """
    if not side.asks_tables:
        return side, failed
    whole, join = side.joined(rng)
    if failed is None:
        return whole, None
    if not asks(failed, side.tables):
        return whole, join.condition(failed)
    added = [c for c in map(join.condition, join.added) if c in whole.conditions]
    if not added:
        raise Rejected("a table that is always filled")
    return whole, added[int(rng.integers(len(added)))]


def _attempt(draw: Draw, side: Side, failed: Any) -> Example:
    rng = draw.rng
    draw.named, draw.patterns = side.named, (*side.tops, *side.named.values())
    draw.constants = pick(rng, 0.1, 0.5, 0.9)
    draw.first_constants = draw.constants * pick(rng, 0.25, 1.0)
    draw.repeats = pick(rng, 0.0, 0.0, 0.5)
    draw.dtype = pick(rng, *(_FLOATS if side.divides else _TYPES))
    tops = [top for top in side.tops if top != failed]
    found = [draw.term(top, None) for top in tops]
    draw.environment.update(zip(tops, found, strict=True))
    found += [draw.term(name, None) for name in side.named]
    ask(side, draw, failed)
    if not draw.leaves.has_inputs():
        raise Rejected("it depends on constants only")
    if any(f.shape is None or None in f.shape for known in draw.known.values() for f in _facts(known)):
        raise Rejected("a size that is not known, as where a window is larger than the image")
    if _is_emptied(draw):
        raise Rejected("nothing is left; kernels and ONNX differ on what nothing is")
    roots = _roots(found)
    term = roots[0] if len(roots) == 1 else roots
    operands = draw.leaves.operands(rng)
    if failed is None:
        return operands.fires(term, **draw.limits)
    return operands.near_miss(term, why=f"not {failed!r}", **draw.limits)


def _roots(found: list[Expression]) -> tuple[Expression, ...]:
    """The terms that no other one contains."""
    below = {part for term in found for top in term.arguments for part in parts(top)}
    found = [output(term, 0) if term.sort.kind == "bundle" and term not in below else term for term in found]
    roots = tuple(dict.fromkeys(term for term in found if term not in below))
    if any(root.sort.kind != "tensor" or root.head.name == "leaf" for root in roots):
        raise Rejected("a list, or an operand alone")
    return roots


def _is_emptied(draw: Draw) -> bool:
    """Whether something has no elements though all operands have some."""
    given = [known.shape or () for known in draw.leaves.facts]
    made = [f.shape or () for known in draw.known.values() for f in _facts(known)]
    return not any(0 in shape for shape in given) and any(0 in shape for shape in made)


def _facts(known: Any) -> tuple[Fact, ...]:
    """What is known of a tensor, or of those of a list or bundle, that is there."""
    return tuple(f for f in (known if isinstance(known, tuple) else (known,)) if f != ABSENT)
