"""GatherElements, which is no Gather: indices have the shape of the result."""

import numpy as np

from egraph_opt.laws import Tensor, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Permutation
from egraph_opt.operators import expand, gather, gather_elements, transpose

from . import wrong

SQUARE = np.array([[1, 0, 0], [2, 1, 1], [0, 2, 2]])


@wrong("bitwise", lambda g: gather_elements(g.input((3, 3)), g.constant(SQUARE), 0))
def elements_are_rows(x: Tensor, i: Tensor, a: Axis):
    """GatherElements(x, i) = Gather(x, i)

    Wrong but for vectors: a Gather has all axes of both.
    """
    yield rewrite(gather_elements(x, i, a), gather(x, i, a), because="a Gather takes whole rows")


@wrong("bitwise", lambda g: gather_elements(gather_elements(g.input((3, 3)), g.constant(SQUARE), 0),
                                            g.constant(SQUARE.T.copy()), 1))  # fmt: skip
def gathered_either_way_first(x: Tensor, i: Tensor, j: Tensor, a: Axis, b: Axis):
    """GatherElements_b(GatherElements_a(x, i), j) = GatherElements_a(GatherElements_b(x, j), i)

    Wrong: the elements that j asks for are elsewhere then.
    """
    both = gather_elements(gather_elements(x, i, a), j, b)
    yield rewrite(both, gather_elements(gather_elements(x, j, b), i, a), because="b comes first")


@wrong("bitwise", lambda g: gather_elements(transpose(g.input((3, 3)), (1, 0)), g.constant(SQUARE), 0))
def gathered_before_transpose(x: Tensor, i: Tensor, p: Permutation, a: Axis):
    """GatherElements_a(Transpose(x), i) = Transpose(GatherElements_a(x, i))

    Wrong: neither the axis nor the indices are those of x.
    """
    yield rewrite(
        gather_elements(transpose(x, p), i, a), transpose(gather_elements(x, i, a), p), because="p moves up"
    )


@wrong("bitwise", lambda g: gather_elements(gather_elements(g.input((3, 3)), g.constant(SQUARE), 0),
                                            g.constant(SQUARE.T.copy()), 0))  # fmt: skip
def gathered_twice(x: Tensor, i: Tensor, j: Tensor, a: Axis):
    """GatherElements(GatherElements(x, i), j) = GatherElements(x, Gather(i, j))

    Wrong: the indices have to be gathered element by element, too.
    """
    both = gather_elements(gather_elements(x, i, a), j, a)
    yield rewrite(both, gather_elements(x, gather(i, j, a), a), because="forgets i")


@wrong("bitwise", lambda g: gather_elements(g.input((3, 3)) + g.input((3,)), g.constant(SQUARE), 1))
def gathered_terms(x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """GatherElements(x + y, i) = GatherElements(x, i) + GatherElements(y, i)

    Wrong where one of them is broadcast.
    """
    yield rewrite(
        gather_elements(x + y, i, a),
        gather_elements(x, i, a) + gather_elements(y, i, a),
        because="two are more",
    )


@wrong(
    "bitwise",
    lambda g: gather_elements(g.input((3, 4)), expand(g.input((2, 1), INT64), (2, 3)), 0),
    values=(9, 2, 0),
)
def part_of_each_row(x: Tensor, i: Tensor, a: Axis):
    """GatherElements(x, Expand(i)) = Gather(x, i), where i has an index for each row

    Wrong where only a part of each row is asked for; and the axes of i stay in a Gather.
    """
    rows = expand(i, (2, 3))
    yield rewrite(gather_elements(x, rows, a), gather(x, i, a), because="a Gather takes whole rows")
