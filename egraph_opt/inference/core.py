"""Facts of the outputs of one node: ONNX's inference met with the operator's formula."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact, is_impossible, meet
from egraph_opt.facts.polynomials import Bounds
from egraph_opt.graph.walks import RANDOM

from . import (
    convolution,
    elementwise,
    extending,
    float_rules,
    generators,
    range_rules,
    reductions,
    slicing,
    views,
)
from .call import FORMULAS, Attribute, Call, ContradictionError
from .float_ranges import with_intervals
from .numbers import completed
from .onnx_inference import accepts, infer_by_onnx, schema
from .ranges import with_ranges
from .slicing import joined

FAMILIES = (
    *(convolution, elementwise, extending, float_rules, generators, range_rules),
    *(reductions, slicing, views),
)
"""The modules whose import fills the tables of formulas and of ranges."""


@lru_cache(maxsize=1 << 14)
def infer_node(
    op_type: str,
    domain: str,
    attributes: tuple[tuple[str, Attribute], ...],
    inputs: tuple[Fact | None, ...],
    n_outputs: int,
    *,
    opset: int,
    bounds: Bounds = (),
) -> tuple[Fact, ...]:
    """Facts of the outputs of one node.

    Args:
        attributes: (name, value) pairs sorted by name; tensors and graphs are left out, but for the value of
            ConstantOfShape, which is ``("value", (dtype, number))``.
        inputs: facts of the operands; None for an absent optional one.
        opset: version of ``domain``.
        bounds: between which numbers symbols are assumed to lie.

    Returns:
        One fact per output: ``CLASH`` for all of them where the node cannot be right, ``UNKNOWN`` for an
        operator that ONNX does not know.
    """
    domain = "" if domain == "ai.onnx" else domain
    if any(fact is not None and fact.dtype < 0 for fact in inputs):
        return (CLASH,) * n_outputs
    if schema(op_type, domain, opset) is None:
        return (UNKNOWN,) * n_outputs
    if not accepts(
        op_type, domain, tuple(None if fact is None else fact.dtype for fact in inputs), n_outputs, opset
    ):
        return (CLASH,) * n_outputs
    const = _is_const(op_type, inputs)
    if op_type == "Concat" and domain == "":
        inputs = joined(inputs, dict(attributes).get("axis", 1))
    call = Call(op_type, dict(attributes), inputs, n_outputs, opset, bounds)
    try:
        known = _by_formula(call) if domain == "" else [UNKNOWN] * n_outputs
    except ContradictionError:
        # ONNX is not asked: some nodes that cannot be right crash it (Split with too few outputs).
        return (CLASH,) * n_outputs
    facts = infer_by_onnx(op_type, domain, attributes, inputs, n_outputs, opset=opset)
    facts = [meet(a, b) for a, b in zip(known, facts, strict=True)]
    if any(fact.dtype < 0 or is_impossible(fact) for fact in facts):
        return (CLASH,) * n_outputs
    facts = [completed(_as_const(fact, const)) for fact in facts]
    return tuple(with_intervals(call, with_ranges(call, facts)) if domain == "" else facts)


def _by_formula(call: Call) -> list[Fact]:
    rule = FORMULAS.get(call.op_type)
    facts = [] if rule is None else list(rule(call))[: call.n_outputs]
    return facts + [UNKNOWN] * (call.n_outputs - len(facts))


def _as_const(fact: Fact, const: bool) -> Fact:
    return fact if fact.const == const else replace(fact, const=const)


def _is_const(op_type: str, inputs: tuple[Fact | None, ...]) -> bool:
    """The node computes the same from constants at every run."""
    if op_type in RANDOM or not all(fact is None or fact.const for fact in inputs):
        return False
    # Dropout in training mode is random.
    return op_type != "Dropout" or len(inputs) < 3 or inputs[2] is None or inputs[2].splat == 0
