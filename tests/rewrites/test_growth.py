"""Identities of scales and shifts saturate: laws that feed each other do not put a value into its own expansion.

Each graph is drawn: a few values, each a scale, a shift, a sum or a difference of those before it, over
constants whose products are 1 again and again (0.5 and 2), or never (0.3), and over per-channel ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import saturate
from egraph_opt.verification import verify

E_NODES, ROUNDS = 40, 12
"""The most e-nodes a node, and the most rounds, of an identity of few nodes."""

SCALES: tuple[object, ...] = (0.5, 2.0, 0.3, -1.0, 4.0, (0.5, 2.0, 1.0), (0.3, -1.0, 7.0), ((0.5,), (2.0,)))
OPERATORS = ("Mul", "Div", "Add", "Sub")


class _Graph:
    """Lines of ONNX's text, over inputs x, y of [2, 3] and constants."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, object] = {}

    def constant(self, value: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def node(self, operator: str, *operands: str) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name]))
        return name

    def model(self, result: str) -> onnx.ModelProto:
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
        z = helper.make_tensor_value_info(result, TensorProto.FLOAT, [2, 3])
        known = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "identity", [x, y], [z], known)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _written(scale: object, other: object) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The identities that one writes down, with two scales."""
    for name in ("twice", "affine", "shifted", "chain", "rest", "quotient", "nested", "doubled", "fibonacci"):
        g = _Graph()
        c, d = g.constant(scale), g.constant(other)
        a, b = g.node("Mul", "x", c), g.node("Mul", "x", d)
        if name == "twice":
            z = g.node("Add", a, a)
        elif name == "affine":
            z = g.node("Add", a, b)
        elif name == "shifted":
            s = g.node("Add", "x", c)
            z = g.node("Add", s, s)
        elif name == "chain":
            z = g.node("Add", g.node("Mul", a, d), "x")
        elif name == "rest":
            z = g.node("Sub", "x", a)
        elif name == "quotient":
            z = g.node("Add", g.node("Div", "x", c), "x")
        elif name == "nested":
            s = g.node("Add", g.node("Mul", g.node("Add", a, "y"), d), "y")
            z = g.node("Mul", g.node("Add", s, s), c)
        elif name == "doubled":
            s = g.node("Add", a, a)
            z = g.node("Add", g.node("Add", s, s), "x")
        else:
            s = g.node("Add", a, "x")
            t = g.node("Add", g.node("Mul", s, d), a)
            z = g.node("Sub", g.node("Mul", t, c), s)
        yield name, g.model(z)


def _drawn(seed: int, nodes: int) -> onnx.ModelProto:
    """A graph of so many nodes; operands are mostly the last values."""
    rng = np.random.default_rng(seed)
    g = _Graph()
    values, shared = ["x", "y"], [g.constant(SCALES[k]) for k in rng.integers(len(SCALES), size=2)]
    for _ in range(nodes):
        operator = OPERATORS[rng.choice(4, p=(0.4, 0.05, 0.4, 0.15))]
        left = values[-1 - int(rng.integers(min(3, len(values))))]
        with_constant = rng.random() < (0.8 if operator in ("Mul", "Div") else 0.2)
        right = (
            shared[rng.integers(2)]
            if with_constant or operator == "Div"
            else values[int(rng.integers(len(values)))]
        )
        values.append(g.node(operator, left, right))
    return g.model(values[-1])


def _check(model: onnx.ModelProto, what: str) -> None:
    saturated = saturate(model)
    if saturated.region is None:
        return
    report = saturated.region.saturation
    assert report.stop == "saturated", f"{what}: {report}"
    assert report.rounds <= ROUNDS, f"{what}: {report}"
    assert report.nodes <= E_NODES * max(saturated.counts.runtime, 4), f"{what}: {report}"
    result = saturated.extract("nodes", verify=False).model
    checked = verify(model, result, seeds=1)
    assert checked.status == "passed", f"{what}: {checked.detail}"


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_an_identity_of_scales_saturates(scale: object) -> None:
    for other in (scale, *SCALES[:3], SCALES[5]):
        for name, model in _written(scale, other):
            _check(model, f"{name}, {scale}, {other}")


@pytest.mark.parametrize("seed", range(4))
def test_drawn_sums_of_scales_saturate(seed: int) -> None:
    for k in range(20):
        _check(_drawn(100 * seed + k, nodes=3 + k % 6), f"{seed}, {k}")
