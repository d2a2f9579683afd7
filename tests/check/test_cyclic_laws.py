"""What a law writes into the class that it reads is checked on the operands of the example as written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from egraph_opt.check import check_example
from egraph_opt.laws import Example, Law, Operands, Tensor, number_like, rewrite
from egraph_opt.operators import binary, concat, slice_, unary
from egraph_opt.operators.terms import listed

Statement = Callable[[Tensor], Any]


def neg(x: Any) -> Any:
    return unary("Neg", (), x)


def relu(x: Any) -> Any:
    return unary("Relu", (), x)


def cut(x: Any, start: int, end: int) -> Any:
    return slice_(x, ((1, start, end, 1),))


def checked(right: Callable[[Any], Any]) -> Any:
    """What comes of checking Relu(x) = right(Relu(x)) on an example; graphs show the other statement only."""

    def states(x: Tensor) -> Iterator[Any]:
        yield rewrite(relu(x), right(relu(x)), because="a test")
        yield rewrite(neg(relu(x)), binary("Mul", relu(x), number_like(x, -1.0)), because="a test")

    law = Law("testing", "states", "Relu(x) = f(Relu(x))", "algebra", "bitwise", states, None)
    g = Operands(np.random.default_rng(0))
    example: Example = g.fires(neg(relu(g.input((2, 3)))))
    return check_example(law, example)


@pytest.mark.parametrize(
    "right",
    [
        pytest.param(relu, id="of the class itself"),
        pytest.param(lambda y: neg(neg(y)), id="through a class of its own"),
        pytest.param(lambda y: cut(concat(listed(y, neg(y)), 1), 0, 3), id="through a list"),
    ],
)
def test_a_side_that_reads_what_it_computes_is_compared(right: Callable[[Any], Any]) -> None:
    checks = checked(right).tally
    assert checks.made.total() > 0
    assert not [reason for reason in checks.left_out if "depends on itself" in reason]


@pytest.mark.parametrize(
    "right",
    [
        pytest.param(neg, id="of the class itself"),
        pytest.param(lambda y: neg(neg(neg(y))), id="through classes of its own"),
        pytest.param(lambda y: cut(concat(listed(y, neg(y)), 1), 1, 4), id="through a list"),
    ],
)
def test_a_wrong_side_that_reads_what_it_computes_is_rejected(right: Callable[[Any], Any]) -> None:
    with pytest.raises(AssertionError) as failure:
        checked(right)
    assert "added nothing" not in str(failure.value)
