"""What is beside examples: points of Einsum, windows that are longer along one axis, turned axes, large
numbers."""

import numpy as np

from egraph_opt.check.beside.large_numbers import with_large_numbers
from egraph_opt.check.beside.points_for_axes import with_points_for_axes
from egraph_opt.check.beside.turned_axes import with_turned_axes
from egraph_opt.check.beside.uneven_windows import with_uneven_windows
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.laws import Operands
from egraph_opt.operators import ConvWindow, conv, einsum, gather_elements, none, pad, pool, slice_
from egraph_opt.operators.terms import listed
from egraph_opt.operators.windows import PoolWindow

from .examples import example
from .test_related_changes import attributes, constants


def test_points_are_in_every_place_for_one_axis_and_for_several() -> None:
    product = example(lambda g: einsum("ij,jk->ik", listed(g.input((2, 3)), g.input((3, 4)))))
    found = {
        (*attributes(made, "einsum", 0), *map(dims_of, made.operands.values))
        for made in with_points_for_axes(product)
    }
    assert ("...ij,jk...->i...k", (2, 2, 2), (2, 2, 2)) in found
    assert ("ij...,j...k", (2, 2, 2), (2, 2, 2)) in found
    assert ("ij,jk...->ik", (2, 2), (2, 2, 2)) in found
    assert ("...ij,...jk->...ik", (2, 3, 2, 3), (3, 3, 4)) in found
    assert ("ij...,jk...->ik...", (2, 3), (3, 4, 1, 2, 3)) in found


def test_points_of_one_operand_are_as_many_axes_as_they_have_letters() -> None:
    turned = example(lambda g: einsum("ij->ji", listed(g.input((2, 3)))))
    found = [
        (*attributes(made, "einsum", 0), made.operands.facts[0].rank) for made in with_points_for_axes(turned)
    ]
    assert ("...ij->...ji", len("...ij")) in found


def test_windows_are_as_long_as_their_strides_along_each_axis() -> None:
    window = ConvWindow((2, 2), (0,) * 4, (1, 1))
    blocks = example(lambda g: conv(g.input((1, 3, 4, 4)), g.random(2, 3, 2, 2), none(), window))
    found = {
        (
            attributes(made, "conv", 3)[0].strides,
            np.shape(constants(made)[1]),
            dims_of(made.operands.values[0]),
        )
        for made in with_uneven_windows(blocks)
    }
    assert {((2, 3), (2, 3, 2, 3), (1, 3, 6, 6)), ((3, 2), (2, 3, 3, 2), (1, 3, 12, 6))} <= found


def test_pads_of_uneven_windows_keep_the_size_of_an_image_where_they_did() -> None:
    window = PoolWindow((3, 3), (1, 1), (1,) * 4, (1, 1))
    same = example(lambda g: pool("MaxPool", g.input((1, 2, 5, 5)), window))
    found = {
        (w.kernel, w.dilations, w.pads)
        for made in with_uneven_windows(same)
        for w in attributes(made, "pool", 2)
    }
    assert {((3, 5), (1, 1), (1, 2, 1, 2)), ((3, 3), (1, 2), (1, 2, 1, 2))} <= found


def test_two_axes_are_in_each_others_place_in_constants_and_attributes() -> None:
    def lines(g: Operands):
        x = slice_(g.input((2, 6)), ((1, 0, 4, 1),))
        return gather_elements(x, g.constant(np.array([[0, 1, 3], [0, 1, 2]])), 1) * g.random(3)

    alone, whole = with_turned_axes(example(lines))
    for made in (alone, whole):
        assert attributes(made, "gather_elements", 2) == [0]
        assert attributes(made, "slice_", 1) == [((0, 0, 4, 1),)]
        assert dims_of(made.operands.values[0]) == (6, 2)
        assert constants(made)[1] == [[0, 0], [1, 1], [3, 2]]
    assert [dims_of(made.operands.values[2]) for made in (alone, whole)] == [(3,), (3, 1)]


def test_numbers_that_say_how_much_there_is_are_large() -> None:
    padded = example(lambda g: pad(g.input((2, 3)), "edge", (0, 1, 0, 2), 0.0))
    pads = [attributes(made, "pad", 2)[0] for made in with_large_numbers(padded)]
    assert pads[:3] == [(0, 100, 0, 100), (0, 100, 0, 2), (0, 1, 0, 100)]
    cut = example(lambda g: slice_(g.input((2, 5)), ((1, 1, 4, 1),)))
    found = {
        (dims_of(made.operands.values[0]), *attributes(made, "slice_", 1)) for made in with_large_numbers(cut)
    }
    assert {((2, 250), ((1, 50, 200, 1),)), ((2, 250), ((1, 50, 200, 50),))} <= found
