"""Terms for a statement of a law: they match its pattern, and meet its conditions, or all but one of them.

`drawing` makes them from the values of `tables`; those are kept of which ONNX says that they are well-typed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.choices import Choices, pick
from egraph_opt.check.drawing import Draw
from egraph_opt.check.entries import narrowed
from egraph_opt.check.operands import FLOATS_ONLY
from egraph_opt.check.resolution import Filler, Join, asks
from egraph_opt.check.scope import Rejected
from egraph_opt.check.sides import Side, ask
from egraph_opt.check.theme import Theme
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import output
from egraph_opt.operators.expressions import Expression, parts

PATIENCE, PATIENT = 12, 80
"""How often operands are drawn anew for one term, and for how many terms."""

CAN_BE_EMPTY = frozenset(
    "binary cast concat expand gather leaf literal none output pad reshape slice_ split transpose".split()
) | {"unary", "where"}
"""Operators of which kernels and the standard agree what they are of nothing."""

CHANGING = frozenset({"cast", "quantize", "dequantize", "where"})
"""Operators whose operands may be of other types than their results."""

AS_TOLD = frozenset({"reshape_to", "expand_to", "slice_at", "range_"})
"""Operators whose results have dims that are known at run time only."""


def built(
    side: Side,
    choices: Choices,
    tries: int,
    *,
    fail: int | None = None,
    fruitless: int = 10**9,
    theme: type[Theme] = Theme,
    **given: Any,
) -> Iterator[Example]:
    """Terms for one statement of a law; the receiver says which are kept (`Choices.keep`).

    Args:
        theme: what they are drawn from.
        fruitless: tries after which none is expected, where there was none.
        given: of `Draw`: the numbers that the law names, and its class.
        fail: the number of the condition (of `Side.conditions`) that must not hold, while all others do.
    """
    entries = narrowed(side) if fail is None else [side]
    found, cast_from, met = 0, tuple[int, ...](), set[Filler]()
    for attempt in range(tries):
        if attempt >= fruitless and not found:
            return
        choices.begin()
        one = entries[choices.among(range(len(entries)))] if len(entries) > 1 else entries[0]
        failed = None if fail is None else side.conditions[fail]
        draw = Draw(
            rng=choices,
            theme=theme(choices),
            retries=PATIENCE if attempt < PATIENT and theme is Theme else 2,
            cast_from=cast_from,
            **given,
        )
        try:
            whole, failed, join = _without_tables(one, choices, failed, met)
            made = _attempt(draw, whole, failed)
        except Rejected:
            continue
        found, kept = found + 1, choices.kept
        yield made
        if choices.kept > kept:
            cast_from = draw.cast_from
            met.update(join.used if join else ())


def _without_tables(
    side: Side, rng: np.random.Generator, failed: Any, met: Collection[Filler]
) -> tuple[Side, Any, Join | None]:
    """A statement joined with the rules that fill the tables which it asks, what has to fail of it, and the
    join.

    An entry of a table fails where a condition of a rule that would fill it does.
    """
    if not side.asks_tables:
        return side, failed, None
    whole, join = side.joined(rng, met)
    if failed is None:
        return whole, None, join
    if not asks(failed, side.tables):
        return whole, join.condition(failed), join
    added = [c for c in map(join.condition, join.added) if c in whole.conditions]
    if not added:
        raise Rejected("a table that is always filled")
    return whole, added[int(rng.integers(len(added)))], join


def _attempt(draw: Draw, side: Side, failed: Any) -> Example:
    rng = draw.rng
    draw.named, draw.patterns = side.named, (*side.tops, *side.named.values())
    draw.written = side.written
    named = {part.head.name for pattern in draw.patterns for part in _terms(pattern)}
    if not draw.theme.is_usual:
        draw.opset, draw.dtype = pick(rng, *tables.OPSETS), draw.theme.dtype
    elif not rng.plain:
        draw.opset = pick(rng, *tables.OPSETS)
        of_floats = named & FLOATS_ONLY and not named & CHANGING
        draw.dtype = pick(rng, *(tables.FLOAT_TYPES if of_floats else tables.TYPES))
    draw.opset = max((draw.opset, *(tables.LATE.get(name, 0) for name in named)))
    draw.constants = pick(rng, *tables.SHARES)
    draw.first_constants = draw.constants * pick(rng, 0.25, 1.0)
    if draw.theme.is_usual:
        draw.repeats = pick(rng, 0.0, 0.0, 0.5)
        draw.all_huge = pick(rng, *[False] * 11, True)
        draw.ranged = pick(rng, *[False] * 11, True)
    tops = [top for top in side.tops if top != failed]
    found = [draw.term(top, None) for top in tops]
    draw.environment.update(zip(tops, found, strict=True))
    found += [draw.term(name, None) for name in side.named]
    ask(side, draw, failed)
    if not draw.leaves.has_inputs():
        raise Rejected("it depends on constants only")
    of_any_rank = any(known.shape is None for known in draw.leaves.facts)
    told = any(part.head.name in AS_TOLD for term in found for part in _terms(term))
    made = [f for known in draw.known.values() for f in _facts(known)]
    if any(not of_any_rank if f.shape is None else not told and None in f.shape for f in made):
        raise Rejected("a size that is not known, as where a window is larger than the image")
    if _is_emptied(draw) and not all(
        part.head.name in CAN_BE_EMPTY for term in found for part in _terms(term)
    ):
        raise Rejected("nothing is left; kernels and ONNX differ on what nothing is")
    roots = _roots(found)
    term = roots[0] if len(roots) == 1 else roots
    why = "" if failed is None else f"not {failed!r}"
    limits = tuple(sorted(draw.limits.items()))
    return Example(term, not why, why, limits, draw.leaves.operands(rng), draw.opset)


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


def _terms(term: Expression) -> Iterator[Expression]:
    """The operators of a term."""
    return (part for part in parts(term) if part.sort.kind in ("tensor", "bundle"))


def _facts(known: Any) -> tuple[Fact, ...]:
    """What is known of a tensor, or of those of a list or bundle, that is there."""
    return tuple(f for f in (known if isinstance(known, tuple) else (known,)) if f != ABSENT)
