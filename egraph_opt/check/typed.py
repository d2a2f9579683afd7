"""What ONNX's inference says of a term in the making."""

from __future__ import annotations

from typing import Any

from egraph_opt.check.scope import Rejected, Scope
from egraph_opt.facts.fact import ABSENT, CLASH, Fact
from egraph_opt.operators.typing import infer_operator


def typed(
    name: str, attributes: tuple[Any, ...], operands: tuple[Fact, ...], scope: Scope, given: Any
) -> Any:
    """The facts of an operator of operands that are there, or of each of its outputs.

    Raises:
        Rejected: there is no such output, or ONNX does not allow it.
    """
    if name == "output":
        bundle = scope.known[given[0]]
        if attributes[0] >= len(bundle):
            raise Rejected("no such output")
        return bundle[attributes[0]]
    if name == "leaf":
        raise Rejected("a leaf")
    try:
        found = infer_operator(name, scope.opset, attributes, operands)
    except Exception as error:  # operands that do not suit an operator make inference fail in many ways
        raise Rejected(f"{name} of operands that do not suit it") from error
    checked = found if isinstance(found, tuple) else (found,)
    if any((f.dtype <= 0 and f != ABSENT) or f.dtype == CLASH.dtype for f in checked):
        raise Rejected(f"{name} is ill-typed")
    return found
