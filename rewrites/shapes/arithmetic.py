"""Arithmetic on shapes: what is known of its result, written in the shortest way.

    x = its elements, as a constant                  where all of them are known numbers
    x = y                                            where both have the same known symbolic elements
    x = Shape(input)[a:b]                            where x's elements are those dims
    Shape(f(x)) = Shape(x)                           where f keeps the dims

Elements are known through the facts, which follow Shape, Gather, Concat, integer arithmetic and comparisons.
Together these cut every chain of shape arithmetic whose result is a dim of some input down to one node.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, String, closure, eq, holds, i64, let, rewrite, rule
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    binary,
    cast,
    concat,
    gather,
    leaf,
    literal,
    output,
    reshape,
    shape_of,
    slice_,
    unary,
    where,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Bundle, Tensor, fact, listed, opset
from egraph_opt.rewrites.conditions.view_shapes import same_dims

_SHAPE_RANGES = 15
"""The opset from which Shape takes a range of axes."""


@hosted()
def _elements(x: Fact) -> Literal | None:
    """A value computed at run time whose elements are all known numbers."""
    if x.const or not x.is_static or x.dtype <= 0 or x.dtype == TensorProto.STRING:
        return None
    dims: tuple[int, ...] = x.shape  # type: ignore[assignment]
    if x.ints is not None and len(dims) <= 1:
        return Literal(x.dtype, dims, x.ints or (0,))
    return None if x.splat is None else Literal(x.dtype, dims, (x.splat,))


def _known_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(shape_of(g.input((2, 3)), 0, 2))
    g = Operands(rng)
    yield g.fires(binary("Mul", shape_of(g.input(("N", 3)), 1, 2), shape_of(g.input((4,)), 0, 1)))
    g = Operands(rng)
    yield g.fires(binary("Equal", shape_of(g.input(("N",)), 0, 1), g.constant(np.array([-1]))))
    g = Operands(rng)
    yield g.near_miss(shape_of(g.input(("N", 3)), 0, 2), why="a dim is symbolic")
    g = Operands(rng)
    yield g.near_miss(
        binary("Mul", g.constant(np.array([2, 3])), g.constant(np.array([4]))), why="constant anyway"
    )


@law("shapes", numerics="bitwise", examples=_known_examples)
def known_numbers(x: Tensor, known: PyObject) -> Iterator[Any]:
    """x = its elements, as a constant, where all of them are known numbers

    Source: onnxsim; onnxoptimizer's shape operators.
    """
    yield rule(let(known, _elements, fact(x)), then=Equal(x, literal(known)))


@egglog.function(egg_fn="shapes_with_elements")
def with_elements(key: PyObject) -> Tensor:
    """The one value of this type with these elements; no operator, so it is never chosen."""


@hosted()
def _symbolic_elements(x: Fact) -> tuple[Any, ...] | None:
    """Type and elements of an integer vector or scalar that holds symbols and nothing unknown."""
    if x.shape is None or x.value is None or not x.is_static or len(x.shape) > 1 or x.ints is not None:
        return None
    return None if None in x.value else (x.dtype, x.shape, x.value)


def _equal_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", "L"))
    pieces = concat(listed(shape_of(x, 0, 1), shape_of(x, 1, 2)), 0)
    ones = g.constant(np.array([1, 1]))
    yield g.fires(where(binary("Equal", pieces, g.constant(np.array([-1, -1]))), ones, pieces))
    g = Operands(rng)
    one, two = shape_of(g.input(("N", "L")), 0, 1), shape_of(g.input(("L", "N")), 1, 2)
    yield g.fires(binary("Sub", binary("Add", one, two), one))
    g = Operands(rng)
    yield g.near_miss(binary("Add", g.input((2,), INT64), g.input((2,), INT64)), why="no elements are known")
    g = Operands(rng)
    yield g.near_miss(shape_of(g.input((2, 3)), 0, 2), why="they are numbers")


@law("shapes", numerics="bitwise", examples=_equal_examples)
def same_elements(x: Tensor, key: PyObject) -> Iterator[Any]:
    """x = y where both have the same known symbolic elements

    Source: symbolic shape inference.
    """
    yield rule(let(key, _symbolic_elements, fact(x)), then=Equal(x, with_elements(key)))


# --- dims of inputs -------------------------------------------------------------------------------------


@egglog.function(egg_fn="shapes_source")
def source(x: Tensor) -> egglog.Unit:
    """Dims of x are symbols that stand for nothing else."""


@hosted(default=False)
def _names_dims(x: Fact) -> bool:
    return not x.const and x.shape is not None and any(_is_symbol(d) for d in x.shape)


@hosted(default=False)
def _invents_dims(x: Fact) -> bool:
    """A dim is a symbol made up for an operator whose result's size depends on its operands' elements."""
    return x.shape is not None and any(_is_symbol(d) and str(d).startswith("`?") for d in x.shape)


def _is_symbol(dim: Any) -> bool:
    return (
        isinstance(dim, str)
        and len(symbolic.symbols(dim)) == 1
        and symbolic.symbol(*symbolic.symbols(dim)) == dim
    )


@hosted()
def _place(values: Fact, x: Fact) -> int | None:
    """The axis from which on x's dims are the elements of an int64 value, at least one of them a symbol."""
    if values.dtype != INT64 or values.shape is None or values.value is None or values.ints is not None:
        return None
    wanted = values.value
    if len(values.shape) > 1 or x.shape is None or not any(_is_symbol(v) for v in wanted):
        return None
    for start in range(len(x.shape) - len(wanted) + 1):
        if same_dims(x.shape[start : start + len(wanted)], wanted):
            return start
    return None


