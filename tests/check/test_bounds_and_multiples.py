"""What is tried beside examples: cuts of other axes, integers in relation, several operands at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.at_run_time import with_several_at_run_time
from egraph_opt.check.beside.continued_patterns import with_continued_patterns
from egraph_opt.check.beside.moved_axes import with_moved_axes
from egraph_opt.check.beside.multiples import with_multiples
from egraph_opt.check.beside.variants import arrays_of, dims_of
from egraph_opt.laws import Operands
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.law import Example
from egraph_opt.operators import (
    binary,
    concat,
    dequantize,
    gather,
    pad,
    quantize,
    reshape,
    slice_,
    transpose,
    unary,
)
from egraph_opt.operators.terms import listed


def _operands() -> Operands:
    return Operands(np.random.default_rng(0))


def _shapes(example: Example) -> list[Any]:
    return [dims_of(value) for value in example.operands.values]


def _splats(example: Example) -> tuple[Any, ...]:
    return tuple(fact.splat for fact in example.operands.facts)


def test_a_later_axis_alone_is_cut_where_the_first_one_is_as_long() -> None:
    g = _operands()
    x = g.input((3, 4))
    given = g.fires(slice_(pad(x, "constant", (1, 0, 1, 0), 0.0), ((0, 1, 4, 1),)))
    found = {(repr(made.term), *_shapes(made)) for made in with_moved_axes(given)}
    wide = slice_(pad(x, "constant", (0, 1, 0, 0, 1, 0), 0.0), ((1, 1, 3, 1),))
    assert (repr(wide), (2, 3, 4)) in found
    turned = slice_(pad(x, "constant", (0, 1, 0, 1), 0.0), ((1, 1, 3, 1),))
    assert (repr(turned), (2, 3)) in found


def test_a_cut_begins_where_dims_of_another_axis_say() -> None:
    g = _operands()
    parts = listed(g.input((1, 6)), g.input((2, 6)), g.input((3, 6)))
    given = g.fires(slice_(concat(parts, 0), ((0, 1, 3, 1),)))
    found = {(repr(made.term), *_shapes(made)) for made in with_moved_axes(given)}
    between = repr(slice_(concat(parts, 1), ((1, 2, 4, 1),)))
    assert (between, (2, 1, 6), (2, 2, 6), (2, 3, 6)) in found
    assert (between, (2, 1), (2, 2), (2, 3)) in found


def test_integers_are_multiples_of_either_sign_and_inputs_lack_a_bound() -> None:
    g = _operands()
    x = unary("Clip", (("max", 100), ("min", 0)), g.input((5,), INT64))
    given = g.fires(binary("Mod", x + g.constant(np.array(8)), g.constant(np.array(4))))
    found = list(with_multiples(given))
    open_below = [made for made in found if "('min', None)" in repr(made.term)]
    assert set(map(_splats, open_below)) >= {(None, 8, 4), (None, -8, 4), (None, -21, 7), (None, 7, -21)}
    plain = [made for made in found if "Clip" not in repr(made.term)]
    assert (None, -21, 7) in map(_splats, plain)


def test_unsigned_integers_have_no_other_sign() -> None:
    g = _operands()
    x, c = g.input((5,), TensorProto.UINT8), g.constant(np.array(6, np.uint8))
    found = list(with_multiples(g.fires(binary("Mod", x + c, g.constant(np.array(3, np.uint8))))))
    assert found and all(min(_splats(made)[1:]) >= 0 for made in found)


def test_all_constants_are_known_later_and_so_are_two_equal_ones() -> None:
    g = _operands()
    scale, zero, other = (g.constant(np.array(v)) for v in (np.float32(0.5), np.uint8(3), np.uint8(3)))
    x = transpose(dequantize(g.input((2, 3), TensorProto.UINT8), scale, zero, 0), (1, 0))
    given = g.fires(quantize(x, scale, other, 0, TensorProto.UINT8))
    known = [set(arrays_of(made)) for made in with_several_at_run_time(given)]
    inputs = [len(made.operands.values) - len(arrays_of(made)) for made in with_several_at_run_time(given)]
    assert set() in known, "all of them"
    assert {0} in known, "both zero points, and not the scale"
    assert {1, 2} in known, "the scale, in each operator an input of its own"
    assert max(inputs) == 5, "all, with two scales"
    assert (0.5, 3, 3, None, 1.5) in map(_splats, with_several_at_run_time(given)), "two scales"


def test_a_pattern_that_ends_below_zero_is_no_length() -> None:
    g = _operands()
    x = reshape(g.input((2, 6)), (4, 3))
    given = g.fires(gather(x, g.constant(np.array([[-2], [-1]])), 0))
    assert list(with_continued_patterns(given))
