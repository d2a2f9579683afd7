"""Shorthands: what they stand for in examples, and whose the operators are that laws write by them."""

from __future__ import annotations

import numpy as np

from egraph_opt.check.shorthands import spelled
from egraph_opt.check.terms import lower_example
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.laws import Operands
from egraph_opt.laws.law import statements
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import binary, transpose
from egraph_opt.rewrites.transposes.movement import through_binary_with_scalar

BY_KEY = {entry.key: entry for entry in all_laws()}


def _meanings(key: str) -> list[str]:
    entry = BY_KEY[key]
    return [repr(meaning) for statement in statements(entry) for meaning in spelled(statement, entry)]


def test_a_statement_is_spelled_for_all_that_its_shorthands_mean() -> None:
    left, right = _meanings("transpose.through_binary_with_scalar")
    assert "binary(op, transpose(x, p), c)" in left and "transpose(binary(op, x, c), p)" in left
    assert "binary(op, c, transpose(x, p))" in right and "transpose(binary(op, c, x), p)" in right


def test_a_shorthand_means_one_operator_throughout_a_statement() -> None:
    for meaning in _meanings("expand.past_unary"):
        assert ("cast(" in meaning) != ("unary(" in meaning)
        assert ("expand(" in meaning) != ("expand_to(" in meaning)


def test_what_is_absent_is_a_meaning() -> None:
    assert any("none()" in meaning for meaning in _meanings("convolution_sums.of_one_image"))


def test_what_a_law_writes_by_a_shorthand_is_stamped_with_the_law() -> None:
    g = Operands(np.random.default_rng(0))
    x, c = g.input((2, 3, 4)), g.input((1,))
    term = binary("Sub", c, transpose(x, (2, 0, 1)))
    laws = (BY_KEY["expand.past_binary"], through_binary_with_scalar)
    snapshot, _ = saturate_terms(lower_example(g.fires(term)), laws, {}, nodes=1000, rounds=3, seconds=60)
    made = {snapshot.laws[k - 1] for k in snapshot.made_by.tolist() if k}
    assert made == {"transpose.through_binary_with_scalar"}