@hosted()
def _range_end(values: Fact, start: int, x: Fact, rank: int, opset_: int, whole: int) -> int | None:
    """Where the range ends, for a value of this rank; `whole`: whether Shape itself can be asked for it."""
    assert values.value is not None
    end = start + len(values.value)
    direct = opset_ >= _SHAPE_RANGES or (start, end) == (0, x.rank)
    return end if values.rank == rank and direct == bool(whole) else None


@hosted()
def _one_slice(start: int, end: int) -> Any:
    return ((0, start, end, 1),)


def _input_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    yield g.fires(shape_of(unary("Relu", (), x), 2, 3))
    yield g.fires(concat(listed(shape_of(x, 0, 1), g.constant(np.array([3])), shape_of(x, 2, 3)), 0))
    yield g.fires(gather(shape_of(binary("Add", x, x), 0, 3), g.constant(np.array(2)), 0))
    g = Operands(rng)
    x = g.input(("N",))
    yield g.near_miss(shape_of(concat(listed(x, x), 0), 0, 1), why="no input has that dim")
    g = Operands(rng)
    yield g.near_miss(unary("Relu", (), g.input(("N", 3))), why="no shape is asked for")


@law("shapes", numerics="bitwise", examples=_input_examples)
def dims_of_input(
    v: Tensor, x: Tensor, k: i64, b: Bundle, s: PyObject, e: PyObject, p: PyObject, n: i64, r: PyObject
) -> Iterator[Any]:
    """x = Shape(input)[a:b] where x's elements are those dims

    Source: symbolic shape inference; OnnxSlim.
    """
    yield closure(eq(x).to(leaf(k)), holds(_names_dims, fact(x)), then=source(x))
    yield closure(eq(x).to(output(b, k)), holds(_invents_dims, fact(x)), then=source(x))
    found = (source(x), eq(n).to(opset()), *let(s, _place, fact(v), fact(x)))

    def end(rank: int, whole: int) -> Any:
        return let(e, _range_end, fact(v), s, fact(x), PyObject(rank), n, PyObject(whole))

    yield rule(*found, *end(1, 1), then=Equal(v, shape_of(x, s, e)))
    yield rule(*found, *end(0, 1), then=Equal(v, reshape(shape_of(x, s, e), ())))
    sliced = (*let(r, _rank_of, fact(x)), *let(p, _one_slice, s, e))
    part = slice_(shape_of(x, 0, r), p)
    yield rule(*found, *end(1, 0), *sliced, then=Equal(v, part))
    yield rule(*found, *end(0, 0), *sliced, then=Equal(v, reshape(part, ())))


@hosted()
def _rank_of(x: Fact) -> int | None:
    return x.rank


# --- Shape moves to where the dims come from ------------------------------------------------------------


@hosted(default=False)
def _keeps_dims(x: Fact, z: Fact) -> bool:
    return same_dims(x.shape, z.shape)


def _kept_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, "L")), g.input(("N", 1, "L"))
    yield g.fires(shape_of(unary("Relu", (), x), 0, 3))
    yield g.fires(shape_of(cast(x, INT64), 0, 2))
    yield g.fires(shape_of(binary("Add", x, y), 0, 3))
    yield g.fires(shape_of(binary("Add", y, x), 1, 3))
    g = Operands(rng)
    x, y = g.input(("N", 1)), g.input((1, "L"))
    yield g.near_miss(shape_of(binary("Add", x, y), 0, 2), why="the operands have other dims")


@law("shapes", numerics="bitwise", examples=_kept_examples)
def from_operand(
    x: Tensor, y: Tensor, z: Tensor, op: String, t: PyObject, a: PyObject, b: PyObject
) -> Iterator[Any]:
    """Shape(f(x)) = Shape(x) where f keeps the dims

    Source: onnxoptimizer eliminate_shape_op.
    """
    yield rewrite(shape_of(unary(op, t, x), a, b), shape_of(x, a, b))
    yield rewrite(shape_of(cast(x, t), a, b), shape_of(x, a, b))
    of_binary = shape_of(z, a, b), eq(z).to(binary(op, x, y))
    yield rewrite(of_binary[0], shape_of(x, a, b), of_binary[1], holds(_keeps_dims, fact(x), fact(z)))
    yield rewrite(of_binary[0], shape_of(y, a, b), of_binary[1], holds(_keeps_dims, fact(y), fact(z)))
