"""What a law writes, as far as it follows from what is drawn already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from egraph_opt.check.scope import Rejected, Scope
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.operators.expressions import Expression, Variable, parts


def shape_of_written(scope: Scope, written: Expression, term: Callable[..., Any]) -> Shape | None:
    """The shape of what a law writes, which a view that it matches may have to have, where it is known.

    Args:
        scope: what is drawn so far.
        term: makes a concrete term of a pattern.
    """
    variables = {part for part in parts(written) if isinstance(part.head, Variable)}
    if not variables or not variables <= scope.environment.keys():
        return None
    environment, known = dict(scope.environment), dict(scope.known)
    try:
        fact = scope.known.get(term(written, None))
    except Rejected:
        return None
    finally:
        scope.environment, scope.known = environment, known
    shape = fact.shape if isinstance(fact, Fact) else None
    return shape if shape is None or None not in shape else None
