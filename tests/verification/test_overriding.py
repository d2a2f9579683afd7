"""Other values of inputs with defaults: of every type, all at once, one by one where that does not run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from egraph_opt.verification import verify
from egraph_opt.verification.execution import load
from egraph_opt.verification.interface import interface
from egraph_opt.verification.overriding import overrides

from .models import model, weight


def tried(made: onnx.ModelProto) -> list[dict[str, Any]]:
    return list(overrides(load(made), interface(made), 0))


def test_defaults_of_every_type_get_values_like_them() -> None:
    made = model(
        """g (float[n, 4] x, float[3] f, float[] zero, int64[2] two, int64[2] same, bool[2] b, string[2] s)
            => (float[n, 4] y) { y = Relu (x) }""",
        f=np.array([1.0, -2.0, 0.0], np.float32),
        zero=np.zeros((), np.float32),
        two=np.array([3, 7]),
        same=np.array([4, 4]),
        b=np.array([True, False]),
        s=np.array(["a", "b"], object),
    )
    every = tried(made)[0]
    assert set(every) == {"f", "zero", "two", "same", "b", "s"}
    assert every["f"].dtype == np.float32
    assert every["f"][0] > 0 > every["f"][1]
    assert every["zero"].shape == ()
    assert every["two"].tolist() == [7, 3]
    assert every["same"].tolist() == [5, 5]
    assert every["b"].tolist() == [False, True]
    assert all(isinstance(word, str) for word in every["s"])


def test_all_defaults_come_first_then_the_floats_then_the_others_one_by_one() -> None:
    text = "g (float[n, 4] x, float[4] b, int64[1] i, int64[1] j) => (float[n, 4] y) { y = Add (x, b) }"
    made = model(text, b=weight(4), i=np.array([1]), j=np.array([2]))
    assert [sorted(values) for values in tried(made)] == [["b", "i", "j"], ["b"], ["i"], ["j"]]


def test_a_default_that_has_to_stay_as_it_is_does_not_keep_others_from_being_tried() -> None:
    """A Reshape runs with its own target only; the bias beside it was folded."""
    text = """g (float[6] x, float[3] b, int64[2] s) => (float[2, 3] y) {{
        r = Reshape (x, s)
        y = Add (r, {})
    }}"""
    b, target = weight(3), np.array([2, 3])
    right, folded = model(text.format("b"), b=b, s=target), model(text.format("c"), b=b, s=target, c=b)
    assert verify(right, right).status == "passed"
    result = verify(right, folded)
    assert result.status == "failed"
    assert "1 defaults overridden" in result.detail


def test_a_model_that_runs_with_its_own_defaults_only_passes_and_says_so() -> None:
    made = model("g (float[6] x, int64[1] s) => (float[k] y) { y = Reshape (x, s) }", s=np.array([6]))
    result = verify(made, made)
    assert result.status == "passed"
    assert "the original runs with no other values of its defaults" in result.detail


def test_given_inputs_that_the_original_refuses_are_told() -> None:
    made = model("g (float[n, 4] x) => (float[n, 4] y) { y = Relu (x) }")
    result = verify(made, made, inputs=[{"x": weight(2, 5)}, {"x": weight(2, 4)}])
    assert result.status == "passed"
    assert "the original does not run on given input 0" in result.detail


def test_given_inputs_are_enough_where_none_can_be_made_up() -> None:
    """Nobody would try 911 elements."""
    text = "g (float[n] x) => (float[m] y) {{ r = Reshape (x, s)\n y = {} (r) }}"
    original, wrong = (model(text.format(op), s=np.array([911])) for op in ("Neg", "Abs"))
    assert verify(original, original).status == "not_comparable"
    given = [{"x": weight(911)}]
    result = verify(original, original, inputs=given)
    assert result.status == "passed"
    assert "does not run on any of the inputs tried" in result.detail
    assert verify(original, wrong, inputs=given).status == "failed"
