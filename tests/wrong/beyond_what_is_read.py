"""Constants too long to be read, letters that are there twice, steps that do not divide."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Equation, Permutation, Tensor, hosted, listed, number_like, rewrite
from egraph_opt.operators import PoolWindow, binary, einsum, gather, pool, reduce, transpose
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, wrong

LOST = "forgets how it was spelled"


# --- long constants ----------------------------------------------------------------------------------------


@hosted()
def are_in_order(i: Fact, x: Fact, axis: Axis) -> bool:
    """As many constant indices as the axis has elements, none of which is known to be elsewhere."""
    if not i.const or i.rank != 1 or x.shape is None or i.shape != (x.shape[axis],):
        return False
    return i.ints is None or i.ints == tuple(range(len(i.ints)))


def _long(order):
    return lambda g: gather(g.input((300, 2)), g.constant(np.array(order)), 0)


@wrong("bitwise", _long(range(299, -1, -1)), examples=fires_on(_long(range(300))))
def long_indices_in_order(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, i) = x where i has all indices in order

    Wrong of more than 256, which are not read, and are in another order.
    """
    yield rewrite(gather(x, i, a), x, are_in_order(i, x, a), because="every x would be gathered")


@hosted()
def has_no_zero(c: Fact, x: Fact) -> bool:
    """None of its elements is known to be 0."""
    if not c.const or x.dtype != T.FLOAT or c.dtype != T.FLOAT:
        return False
    return c.splat != 0 if c.splat is not None else c.data is None or 0 not in c.data


def _divided(*zeros: int):
    def witness(g):
        numbers = np.linspace(1, 3, 300)
        numbers[list(zeros)] = 0
        c = g.constant(numbers)
        return binary("Equal", g.input((300,)) * c, c)

    return witness


@wrong("finite", _divided(77), examples=fires_on(_divided()))
def product_that_is_the_factor(x: Tensor, c: Tensor):
    """x * c == c is x == 1 for a c without a 0

    Wrong of more than 256 numbers, which are not read.
    """
    one = binary("Equal", x, number_like(x, 1.0))
    yield rewrite(binary("Equal", x * c, c), one, has_no_zero(c, x), fits(c, x), because="forgets c")


# --- letters -----------------------------------------------------------------------------------------------


@hosted()
def summed_letters(equation: str, x: Fact) -> tuple[Axes, Permutation] | None:
    """The axes of letters that do not come out, and the order of those that do."""
    source, _, result = equation.partition("->")
    if "->" not in equation or "," in equation or x.dtype != T.FLOAT or not source.isalpha():
        return None
    gone = tuple(k for k, letter in enumerate(source) if letter not in result)
    left = [letter for letter in source if letter in result]
    order = tuple(left.index(letter) for letter in result)
    return (gone, order) if gone and order else None


def _equation(text: str, *shape: int):
    return lambda g: einsum(text, listed(g.input(shape)))


@wrong(
    "reassociates",
    _equation("aab->b", 3, 3, 2),
    examples=fires_on(_equation("abc->cb", 3, 4, 2), _equation("ab->b", 3, 2)),
)
def sum_of_letters(x: Tensor, e: Equation):
    """Einsum(x; abc->ca) = Transpose(ReduceSum(x)) over the letters that do not come out

    Wrong of a letter that is there twice: it is that of a diagonal.
    """
    how = summed_letters(e, x)
    yield rewrite(
        einsum(e, cons(x, nil())), transpose(reduce("ReduceSum", x, how[0], 0), how[1]), because=LOST
    )


@hosted()
def is_product_of_elements(equation: str, x: Fact, y: Fact) -> bool:
    """Both have the same letters, which come out in that order."""
    parts = equation.replace("->", ",").split(",")
    known = (
        len(parts) == 3 and parts[0] == parts[1] and set(parts[2]) == set(parts[0]) and "." not in equation
    )
    return known and x.dtype == T.FLOAT and x.shape == y.shape


def _by_elements(text: str, *shape: int):
    return lambda g: einsum(text, listed(g.input(shape), g.input(shape)))


@wrong(
    "reassociates",
    _by_elements("ab,ab->ba", 3, 3),
    examples=fires_on(_by_elements("ab,ab->ab", 3, 3), _by_elements("a,a->a", 3)),
)
def product_by_letters(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; ab,ab->ab) = x * y where all letters come out

    Wrong where they come out in another order, and of diagonals.
    """
    yield rewrite(einsum(e, cons(x, cons(y, nil()))), x * y, is_product_of_elements(e, x, y), because=LOST)


# --- steps -------------------------------------------------------------------------------------------------


@hosted()
def in_two_steps(w: PoolWindow, side: int) -> tuple[PoolWindow, PoolWindow] | None:
    """Windows of the target's side, and of those."""
    plain = not any(w.pads) and not w.ceil_mode and set(w.dilations) == {1} and set(w.strides) == {1}
    if not plain or side < 2 or min(w.kernel) <= side or len(set(w.kernel)) > 1:
        return None
    axes = len(w.kernel)
    inner, outer = (side,) * axes, (w.kernel[0] // side,) * axes
    one, zeros = (1,) * axes, (0,) * (2 * axes)
    return PoolWindow(inner, one, zeros, one), PoolWindow(outer, one, zeros, (side,) * axes)


def _large(kernel: int, side: int):
    return lambda g: pool(
        "MaxPool", g.input((1, 2, 9, 9)), PoolWindow((kernel, kernel), (1, 1), (0,) * 4, (1, 1))
    )


@wrong("bitwise", _large(5, 2), examples=fires_on(_large(4, 2), _large(6, 2)))
def maximum_in_two_steps(x: Tensor, w: PoolWindow):
    """MaxPool(x; k) = MaxPool(MaxPool(x; s); k / s, dilation s) for the side s = 2

    Wrong where the side does not divide the kernel.
    """
    both = in_two_steps(w, 2)
    two = pool("MaxPool", pool("MaxPool", x, both[0]), both[1])
    yield rewrite(pool("MaxPool", x, w), two, because=LOST)
