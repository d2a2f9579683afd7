"""The greatest and the least over boxes of indices, written in one way: over one box, with what hangs on no
index outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from egraph_opt.proofs.sums import Walk, mentioned


def extreme(
    scene: Any, kind: str, walks: Sequence[Walk], body: z3.ArithRef, where: z3.BoolRef | None
) -> z3.ArithRef:
    """The greatest or least of a body: of those of further boxes that over all of them, and what is added to
    all is added to it."""
    kept, outside = list(walks), z3.RealVal(0)
    while True:
        if scene.reals and kind.endswith(" of floats"):  # sums of integers wrap around
            added, body = _apart(scene, kept, body)
            outside = outside + added
        inner = scene.folds.get(str(body)) if z3.is_const(body) else None
        if inner is None or inner.kind != kind:
            break
        kept += zip(inner.variables, inner.bounds, strict=True)
        where = inner.where if where is None else where if inner.where is None else z3.And(where, inner.where)
        body = inner.body
    if not kept and where is None:
        return z3.simplify(outside + body)
    return z3.simplify(outside + scene.folded(kind, kept, body, where))


def _apart(scene: Any, walks: Sequence[Walk], body: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef]:
    """What is added to a body and hangs on none of its indices, and the rest."""
    walked = {str(variable) for variable, _ in walks}
    body = z3.simplify(body, som=True)
    terms = body.children() if z3.is_add(body) else [body]
    inside = [term for term in terms if mentioned(scene, term) & walked]
    outside = [term for term in terms if not mentioned(scene, term) & walked]
    if not inside:  # of one number
        return z3.RealVal(0), body
    return z3.simplify(z3.Sum([z3.RealVal(0), *outside])), z3.simplify(z3.Sum(inside))
