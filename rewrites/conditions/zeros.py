"""Zeros in the shape of a value.  No laws here."""

from typing import Any

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import Literal, expand_to, literal, shape_of
from egraph_opt.rewrites.conditions.channels import static_shape


@hosted()
def zeros_of(x: Fact, written: bool) -> Literal | None:
    """Zeros in the shape of x, which has to be all numbers; or one zero, to be expanded where it is not."""
    dims, zero = static_shape(x), 0.0 if x.dtype in FLOATS else 0
    return Literal(x.dtype, dims or (), (zero,)) if (dims is not None) == written else None


@hosted()
def rank_of(x: Fact) -> int | None:
    return x.rank


def zeros_like(x: Tensor) -> tuple[Any, Any]:
    """Zeros in the shape of x: written out, or computed from x."""
    return literal(zeros_of(x, True)), expand_to(literal(zeros_of(x, False)), shape_of(x, 0, rank_of(x)))
