"""Operands that need not be there: given where an example leaves them out, and left out where it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from onnx import TensorProto

from egraph_opt.check.beside.at_run_time import with_operands_at_run_time
from egraph_opt.check.beside.optional_operands import places_in, with_optional_operands
from egraph_opt.check.beside.variants import arrays_of
from egraph_opt.check.scope import roots_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators import (
    ConvWindow,
    GemmSettings,
    conv,
    dequantize,
    gemm,
    none,
    output,
    transpose,
    unary,
)
from egraph_opt.operators.linear import conv_transpose
from egraph_opt.operators.recurrent import GATES, RecurrentLayer, recurrent
from egraph_opt.operators.terms import listed

from .examples import example


def layer(g: Operands, kind: str, *, bias: bool = True) -> Any:
    rows = 2 * GATES[kind]
    weights = (g.random(1, rows, 3), g.random(1, rows, 2), g.random(1, 2 * rows) if bias else none(), none())
    settings = RecurrentLayer(kind, (("direction", "forward"), ("hidden_size", 2)))
    return output(recurrent(g.input((5, 4, 3)), listed(*weights), none(), none(), none(), settings), 0)


def given(made: Example) -> list[tuple[str, int]]:
    return [place.kind for place in places_in(made) if not place.is_absent]


def shapes_of_given(make: Any) -> list[tuple[int, ...]]:
    """The shapes of the constants that come to one example."""
    old = example(make)
    count = len(old.operands.values)
    found = [arrays_of(made) for made in with_optional_operands(old)]
    return list(dict.fromkeys(a.shape for arrays in found for k, a in arrays.items() if k >= count))


def test_each_operand_of_a_layer_is_given_alone_and_with_all_others() -> None:
    made = list(with_optional_operands(example(lambda g: layer(g, "LSTM", bias=False))))
    kinds = {tuple(given(each)) for each in made if lowered_if_typed(each)}
    bias, lengths, hidden, cell = (("recurrent", number) for number in (3, 5, 6, 7))
    assert kinds == {(bias,), (lengths,), (hidden,), (cell,), (bias, lengths, hidden, cell)}


def test_only_an_lstm_has_a_cell() -> None:
    made = with_optional_operands(example(lambda g: layer(g, "GRU")))
    assert not any(("recurrent", 7) in given(each) for each in made)


def test_some_sequences_are_shorter_than_others() -> None:
    old = example(lambda g: layer(g, "GRU"))
    found = [a.tolist() for each in with_optional_operands(old) for a in arrays_of(each).values()]
    assert [5, 4, 3, 2] in found


ROW, WINDOW = (4, 6), ConvWindow((1,), (0, 0), (1,), 2)


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda g: gemm(g.input((2, 4)), g.random(*ROW), none(), GemmSettings()), [(6,), (2, 6)]),
        (lambda g: gemm(g.input(ROW), g.random(4, 3), none(), GemmSettings(trans_a=1)), [(3,), (6, 3)]),
        (lambda g: conv(g.input((1, 4, 5)), g.random(6, 2, 3), none(), WINDOW), [(6,)]),
        (lambda g: conv_transpose(g.input((1, 4, 5)), g.random(4, 3, 2), none(), WINDOW), [(6,)]),
        (lambda g: dequantize(g.input((2, 3), TensorProto.INT8), g.random(3), none(), 1), [(3,)]),
    ],
)
def test_what_is_given_has_the_shape_that_an_operator_asks_for(
    make: Any, shapes: Sequence[tuple[int, ...]]
) -> None:
    assert shapes_of_given(make) == shapes
    assert all(map(lowered_if_typed, with_optional_operands(example(make))))


def test_what_is_given_is_known_later_as_well() -> None:
    old = example(lambda g: gemm(g.input((2, 4)), g.random(*ROW), none(), GemmSettings()))
    last = [made.operands.values[-1].const_value for made in with_optional_operands(old)]
    assert any(value is None for value in last)


def test_all_of_a_kind_are_given_at_once() -> None:
    old = example(lambda g: gemm(g.input((2, 4)), g.random(*ROW), none(), GemmSettings()))
    both = example(
        lambda g: conv(
            conv(g.input((1, 2, 5)), g.random(4, 2, 1), none(), ConvWindow((1,), (0, 0), (1,))),
            *(g.random(6, 2, 3), none(), WINDOW),
        )
    )
    assert max(len(given(made)) for made in with_optional_operands(old)) == 1
    assert sorted({len(given(made)) for made in with_optional_operands(both)}) == [1, 2]


def test_what_is_there_is_left_out() -> None:
    def make(g: Operands) -> Any:
        return transpose(gemm(g.input((2, 4)), g.random(*ROW), g.random(6), GemmSettings()), (1, 0))

    made = [each for each in with_optional_operands(example(make)) if not given(each)]
    assert [len(each.operands.values) for each in made] == [2]


def test_a_bound_of_a_clip_is_given_and_left_out() -> None:
    def bounds(low: float | None, high: float | None) -> list[Any]:
        old = example(lambda g: unary("Clip", (("max", high), ("min", low)), g.input((2,))))
        made = (roots_of(each)[0].arguments[1].head.value for each in with_optional_operands(old))
        return [(dict(each)["min"], dict(each)["max"]) for each in made]

    assert bounds(0.0, None) == [(0.0, 1.0)]
    assert bounds(None, 6.0) == [(5.0, 6.0)]
    assert bounds(0.0, 6.0) == [(0.0, None), (None, 6.0)]


def test_what_has_no_such_operand_stays_as_it_is() -> None:
    assert not list(with_optional_operands(example(lambda g: transpose(g.input((2, 3)), (1, 0)))))


def test_zero_points_of_an_axis_are_known_to_a_run_only() -> None:
    old = example(lambda g: dequantize(g.input((2, 3), TensorProto.INT8), g.random(3), none(), 1))
    made = [each for each in with_operands_at_run_time(old) if given(each)]
    assert [each.operands.facts[-1].shape for each in made] == [(3,)]
