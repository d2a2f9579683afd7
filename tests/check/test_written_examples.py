"""What tests make of the examples that a law's author has written."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from egraph_opt.check.alternatives import prices_of, rebuilt_original, rewritten_model
from egraph_opt.check.batches import lowered_at
from egraph_opt.check.terms import show_all
from egraph_opt.cost.pricing import original_choice
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.laws import Example
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws
from egraph_opt.rebuild.choice import Choice

EVERY = 9
"""One law in so many is looked at."""


def _by_engine(example: Example) -> onnx.ModelProto:
    """An example that went into an e-graph and was read out again, no law applied."""
    lowered = lowered_at(example)
    show_all(lowered)
    snapshot, _ = saturate_terms(lowered, (), {}, nodes=5000, rounds=1, seconds=60, strict=True)
    prices = prices_of(lowered, snapshot)
    return rewritten_model(
        Choice(lowered, snapshot, original_choice(snapshot, prices.computed), prices.computed), lowered.opset
    )


@pytest.mark.parametrize("entry", [e for e in all_laws() if e.examples][::EVERY], ids=lambda e: e.key)
def test_an_example_is_rebuilt_as_an_engine_without_laws_has_it(entry: Law) -> None:
    assert entry.examples is not None
    for example in list(entry.examples(np.random.default_rng(0)))[:2]:
        lowered = lowered_at(example)
        show_all(lowered)
        rebuilt, expected = rebuilt_original(lowered, lowered.opset), _by_engine(example)
        assert rebuilt.graph.input == expected.graph.input
        assert rebuilt.graph.output == expected.graph.output
        assert sorted(map(_written, rebuilt.graph.node)) == sorted(map(_written, expected.graph.node))


def _written(node: onnx.NodeProto) -> tuple[str, str, int, str]:
    """A node but for names: of two equal constants an engine keeps one."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        attribute.t.ClearField("name")
    return copy.op_type, copy.domain, len(copy.input), "".join(sorted(map(str, copy.attribute)))
