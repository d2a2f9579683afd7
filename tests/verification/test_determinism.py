"""Models that draw random numbers are recognised, and only those."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from egraph_opt.verification import verify
from egraph_opt.verification.determinism import random_operators

from .models import model


@pytest.mark.parametrize(
    "node",
    [
        "y = RandomNormalLike (x)",
        "y = RandomNormalLike <seed = 1.0> (x)",
        "r = RandomUniformLike (x)\n y = Add (x, r)",
        "p = Sigmoid (x)\n y = Bernoulli (p)",
    ],
)
def test_random_models_are_not_comparable(node: str) -> None:
    random = model(f"g (float[n] x) => (float[n] y) {{ {node} }}")
    result = verify(random, random)
    assert result.status == "not_comparable"
    assert "random operators" in result.detail


def test_random_nodes_that_no_output_needs_do_not_matter() -> None:
    dead = model("g (float[n] x) => (float[n] y) { r = RandomNormalLike (x)\n y = Relu (x) }")
    assert verify(dead, model("g (float[n] x) => (float[n] y) { y = Relu (x) }")).status == "passed"


def test_dropout_is_random_in_training_only() -> None:
    text = "g (float[n] x) => (float[n] y) { y = Dropout (x, ratio, training) }"
    kept = "g (float[n] x) => (float[n] y) { y = Identity (x) }"
    ratio = np.array(0.5, np.float32)
    assert verify(model(text, ratio=ratio, training=np.array(False)), model(kept)).status == "passed"
    training = model(text, ratio=ratio, training=np.array(True))
    assert verify(training, training).status == "not_comparable"


def test_a_random_model_of_another_shape_fails() -> None:
    random = model("g (float[n] x) => (float[k] y) { y = RandomNormalLike (x) }")
    twice = model(
        "g (float[n] x) => (float[k] y) { z = Concat <axis = 0> (x, x)\n y = RandomNormalLike (z) }"
    )
    assert verify(random, twice).status == "failed"


def test_random_operators_in_bodies_and_functions_are_found() -> None:
    inside = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[n] x, bool c) => (float[n] y) { y = If (c) <
            then_branch = t () => (float[n] a) { a = own.noisy (x) },
            else_branch = e () => (float[n] b) { b = Relu (x) } > }
        <domain: "own", opset_import: ["" : 17]>
        noisy (x) => (y) { r = RandomNormalLike (x)\n y = Add (x, r) }"""
    )
    assert random_operators(inside) == ["If"]
    assert verify(inside, inside).status == "not_comparable"


def test_an_ordinary_model_is_not_random() -> None:
    assert random_operators(model("g (float[n] x) => (float[n] y) { y = Relu (x) }")) == []
