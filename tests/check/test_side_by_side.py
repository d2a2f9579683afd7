"""Terms side by side with what differs from them in one thing, on the same operands."""

from __future__ import annotations

import numpy as np

from egraph_opt.check.beside.side_by_side import side_by_side
from egraph_opt.check.scope import roots_of
from egraph_opt.laws import Operands, exp
from egraph_opt.operators import reduce


def test_a_pair_differs_in_an_attribute_an_operator_an_operand_or_their_order() -> None:
    g = Operands(np.random.default_rng(0))
    x, y = g.input((3, 3)), g.input((3, 3))
    example = g.fires(reduce("ReduceSum", exp(x) - y, (0,), 0))
    pairs = [pair for kind in side_by_side(example) for pair in kind]
    (own,) = roots_of(example)
    assert pairs and not any(pair.fires for pair in pairs)
    others = []
    for pair in pairs:
        first, other = roots_of(pair)
        assert first == own != other
        others.append((other, pair.operands))
    terms = [other for other, _ in others]
    assert reduce("ReduceSum", exp(x) - y, (1,), 0) in terms  # another attribute
    assert any("ReduceSum" not in str(term) for term in terms)  # another operator
    swapped = reduce("ReduceSum", y - exp(x), (0,), 0)
    assert swapped in terms
    more = [operands for _, operands in others if len(operands.values) == 3]
    assert more and all(operands.facts[2].shape == (3, 3) for operands in more)  # another operand
