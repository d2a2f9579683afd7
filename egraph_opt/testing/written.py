"""The examples of a law's author, which draw their constants: those that come out alike are one example."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.terms import lower_example


def written_examples(entry: Law, seeds: Sequence[int]) -> Iterator[tuple[Example, tuple[int, ...]]]:
    """Every example of a law that differs from others, with those of the seeds that make it."""
    made: dict[Hashable, tuple[Example, list[int]]] = {}
    for seed in seeds:
        examples = () if entry.examples is None else entry.examples(np.random.default_rng(seed))
        for place, example in enumerate(examples):  # an author's two that are alike stay two
            made.setdefault((place, _content(example)), (_closed(example), []))[1].append(seed)
    for example, makers in made.values():
        yield example, tuple(makers)


def _closed(example: Example) -> Example:
    """An example with the operands that there are by now, none of which its author makes later."""
    operands = example.operands
    return replace(
        example, operands=replace(operands, values=list(operands.values), facts=list(operands.facts))
    )


def _content(example: Example) -> Hashable:
    """All of an example that a check depends on: its terms, what is known of them, and its constants."""
    lowered = lower_example(example)
    leaves = sorted(term.attributes[0] for term in lowered.terms if term.operator == "leaf")
    tensors = [(k, lowered.leaves[k].const_value) for k in leaves]
    constants = tuple((k, tensor.tobytes()) for k, tensor in tensors if tensor is not None)
    known = repr((lowered.terms, lowered.facts, lowered.outputs))
    return example.fires, example.limits, known, constants
