"""A dim of a view that is 1 becomes 2 and 3, and with it all that it is a factor of."""

from __future__ import annotations

from typing import Any

import numpy as np

from egraph_opt.check.beside.factors_of_one import with_factors_of_one
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators import matmul, reshape, transpose

from .examples import example


def dims_in(made: Example) -> list[Any]:
    """The shapes of the operands, then the dims of the views, the inner ones first."""
    views = [node.arguments[1].head.value for node in nodes_of(made) if node.head.name == "reshape"]
    return [*(dims_of(value) for value in made.operands.values), *reversed(views)]


def found(make: Any) -> list[Any]:
    made = list(with_factors_of_one(example(make)))
    assert all(map(lowered_if_typed, made))
    return [dims_in(each) for each in made]


def blocks(g: Operands) -> Any:
    apart = transpose(reshape(g.input((2, 4, 3, 5)), (2, 1, 2, 2, 3, 5)), (0, 1, 4, 2, 5, 3))
    return reshape(apart, (2, 1, 6, 10))


def test_channels_in_front_of_a_block() -> None:
    made = found(blocks)
    for times in (2, 3):
        assert [(2, 4 * times, 3, 5), (2, times, 2, 2, 3, 5), (2, times, 6, 10)] in made
    assert len(made) < 30


def test_a_matrix_has_as_many_rows_more() -> None:
    def patches(g: Operands) -> Any:
        apart = transpose(reshape(g.input((1, 1, 4, 6)), (1, 1, 2, 2, 3, 2)), (0, 2, 4, 3, 5, 1))
        return matmul(reshape(apart, (1, 6, 4)), g.random(4, 5))

    made = found(patches)
    assert [(1, 2, 4, 6), (8, 5), (1, 2, 2, 2, 3, 2), (1, 6, 8)] in made


def test_columns_of_a_matrix_and_its_bias() -> None:
    def heads(g: Operands) -> Any:
        product = matmul(g.input((2, 3, 5)), g.random(5, 4)) + g.random(4)
        return transpose(reshape(product, (2, 3, 1, 4)), (0, 2, 1, 3))

    made = found(heads)
    assert [(2, 3, 5), (5, 8), (8,), (2, 3, 2, 4)] in made


def test_operands_that_are_alike_stay_so() -> None:
    def scores(g: Operands) -> Any:
        q, k = (reshape(g.input((2, 3, 4)), (2, 3, 1, 4)) for _ in range(2))
        return matmul(transpose(q, (0, 2, 1, 3)), transpose(k, (0, 2, 3, 1)))

    made = found(scores)
    assert [(2, 3, 8), (2, 3, 8), (2, 3, 2, 4), (2, 3, 2, 4)] in made


def test_elements_of_a_constant_are_no_copies_of_each_other() -> None:
    def viewed(g: Operands) -> Any:
        return g.input((3, 1, 4)) + reshape(g.constant(np.ones((3, 4), np.float32)), (3, 1, 4))

    arrays = [made.operands.values[1].const_value.numpy() for made in with_factors_of_one(example(viewed))]
    wider = [array[0].tolist() for array in arrays if array.shape == (3, 8)]
    assert wider[:1] == [[1.0] * 4 + [1.25] * 4]


def test_views_without_a_one_stay_as_they_are() -> None:
    assert not found(lambda g: reshape(g.input((4, 3)), (2, 2, 3)))
