"""Every registered law: it fires where it should, not on near-misses, and both sides compute the same."""

import numpy as np
import pytest

from egraph_opt.laws.law import Law
from egraph_opt.laws.selection import all_laws
from egraph_opt.testing.harness import check_example


@pytest.mark.parametrize("entry", all_laws(), ids=lambda entry: entry.key)
def test_a_law_holds_on_its_examples(entry: Law) -> None:
    assert entry.examples is not None, f"{entry.key} has no examples"
    examples = list(entry.examples(np.random.default_rng(0)))
    assert any(e.fires for e in examples), f"{entry.key} has no example on which it fires"
    assert any(not e.fires for e in examples), f"{entry.key} has no near-miss"
    for example in examples:
        check_example(entry, example)
