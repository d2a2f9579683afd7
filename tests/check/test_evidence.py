"""A law of which the tables make nothing, and whose author shows one size, has shown little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.check.evidence import only_sizes
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Example, Law, Operands, Tensor, hosted, law, rewrite
from egraph_opt.operators import matmul, reshape

PRIMES = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0)


@hosted()
def of_primes(x: Fact, w: Fact) -> Dims | None:
    """The constant holds the first primes, row by row: nobody makes another one of them."""
    known = w.const and w.data is not None and x.is_symbolic and w.data == PRIMES[: len(w.data)]
    return (*x.shape[:-1], w.shape[1]) if known and x.shape and w.shape and len(w.shape) == 2 else None


def examples(*rows: int):
    def of(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        for n in rows:
            yield g.fires(matmul(g.input((3, n)), g.constant(np.array(PRIMES[: 2 * n]).reshape(n, 2))))

    return of


def declared(*rows: int) -> Law:
    @law("testing_of_evidence", numerics="bitwise", examples=examples(*rows))
    def viewed(x: Tensor, w: Tensor):
        """x @ primes = Reshape(x @ primes)"""
        made = matmul(x, w)
        yield rewrite(made, reshape(made, of_primes(x, w)), because="as it is")

    return viewed


def test_one_size_is_too_little() -> None:
    with pytest.raises(LawRefusedError, match=r"at one size only, where .*dim 0 of operand 1 is 2.*another"):
        check_law(declared(2), terms=24, conditions=False, neighbours=False)


def test_another_one_is_enough() -> None:
    assert not check_law(declared(2, 3), terms=24, conditions=False, neighbours=False).seen_once


def test_who_knows_it_says_so() -> None:
    assert check_law(declared(2), terms=24, conditions=False, neighbours=False, partial=True).seen_once


def test_dims_that_are_symbols_or_one_are_any() -> None:
    assert not only_sizes((("N", 1), None), [])


def test_terms_of_other_ranks_say_nothing() -> None:
    assert only_sizes(((2,),), [((3, 4),)]) == "dim 0 of operand 0 is 2"
