"""TENSAT's networks are valid and run; exports say what they lack where PyTorch is not installed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import exports
import networks
import numpy as np
import onnx
import pytest

from egraph_opt.graph.runtime import plain_session

OPERATORS = {
    "nasrnn": {"MatMul": 80, "Add": 55, "Mul": 20, "Tanh": 40, "Sigmoid": 25, "Relu": 10},
    "bert": {"MatMul": 48, "Reshape": 32, "Transpose": 32, "Relu": 1},
    "resnext50": {"Conv": 53, "Relu": 53, "Add": 16, "MaxPool": 1},
    "nasneta": {"Conv": 217, "Add": 90, "AveragePool": 51, "Relu": 37, "Concat": 18, "MaxPool": 7},
    "squeezenet": {"Conv": 26, "Relu": 26, "Concat": 8, "MaxPool": 3},
    "vgg19": {"Conv": 16, "Relu": 18, "MatMul": 3, "Transpose": 3, "MaxPool": 5},
    "inceptionv3": {"Conv": 94, "Relu": 101, "Concat": 30, "AveragePool": 9, "MaxPool": 5},
    "resnet50": {"Conv": 52, "Relu": 52, "Add": 16},
}
"""Of the sizes that the papers measured, counted in TENSAT's definitions."""

DEEP = {"nasrnn": {"length": 5}, "bert": {"layers": 8}, "nasneta": {"cells": 5}}
"""How deep the papers have networks that are shallow for tests."""


@cache
def small(name: str) -> onnx.ModelProto:
    entry = networks.NETWORKS[name]
    return entry.make(**{**entry.small, **DEEP.get(name, {})})


@pytest.mark.parametrize("name", sorted(networks.NETWORKS))
def test_a_network_runs_and_its_outputs_are_finite_and_not_constant(name: str) -> None:
    model = small(name)
    onnx.checker.check_model(model, full_check=True)
    session, random = plain_session(model.SerializeToString()), np.random.default_rng(0)
    feeds = {
        given.name: random.standard_normal(given.shape, dtype=np.float32) for given in session.get_inputs()
    }
    for output in session.run(None, feeds):
        assert np.isfinite(output).all()
        assert 1e-3 < output.std() < 1e4


@pytest.mark.parametrize("name", sorted(networks.NETWORKS))
def test_a_network_has_the_operators_of_its_definition(name: str) -> None:
    found = Counter(node.op_type for node in small(name).graph.node)
    assert OPERATORS[name].items() <= found.items()


def test_a_network_is_made_of_the_same_bytes_again(tmp_path: Path) -> None:
    first, second = (networks.write("nasrnn", tmp_path / folder, small=True) for folder in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_the_sizes_by_default_are_those_of_the_papers() -> None:
    model = networks.squeezenet()
    dims = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    assert dims == [1, 3, 224, 224]
    assert sum(np.prod(w.dims) for w in model.graph.initializer) == pytest.approx(1.23e6, rel=0.01)


def test_differing_operators_of_two_models_are_counted() -> None:
    small, deep = networks.nasrnn(length=1, hidden=4), networks.nasrnn(length=2, hidden=4)
    assert exports.difference(small, small) == {}
    assert exports.difference(small, deep)["MatMul"] == (16, 32)


def test_what_exporting_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "NEEDED", ("onnx", "no_such_torch"))
    assert exports.missing() == "not installed: no_such_torch; pip install -e '.[networks]'"
    monkeypatch.setattr(exports, "NEEDED", ("onnx",))
    assert exports.missing() == ""


@pytest.mark.skipif(bool(exports.missing()), reason="PyTorch is not installed")
def test_an_export_is_a_model_that_runs() -> None:
    model = onnx.load_from_string(exports.export("avgpool1d_1024"))
    onnx.checker.check_model(model, full_check=True)
    assert Counter(node.op_type for node in model.graph.node)["BatchNormalization"] == 2
