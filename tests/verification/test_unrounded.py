"""A difference is none of rounding where neither model rounds anything on the way to it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from egraph_opt.verification import verify
from egraph_opt.verification.execution import RunnableModel, load
from egraph_opt.verification.unrounded import Unrounded


def _model(body: str) -> RunnableModel:
    head = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (bool[2] y) '
    return load(parser.parse_model(f"{head}{{ {body} }}"))


def _constant(name: str, value: float) -> str:
    return f"{name} = Constant <value_float = {value}> () "


THIRD = _constant("c", 0.3)
COMPARED = THIRD + "y = Greater (x, c)"
DIFFERENCES = THIRD + "d = Sub (x, c) z = Sub (x, x) y = Greater (d, z)"


@pytest.mark.parametrize(
    ("after", "x", "settled"),
    [
        (THIRD + "n = Less (x, c) y = Not (n)", [np.float32(0.3), 1], True),
        (THIRD + "d = Sub (x, c) z = Sub (x, x) y = Greater (d, z)", [np.float32(0.3), 1], True),
        # The second difference is rounded.
        (DIFFERENCES, [1e-9, 1e9], False),
        # A constant that may have been folded, and rounded.
        (_constant("c", 1.0000001) + "y = Greater (x, c)", [1, 2], False),
        (_constant("c", 0.25) + "y = Greater (x, c)", [0.25, 1], True),
        # A body is not looked into.
        (
            THIRD
            + "t = Constant <value = bool {1}> () y = If (t) <"
            + " then_branch = a () => (bool[2] p) { p = Greater (x, c) },"
            + " else_branch = b () => (bool[2] q) { q = Less (x, c) }>",
            [np.float32(0.3), 1],
            False,
        ),
    ],
)
def test_both_are_exact_or_it_is_not_settled(after: str, x: list[float], settled: bool) -> None:
    unrounded = Unrounded(_model(COMPARED), _model(after))
    assert unrounded({"x": np.array(x, np.float32)}, "y") == settled


def test_a_tie_in_the_inputs_is_a_difference_and_one_by_rounding_is_none() -> None:
    before = _model(COMPARED).proto
    tie = verify(before, _model(THIRD + "n = Less (x, c) y = Not (n)").proto)
    assert tie.status == "failed" and "nothing is rounded" in tie.detail
    same = verify(before, _model(THIRD + "n = LessOrEqual (x, c) y = Not (n)").proto)
    assert same.status == "passed"
