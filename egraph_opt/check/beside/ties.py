"""Comparisons of what is computed with exactly what comes out of it for a number that inputs hold.

What is equal after it was rounded need not be before: a law that computes the bound of an input from that of
a product, or from that of a cast, is off by one step there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import onnx

from egraph_opt.check.alternatives import rebuilt_original
from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.magnitudes import floats_of, with_numbers
from egraph_opt.check.beside.variants import dims_of, resized
from egraph_opt.check.judging.runner import TermRunner
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced
from egraph_opt.check.terms import lower_example
from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

FRACTIONS = (0.1, 0.7, 1.1, 3.3)
"""What other constants of floats are, whose multiples are rounded, and inputs as well."""

WHOLE = (5, 2**24 + 3, 2**53 + 5)
"""What inputs of integers hold: some, and two that a float next to them stands for."""

WITHOUT_BOUND = {"Less": "LessOrEqual", "Greater": "GreaterOrEqual"}
EITHER = WITHOUT_BOUND | {other: kind for kind, other in WITHOUT_BOUND.items()}
"""Comparisons that tell apart whether a bound belongs to what it bounds."""

MANY = 48
"""Elements of inputs along their last axis, so that some of them are a bound."""

LENGTH = 2
"""What dims without numbers stand for."""


def with_tied_comparisons(example: Example) -> Iterator[Example]:
    """Each constant with which something computed is compared, what that is of one of these numbers."""
    constants, _ = floats_of(example)
    for node in nodes_of(example):
        if node.head.name != "binary" or node.arguments[0].head.value not in COMPARISONS:
            continue
        for known, computed in (node.arguments[1:], node.arguments[:0:-1]):
            place = place_of_leaf(known)
            if (
                place < 0
                or place_of_leaf(computed) >= 0
                or example.operands.values[place].const_value is None
            ):
                continue
            for number in FRACTIONS:
                others = dict.fromkeys((k for k in constants if k != place), number)
                made = replace(example, operands=with_numbers(example.operands, others))
                for result in _results(made, computed, number):
                    yield replace(made, operands=with_numbers(made.operands, {place: result}))


def with_equal_bounds(example: Example) -> Iterator[Example]:
    """Two comparisons with one number instead of two, of which that may belong to either, or to both."""
    constants, _ = floats_of(example)
    nodes = [n for n in nodes_of(example) if n.head.name == "binary" and n.arguments[0].head.value in EITHER]
    known = [place for place in constants if 0 not in dims_of(example.operands.values[place])]
    bounds = {place: n for n in nodes for place in map(place_of_leaf, n.arguments[1:]) if place in known}
    if len(nodes) != 2 or len(bounds) != 2:
        return
    inputs = [dims_of(v) for v in example.operands.values if v.const_value is None]
    longer = resized(example, {d for dims in inputs for d in dims[-1:] if isinstance(d, int) and d > 1}, MANY)
    kinds = [(n.arguments[0].head.value, EITHER[n.arguments[0].head.value]) for n in nodes]
    for place in bounds:
        number = float(example.operands.values[place].const_value.numpy().flat[0])
        operands = with_numbers(longer.operands, dict.fromkeys(bounds, number))
        for chosen in product(*kinds):
            by = {n: with_attribute(n, 0, kind) for n, kind in zip(nodes, chosen, strict=True)}
            yield replace(example, term=replaced(example.term, by), operands=operands)


def _results(example: Example, computed: Expression, number: float) -> list[float]:
    """What comes out of a term of inputs that hold a number, each finite result once."""
    try:
        lowered = lower_example(replace(example, term=computed), example.opset)
        runner = TermRunner(rebuilt_original(lowered, example.opset))
        found = [runner.run(_feeds(runner.model, n, number))[0] for n in WHOLE]
    except Exception:  # what is near an example need not run
        return []
    return list(filter(np.isfinite, dict.fromkeys(float(each.flat[0]) for each in found if each.size)))


def _feeds(model: onnx.ModelProto, whole: int, number: float) -> dict[str, Any]:
    """All inputs hold a number, of integers the one, of others the other."""
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [d.dim_value if d.HasField("dim_value") else LENGTH for d in tensor.shape.dim]
        with np.errstate(all="ignore"):
            feeds[value.name] = np.full(shape, whole if dtype.kind in "iu" else number).astype(dtype)
    return feeds
