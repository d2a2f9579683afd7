"""What tests make of the examples that a law's author has written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest

from egraph_opt.cost.pricing import original_choice
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.laws import Example, Operands, Tensor, law, relu, rewrite
from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws
from egraph_opt.rebuild.choice import Choice
from egraph_opt.testing.alternatives import prices_of, rebuilt_original, rewritten_model
from egraph_opt.testing.harness import check_example
from egraph_opt.testing.terms import lower_example, show_all
from egraph_opt.testing.written import written_examples

EVERY = 9
"""One law in so many is looked at."""


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input((2, 3)), g.random(3)
    yield g.fires(relu(relu(x)))
    yield g.fires(relu(relu(x + c)))
    yield g.near_miss(relu(x), why="there is one Relu only")
    yield g.fires(relu(relu(x)), some_limit=int(rng.integers(1 << 40)))
    yield g.fires(relu(relu(g.input((1,)))))


def _law() -> Law:
    @law("testing_of_written", numerics="bitwise", examples=_examples)
    def twice(x: Tensor) -> Iterator[object]:
        """Relu(Relu(x)) = Relu(x)"""
        yield rewrite(relu(relu(x)), relu(x), because="forgets a Relu")

    return twice


def test_examples_that_seeds_make_alike_are_one() -> None:
    found = [(example.fires, seeds) for example, seeds in written_examples(_law(), (0, 1, 2))]
    assert [seeds for fires, seeds in found if not fires] == [(0, 1, 2)]
    of_constants = [(seed,) for seed in (0, 1, 2)]
    limited = of_constants
    assert sorted(seeds for fires, seeds in found if fires) == sorted(
        [(0, 1, 2), (0, 1, 2), *of_constants, *limited]
    )


def test_an_example_of_two_seeds_is_checked_on_inputs_of_both() -> None:
    entry = _law()
    example = next(e for e, seeds in written_examples(entry, (0, 1)) if e.fires and seeds == (0, 1))
    apart = [check_example(entry, example, seeds=(seed,), kinds=not seed).tally.made for seed in (0, 1)]
    assert apart[0]["onnxruntime, special"] and not apart[1]["onnxruntime, special"]
    assert check_example(entry, example, seeds=(0, 1)).tally.made == apart[0] + apart[1]


def test_an_example_has_no_operands_that_its_author_makes_later() -> None:
    entry = _law()
    assert entry.examples is not None
    counts = [len(example.operands.values) for example, _ in written_examples(entry, (0,))]
    assert counts == [len(example.operands.values) for example in entry.examples(np.random.default_rng(0))]
    assert counts[0] < counts[-1]


def _by_engine(example: Example) -> onnx.ModelProto:
    """An example that went into an e-graph and was read out again, no law applied."""
    lowered = lower_example(example)
    show_all(lowered)
    snapshot, _ = saturate_terms(lowered, (), {}, nodes=5000, rounds=1, seconds=60, strict=True)
    prices = prices_of(lowered, snapshot)
    return rewritten_model(
        Choice(lowered, snapshot, original_choice(snapshot, prices), prices.computed), lowered.opset
    )


@pytest.mark.parametrize("entry", [e for e in all_laws() if e.examples][::EVERY], ids=lambda e: e.key)
def test_an_example_is_rebuilt_as_an_engine_without_laws_has_it(entry: Law) -> None:
    assert entry.examples is not None
    for example in list(entry.examples(np.random.default_rng(0)))[:2]:
        lowered = lower_example(example)
        show_all(lowered)
        rebuilt, expected = rebuilt_original(lowered, lowered.opset), _by_engine(example)
        assert rebuilt.graph.input == expected.graph.input
        assert rebuilt.graph.output == expected.graph.output
        assert sorted(map(_written, rebuilt.graph.node)) == sorted(map(_written, expected.graph.node))


def _written(node: onnx.NodeProto) -> tuple[str, str, int, str]:
    attributes = sorted(str(attribute) for attribute in node.attribute)
    return node.op_type, node.domain, len(node.input), "".join(attributes)
