"""Ones that are longer together, copies of another number, bounds from behind, rows for numbers.

And rules that fill a table: terms are made by each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.bounds_from_behind import with_bounds_from_behind
from egraph_opt.check.beside.continued_patterns import with_continued_patterns
from egraph_opt.check.beside.longer_ones import with_longer_ones
from egraph_opt.check.beside.other_constants import with_other_constants
from egraph_opt.check.beside.other_equations import with_other_equations
from egraph_opt.check.beside.rows_for_numbers import with_rows_for_numbers
from egraph_opt.check.beside.stepped_blocks import with_stepped_blocks
from egraph_opt.check.beside.unequal_copies import with_unequal_copies
from egraph_opt.check.beside.variants import arrays_of, dims_of
from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.sides import sides_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws import Operands, listed
from egraph_opt.laws.law import Example
from egraph_opt.operators import binary, einsum, expand, matmul, overwrite, reshape, slice_
from tests.wrong.rules_say_too_much import mask_twice

from .examples import example


def shapes(made: Example) -> tuple[Any, ...]:
    return tuple(map(dims_of, made.operands.values))


def attributes(made: Example, operator: str) -> list[Any]:
    return [node.arguments[1].head.value for node in nodes_of(made) if node.head.name == operator]


def test_axes_of_one_element_are_longer_in_all_operands_that_have_to_fit() -> None:
    given = example(lambda g: g.input((1, 1, 4)) * g.input((1, 4)) + g.input((1, 1, 1)))
    found = set(map(shapes, with_longer_ones(given)))
    assert ((1, 3, 4), (3, 4), (1, 1, 1)) in found
    assert ((3, 1, 4), (1, 4), (3, 1, 1)) in found
    product = example(lambda g: matmul(g.input((1, 2, 1)), g.input((1, 1, 5))))
    assert ((1, 2, 3), (1, 3, 5)) in set(map(shapes, with_longer_ones(product)))
    assert ((1, 2, 3), (1, 1, 5)) not in set(map(shapes, with_longer_ones(product)))


def test_bounds_count_from_behind() -> None:
    given = example(lambda g: slice_(g.input((6, 2)), ((0, 1, 4, 1),)))
    found = [cut for (cut,) in (attributes(each, "slice_")[0] for each in with_bounds_from_behind(given))]
    assert {(0, 1, -2, 1), (0, 1, -1, 1), (0, -5, 4, 1), (0, -5, -2, 1)} <= set(found)


def test_an_expand_makes_a_copy_more_and_views_follow() -> None:
    def grid(g: Operands) -> Any:
        return reshape(expand(reshape(g.input((3,)), (1, 3)), (3, 3)), (9,))

    found = [
        (attributes(each, "expand")[0], attributes(each, "reshape")[0])
        for each in with_unequal_copies(example(grid))
    ]
    assert ((4, 3), (12,)) in found
    assert ((2, 3), (6,)) in found


def test_a_number_is_a_row_or_a_column_of_others() -> None:
    given = example(lambda g: g.input((2, 3)) * g.constant(2.0))
    found = {arrays_of(each)[1].shape: arrays_of(each)[1] for each in with_rows_for_numbers(given)}
    assert found.keys() == {(3,), (2, 1)}
    assert found[3,].tolist() == [2.0, 3.0, 4.0]


def test_a_range_is_longer_in_its_own_view() -> None:
    def mask(g: Operands) -> Any:
        i, j = (g.constant(np.arange(3)) for _ in range(2))
        return binary("GreaterOrEqual", reshape(i, (3, 1)), reshape(j, (1, 3)))

    made = list(with_continued_patterns(example(mask)))
    assert ((3,), (4,)) in set(map(shapes, made))
    assert ((4,), (3,)) in set(map(shapes, made))


def test_an_einsum_has_other_equations_of_ones() -> None:
    made = list(with_other_equations(example(lambda g: einsum("ibi->bi", listed(g.input((2, 3, 2)))))))
    found = {(nodes_of(each)[0].arguments[0].head.value, *shapes(each)) for each in made}
    assert {("aab->b", (1, 1, 1)), ("ij->ji", (2, 2))} <= found
    assert not any("," in equation for equation, *_ in found)


def test_two_blocks_are_in_steps_with_as_many_rows() -> None:
    def twice(g: Operands) -> Any:
        x, u, v = (g.input((n, 5)) for n in (6, 2, 4))
        inner = overwrite(x, u, "ScatterND", ((0, 1, 3, 1),))
        return overwrite(inner, v, "ScatterND", ((0, 0, 4, 1),))

    made = list(with_stepped_blocks(example(twice)))
    blocks = [[n.arguments[3].head.value[0] for n in nodes_of(e) if n.head.name == "overwrite"] for e in made]
    assert [(0, 0, 6, 2), (0, 1, 6, 3)] in blocks
    assert shapes(made[blocks.index([(0, 0, 6, 2), (0, 1, 6, 3)])]) == ((6, 5), (2, 5), (3, 5))
    assert all(map(lowered_if_typed, made))


def test_constants_hold_infinities_where_bits_are_promised() -> None:
    given = example(lambda g: g.input((3,)) * g.constant(np.array([1.0, 2.0, 3.0])))
    kept = [np.isinf(arrays_of(each)[1]).any() for each in with_other_constants(given, bits=True)]
    assert sum(kept) == 4
    assert not any(np.isinf(arrays_of(each)[1]).any() for each in with_other_constants(given))


def test_each_rule_that_fills_a_table_makes_a_term() -> None:
    (side,) = sides_of(mask_twice)
    choices, made = Choices(), set[str]()
    for each in built(side, choices, 640):
        choices.keep()
        of_names = (node for node in nodes_of(each) if node.head.name in ("binary", "variadic"))
        made |= {node.arguments[0].head.value for node in of_names}
    assert {"Mul", "Sub", "Max", "Min"} <= made


def test_what_is_cast_is_of_the_type_that_was_cast_in_a_term_before() -> None:
    (side,) = sides_of(mask_twice)
    choices, terms, several = Choices(), 0, 0
    for each in built(side, choices, 640):
        choices.keep()
        terms += 1
        several += len(each.operands.facts) > 1
        assert {fact.dtype for fact in each.operands.facts} == {TensorProto.BOOL}
    assert terms > 24
    assert several > 6
