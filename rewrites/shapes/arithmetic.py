"""Arithmetic on shapes: what is known of its result, written in the shortest way.

    x -> its elements, as a constant                  where all of them are known numbers
    x = y                                            where both have the same known symbolic elements
    x -> Shape(input)[a:b]                           where x's elements are those dims
    Shape(f(x)) -> Shape(x)                          where f keeps the dims

Elements are known through the facts, which follow Shape, Gather, Concat, integer arithmetic and comparisons.
Together these cut every chain of shape arithmetic whose result is a dim of some input down to one node.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    absent,
    auxiliary,
    eq,
    guard,
    hosted,
    law,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Bundle, Int, Place, Settings, Slices, String, Tensor, Unit
from egraph_opt.operators import Literal, concat, gather, leaf, literal, output, reshape, shape_of, slice_
from egraph_opt.operators.elementwise import binary, cast, where
from egraph_opt.operators.terms import fact, listed, opset
from egraph_opt.rewrites.conditions.operands import beside, either_side, function_of, functions
from egraph_opt.rewrites.conditions.view_shapes import have_same_dims, same_dims

_SHAPE_RANGES = 15
"""The opset from which Shape takes a range of axes."""


# --- elements that are known ----------------------------------------------------------------------------


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
    symbolic_dims, known = g.input(("N", 3)), g.input((2, 3))
    for term in (
        shape_of(known, 0, 2),
        shape_of(symbolic_dims, 1, 2) * shape_of(known, 0, 1),
        binary("Equal", shape_of(symbolic_dims, 0, 1), g.constant(np.array([-1]))),
    ):
        yield g.fires(term)
    g = Operands(rng)
    yield g.near_miss(g.constant(np.array([2, 3])) * g.constant(np.array([4])), why="constant anyway")
    g = Operands(rng)
    yield g.near_miss(shape_of(g.input(("N", 3)), 0, 2), why="a dim is symbolic")


@law(
    "shapes",
    numerics="bitwise",
    kind="eliminate",
    serves="arithmetic",
    source="onnxsim; onnxoptimizer's shape operators",
    examples=_known_examples,
)
def known_numbers(x: Tensor):
    """x = its elements, as a constant, where all of them are known numbers"""
    known = _elements(fact(x))
    yield rule(known, then=union(x, literal(known)), because="forgets what computed them")


@table(merge="new")
def with_elements(key: Any) -> Tensor:
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
    one, two = shape_of(x, 0, 1), shape_of(x, 1, 2)
    pieces, ones = concat(listed(one, two), 0), g.constant(np.array([1, 1]))
    yield g.fires(where(binary("Equal", pieces, g.constant(np.array([-1, -1]))), ones, pieces))
    yield g.fires(one + two - one)
    g = Operands(rng)
    yield g.near_miss(g.input((2,), INT64) + g.input((2,), INT64), why="no elements are known")
    g = Operands(rng)
    yield g.near_miss(shape_of(g.input((2, 3)), 0, 2), why="they are numbers")


@law("shapes", numerics="bitwise", source="symbolic shape inference", examples=_equal_examples)
def same_elements(x: Tensor):
    """x = y where both have the same known symbolic elements"""
    key = _symbolic_elements(fact(x))
    yield rule(key, then=union(x, with_elements(key)), because="it goes both ways already")


# --- dims of inputs -------------------------------------------------------------------------------------


@table()
def source(x: Tensor) -> Unit:
    """Dims of x are symbols that stand for nothing else."""


@hosted()
def _names_dims(x: Fact) -> bool:
    return not x.const and x.shape is not None and any(_is_symbol(d) for d in x.shape)


@hosted()
def _invents_dims(x: Fact) -> bool:
    """A dim is a symbol made up for an operator whose result's size depends on its operands' elements."""
    return x.shape is not None and any(_is_symbol(d) and str(d).startswith("`?") for d in x.shape)


def _is_symbol(dim: Any) -> bool:
    return (
        isinstance(dim, str)
        and len(symbolic.symbols(dim)) == 1
        and symbolic.symbol(*symbolic.symbols(dim)) == dim
    )


@auxiliary()
def sources(x: Tensor, k: Int, b: Bundle):
    """Fills `source`."""
    yield rule(eq(x, leaf(k)), _names_dims(x), then=source(x))
    yield rule(eq(x, output(b, k)), _invents_dims(x), then=source(x))


@hosted()
def _start(values: Fact, x: Fact) -> Place | None:
    """The axis from which on x's dims are the elements of an int64 value, at least one of them a symbol."""
    if values.dtype != INT64 or values.shape is None or values.value is None or values.ints is not None:
        return None
    dims = values.value
    if len(values.shape) > 1 or x.shape is None or not any(_is_symbol(d) for d in dims):
        return None
    for start in range(len(x.shape) - len(dims) + 1):
        if same_dims(x.shape[start : start + len(dims)], dims):
            return start
    return None


