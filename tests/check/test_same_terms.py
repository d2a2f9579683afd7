"""What is tried of a law is the same in every process, whatever the order of sets there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SAID = """
from egraph_opt.check.beside.families import related
from egraph_opt.check.beside.neighbours import neighbours
from egraph_opt.check.named_numbers import NamedAttributes
from egraph_opt.check.used_operands import examples_of
from tests.rewrites.accepted import LAWS

(law,) = [law for law in LAWS if law.key == {key!r}]
for example in examples_of(law):
    for kind in neighbours(example, [2.0]):
        print(*(make().term for make in kind), sep="\\n")
    for other in related([example], frozenset([2.0]), NamedAttributes({{}}, frozenset()), 500, bits=False):
        print(other.term, other.operands.facts)
"""


@pytest.mark.parametrize(
    "key", ["gather.places_are_batches", "reshape.hidden_ones", "reshape.through_softmax"]
)
def test_terms_beside_examples_are_the_same_in_each_process(key: str) -> None:
    one, other = (_said(key, seed) for seed in (1, 2))
    assert one.count("\n") > 100
    assert one == other


def _said(key: str, seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", SAID.format(key=key)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
