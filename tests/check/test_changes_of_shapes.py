"""What is tried beside examples and has another shape: unequal parts, other ranks, dims of 1 and of 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.check.beside.along_other_axes import (
    with_factors_along_other_axes,
    with_few_pixels,
    with_padded_windows,
)
from egraph_opt.check.beside.both_directions import with_both_directions
from egraph_opt.check.beside.equal_views import with_equal_views
from egraph_opt.check.beside.more_ones import with_more_ones
from egraph_opt.check.beside.named_attributes import with_named_attributes
from egraph_opt.check.beside.other_targets import with_more_axes_reduced, with_ones_and_nothing
from egraph_opt.check.beside.ties import with_equal_bounds
from egraph_opt.check.beside.unequal_parts import with_unequal_parts, with_uneven_halves
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.check.named_numbers import NamedAttributes, named_by
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws import Dims, Law, Operands, Permutation, Tensor, hosted, law, rewrite
from egraph_opt.laws.law import Example
from egraph_opt.operators import (
    binary,
    concat,
    conv,
    expand,
    none,
    output,
    pool,
    reduce,
    reshape,
    slice_,
    softmax,
    transpose,
)
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.recurrent import RecurrentLayer, recurrent
from egraph_opt.operators.terms import listed
from egraph_opt.operators.windows import PoolWindow
from tests.wrong.pixels_of_enlarged_images import mode, scaled

from .examples import example


def shapes(made: Example) -> list[Any]:
    return [dims_of(v) for v in made.operands.values]


def given(made: Example, operator: str, k: int) -> Any:
    """An attribute of the only operator of a name."""
    (node,) = (n for n in nodes_of(made) if n.head.name == operator)
    return node.arguments[k].head.value


def test_what_is_joined_is_of_unequal_parts_and_weights_have_more_rows() -> None:
    def joined(g: Operands):
        both = concat(listed(g.input((1, 2, 5)), g.input((1, 2, 5))), 1)
        return conv(both, g.random(8, 1, 3), none(), ConvWindow((1,), (0, 0), (1,), 4))

    found = [shapes(made) for made in with_unequal_parts(example(joined))]
    assert [(1, 1, 5), (1, 3, 5), (24, 1, 3)] in found
    assert [(1, 2, 5), (1, 2, 5), (16, 1, 3)] in found


def test_halves_of_an_odd_number_overlap_or_leave_one_out() -> None:
    def halves(g: Operands):
        x = g.input((2, 4))
        return concat(listed(slice_(x, ((1, 2, 4, 1),)), slice_(x, ((1, 0, 2, 1),))), 1)

    found = [
        (shapes(made)[0], {n.arguments[1].head.value for n in nodes_of(made) if n.head.name == "slice_"})
        for made in with_uneven_halves(example(halves))
    ]
    assert len(found) == 4
    assert ((2, 5), {((1, 2, 5, 1),), ((1, 0, 3, 1),)}) in found


def test_a_layer_runs_both_ways_and_views_hold_twice_as_much() -> None:
    def viewed(g: Operands):
        weights = listed(g.random(1, 6, 3), g.random(1, 6, 2), g.random(1, 12), none())
        layer = RecurrentLayer("GRU", (("direction", "forward"), ("hidden_size", 2)))
        y = recurrent(g.input((5, 4, 3)), weights, none(), none(), none(), layer)
        return reshape(output(y, 0), (5, 4, 2))

    found = list(with_both_directions(example(viewed)))
    assert {given(made, "reshape", 1) for made in found} == {(10, 4, 2), (5, 8, 2), (5, 4, 4)}
    assert all(shapes(made)[:3] == [(2, 6, 3), (2, 6, 2), (2, 12)] for made in found)


@hosted()
def is_known_order(p: Permutation) -> bool:
    return {3: (0, 2, 1), 4: (0, 3, 1, 2)}.get(len(p)) == p


def known_order(x: Tensor, p: Permutation):
    """Transpose(x) = Transpose(x) of what is known"""
    yield rewrite(transpose(x, p), transpose(x, p), is_known_order(p), because="nothing")


def declared(function: Callable[..., Any], examples: Any = None) -> Law:
    return law("testing_of_shapes", numerics="bitwise", examples=examples)(function)


def test_orders_that_a_law_names_are_tried_on_operands_of_their_rank() -> None:
    named = named_by(declared(known_order))
    assert named.orders == {3: {(0, 2, 1)}, 4: {(0, 3, 1, 2)}}

    def turned(g: Operands):
        return softmax("Softmax", transpose(g.input((2, 4, 5)), (0, 2, 1)), 2)

    found = [
        (shapes(made)[0], given(made, "transpose", 1), given(made, "softmax", 2))
        for made in with_named_attributes(example(turned), NamedAttributes({4: named.orders[4]}, frozenset()))
    ]
    assert {*found} == {((3, 3, 3, 3), (0, 3, 1, 2), axis) for axis in range(4)}


@hosted()
def is_no_smaller(d: Dims, e: Dims) -> bool:
    """Of known dims, counted from the last; a 0 is taken to be smaller than 1."""
    if len(d) > len(e) or not all(isinstance(v, int) for v in (*d, *e)):
        return False
    return all(w >= v or v == 1 for v, w in zip(d[::-1], e[::-1], strict=False))  # type: ignore[operator]


def expanded_at_once(x: Tensor, d: Dims, e: Dims):
    """Expand_e(Expand_d(x)) = Expand_e(x) where e is no smaller"""
    yield rewrite(expand(expand(x, d), e), expand(x, e), is_no_smaller(d, e), because="at once")


def expanded(g: Operands) -> Any:
    return expand(expand(g.input((2, 1)), (2, 3)), (4, 2, 3))


def test_a_target_of_nothing_behind_one_of_one_is_tried() -> None:
    """A model that is read has a constant there, so that no wrong law in `tests/wrong` shows it."""
    assert len(list(with_ones_and_nothing(example(expanded)))) == 8 + 8 + 2
    with pytest.raises(LawRefusedError, match=r"\(2, 0\)"):
        check_law(declared(expanded_at_once, lambda rng: [example(expanded)]), terms=24)


def test_several_axes_are_reduced_in_front_of_others() -> None:
    def twice(g: Operands):
        return reduce("ReduceMax", reduce("ReduceMax", g.input((2, 3, 4)), (0,), 0), (1,), 0)

    found = [(shapes(made)[0], repr(made.term)) for made in with_more_axes_reduced(example(twice))]
    assert any(shape == (2, 2, 2, 3, 4) and "(0, 1, 2)" in term for shape, term in found)


def test_a_view_has_dims_that_do_not_tell_its_axes_apart() -> None:
    joined = example(lambda g: softmax("Softmax", reshape(g.input((2, 1, 3)), (2, 3)), 1))
    found = [
        (shapes(made)[0], given(made, "reshape", 1), given(made, "softmax", 2))
        for made in with_equal_views(joined)
    ]
    assert ((2, 4, 2), (4, 4), 0) in found and len(found) < 50


def test_a_view_puts_in_several_axes_of_one_element() -> None:
    put_in = example(lambda g: softmax("Softmax", reshape(g.input((2, 3)), (2, 1, 3)), 2))
    found = [
        (shapes(made)[0], given(made, "reshape", 1), given(made, "softmax", 2))
        for made in with_more_ones(put_in)
    ]
    assert ((2, 3, 4), (1, 2, 1, 3, 1, 4), 3) in found


def test_factors_go_along_other_axes_with_the_views_behind_them() -> None:
    def copies(g: Operands):
        return reshape(expand(g.input((2, 1, 2, 1)), (2, 2, 2, 2)), (4, 4))

    found = [
        (given(made, "expand", 1), given(made, "reshape", 1))
        for made in with_factors_along_other_axes(example(copies))
    ]
    assert ((2, 1, 2, 4), (2, 8)) in found


def windows(make: Callable[[Example], Any], window: PoolWindow) -> list[PoolWindow]:
    pooled = example(lambda g: pool("MaxPool", g.input((1, 1, 9, 9)), window))
    return [given(made, "pool", 2) for made in make(pooled)]


def test_windows_are_longer_with_their_pads_or_along_one_axis() -> None:
    padded = PoolWindow((5, 5), (1, 1), (2,) * 4, (1, 1))
    assert PoolWindow((7, 7), (1, 1), (3,) * 4, (1, 1)) in windows(with_padded_windows, padded)
    square = PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))
    assert PoolWindow((1, 4), (1, 4), (0,) * 4, (1, 1)) in windows(with_factors_along_other_axes, square)


def test_one_pixel_is_left() -> None:
    shrunk = example(lambda g: scaled(g, g.input((1, 1, 4, 6)), mode("linear"), 2.0, 0.5))
    assert [shapes(made)[0] for made in with_few_pixels(shrunk)] == [(1, 1, 4, 2), (1, 1, 4, 3)]


def test_two_bounds_are_one_which_belongs_to_either() -> None:
    def apart(g: Operands):
        x = g.input((6,))
        return binary("And", binary("Less", x, g.constant(2.0)), binary("Greater", x, g.constant(1.0)))

    found = list(with_equal_bounds(example(apart)))
    assert len(found) == 8
    assert any("LessOrEqual" in repr(made.term) and "GreaterOrEqual" in repr(made.term) for made in found)