@hosted()
def _end(values: Fact, start: Place) -> Place | None:
    """Where the dims end that start there."""
    return None if values.value is None or start is None else start + len(values.value)


@hosted()
def _has_rank(values: Fact, rank: int) -> bool:
    return values.rank == rank


@hosted()
def _has_range(x: Fact, start: Place, end: Place, number: int) -> bool:
    """Whether the opset's Shape gives these dims of x by itself."""
    return number >= _SHAPE_RANGES or (start, end) == (0, x.rank)


@hosted()
def _one_slice(start: Place, end: Place) -> Slices:
    return ((0, start, end, 1),)  # type: ignore[return-value]


@hosted()
def _rank_of(x: Fact) -> Place | None:
    return x.rank


def _input_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    yield g.fires(shape_of(relu(x), 2, 3))
    yield g.fires(concat(listed(shape_of(x, 0, 1), g.constant(np.array([3])), shape_of(x, 2, 3)), 0))
    yield g.fires(gather(shape_of(x + x, 0, 3), g.constant(np.array(2)), 0))
    yield g.near_miss(relu(x), why="there is no shape")
    whole = shape_of(relu(x), 0, 3)
    for part in (slice_(whole, ((0, 1, 3, 1),)), gather(whole, g.constant(np.array(2)), 0)):
        yield replace(g.fires(part), opset=13)
    g = Operands(rng)
    x = g.input(("N",))
    yield g.near_miss(shape_of(concat(listed(x, x), 0), 0, 1), why="no input has that dim")


@law(
    "shapes",
    numerics="bitwise",
    source="symbolic shape inference; OnnxSlim",
    uses=(sources,),
    examples=_input_examples,
)
def dims_of_input(v: Tensor, x: Tensor):
    """x = Shape(input)[a:b] where x's elements are those dims"""
    start = _start(fact(v), x)
    end = _end(fact(v), start)
    direct = _has_range(x, start, end, opset())
    cut = slice_(shape_of(x, 0, _rank_of(x)), _one_slice(start, end))
    for part, way in ((shape_of(x, start, end), direct), (cut, absent(direct))):
        for rank, whole in ((1, part), (0, reshape(part, ()))):
            found = (source(x), _has_rank(fact(v), rank), guard(way))
            yield rule(*found, then=union(v, whole), because="forgets what computed them")


# --- Shape moves to where the dims come from ------------------------------------------------------------


def _kept_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, "L")), g.input(("N", 1, "L"))
    for y_of_x, start in ((relu(x), 0), (cast(x, INT64), 1), (x + y, 0), (y + x, 2)):
        yield g.fires(shape_of(y_of_x, start, 3))
    broad = g.input(("N", 1)) + g.input((1, "L"))
    yield g.near_miss(shape_of(broad, 0, 2), why="the operands have other dims")


@law(
    "shapes",
    numerics="bitwise",
    kind="move",
    source="onnxoptimizer eliminate_shape_op",
    examples=_kept_examples,
    uses=(either_side, functions),
)
def from_operand(x: Tensor, y: Tensor, op: String, t: Settings, k: Int, a: Place, b: Place):
    """Shape(f(x)) = Shape(x) where f keeps the dims"""
    forgets, z = "forgets f", beside(op, x, y, k)
    yield rewrite(shape_of(function_of(op, t, x), a, b), shape_of(x, a, b), because=forgets)
    yield rewrite(shape_of(z, a, b), shape_of(x, a, b), have_same_dims(x, z), because=forgets)
