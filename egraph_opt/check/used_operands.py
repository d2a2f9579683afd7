"""Examples with the operands that are in their terms: those of one author share a family of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, Law, written_examples
from egraph_opt.operators.constants import leaf


def examples_of(law: Law) -> list[Example]:
    """The author's examples, each with its own operands.

    Raises:
        LawError: they are none, or cannot be made.
    """
    return [with_used_operands(each) for each in written_examples(law, np.random.default_rng(0))]


def with_used_operands(example: Example) -> Example:
    """The same without leaves that are in no term: each would be an input of a model, or changed in vain."""
    given: Operands = example.operands
    used = sorted({place_of_leaf(node) for node in nodes_of(example)} - {-1})
    if len(used) == len(given.values):
        return example
    made = Operands(given.rng)
    for place in used:
        made = made.with_leaf(given.values[place], given.facts[place])
    numbers = {leaf(old): leaf(new) for new, old in enumerate(used)}
    return replace(example, term=replaced(example.term, numbers), operands=made)
