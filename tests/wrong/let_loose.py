"""Wrong laws let loose without the gate: what `optimize` makes of their witnesses, verified or not.

The gate refuses wrong laws before any model meets them, so that verification, which is behind it, is seldom
asked.  Here it is alone: a law is registered as it is, prices are drawn so that what it writes is chosen in
one draw or another, and what comes back has to compute what the witness does, or to be the witness itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import onnx

from egraph_opt import CostModel, NodeView, optimize
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.laws.exactness import Exactness
from egraph_opt.laws.law import Law, registered

from . import WrongLaw
from .witnesses import concrete, differ, feeds_of, model_of, tables

DRAWS, MORE_DRAWS = 4, 8
"""Prices that are drawn for each law: one draw chooses what it writes in one witness out of two; more where
that has to be seen."""

LIMITS = {"nodes": 2_000}
"""Some laws that are no endless ones grow far beyond their witness."""

STRICTEST: dict[str, Exactness] = {"bitwise": "bitwise", "finite": "finite"}
"""What is asked for of a law that keeps it; of others what is real."""


class Drawn(CostModel):
    """Prices of operators and their attributes that follow from a digest."""

    name = "drawn"
    unit = "units"

    def __init__(self, draw: int) -> None:
        super().__init__()
        self.draw = draw

    def cost(self, node: NodeView) -> float:
        if node.op_type == "Identity":
            return 0.0
        drawn = crc32(f"{self.draw}{node.op_type}{node.attributes}".encode()) % 1000
        return 1.0 + drawn / 50 + node.body_cost


@contextmanager
def alone(law: Law) -> Iterator[None]:
    """No law is registered but this one."""
    before = dict(registered)
    registered.clear()
    registered[law.key] = law
    try:
        yield
    finally:
        registered.clear()
        registered.update(before)


def harm_of(entry: WrongLaw, *, verified: bool = True) -> str:
    """How a result that `optimize` hands out differs from the witness; "" where none does.

    Args:
        verified: of those that come back as right only.  Where values change by approximate laws, or the
            original runs on no input, it says so.
    """
    roots, terms = concrete(entry.witness, entry.opset)
    model = model_of(roots, terms)
    if any(each.domain for each in model.opset_import):
        return ""  # operators of targets are written, and never read
    model, law = onnx.shape_inference.infer_shapes(model), entry.law
    given = [feeds_of(entry, terms, table) for table in tables(law, entry.values)]
    asked = STRICTEST.get(law.numerics, "real")
    with alone(law):
        for draw in range(DRAWS if verified else MORE_DRAWS):
            settings: dict[str, Any] = {"exactness": asked, "limits": LIMITS, "verify": verified}
            result = optimize(model, Drawn(draw), rewrites=[law.key], **settings)
            report = result.report
            if report.status == "optimized" and (not verified or report.verification.status == "passed"):
                harm = _differences(model, result.model, given, law)
                if harm:
                    return f"{harm} (verification: {report.verification.detail})"
    return ""


def _differences(model: onnx.ModelProto, other: onnx.ModelProto, given: list[Any], law: Law) -> str:
    before, after = (plain_session(m.SerializeToString(), plain_options(threads=1)) for m in (model, other))
    for feeds in given:
        try:
            expected = before.run(None, feeds)
        except Exception:  # onnxruntime raises classes of its own; what does not run promises nothing
            continue
        names = {each.name for each in after.get_inputs()}
        try:
            found = after.run(None, {name: array for name, array in feeds.items() if name in names})
        except Exception as error:
            return f"refused: {error}"
        harm = next(filter(None, (differ(x, y, law) for x, y in zip(expected, found, strict=True))), "")
        if harm:
            return harm
    return ""
