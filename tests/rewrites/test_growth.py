"""Identities of scales and shifts saturate: laws that feed each other do not put a value into its own terms.

Some are written down; others are drawn: a few values, each a scale, a shift, a sum or a difference of those
before it, over constants whose products are 1 again and again (0.5 and 2) or never (0.3), some of them per
channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import Saturated, saturate
from egraph_opt.verification import verify

E_NODES, ROUNDS = 20, 11
"""The most e-nodes a node, and the most rounds, of an identity of few nodes."""

SCALES: tuple[object, ...] = (0.5, 2.0, 0.3, -1.0, 4.0, (0.5, 2.0, 1.0), (0.3, -1.0, 7.0), ((0.5,), (2.0,)))
OPERATORS = ("Mul", "Div", "Add", "Sub")


def saturated_within(text: str, e_nodes: int) -> Saturated:
    """A model that saturates by itself, and has fewer e-nodes than that."""
    saturated = saturate(onnx.parser.parse_model(text))
    assert saturated.region is not None
    report = saturated.region.saturation
    assert report.stop == "saturated" and report.nodes < e_nodes, report
    return saturated


class _Graph:
    """Nodes over inputs x and y of [2, 3] and constants."""

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

    def twice(self, value: str) -> str:
        return self.node("Add", value, value)

    def model(self, result: str) -> onnx.ModelProto:
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
        z = helper.make_tensor_value_info(result, TensorProto.FLOAT, [2, 3])
        known = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in self.constants.items()]
        graph = helper.make_graph(self.nodes, "identity", [x, y], [z], known)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


Identity = Callable[[_Graph, str, str], str]

WRITTEN: dict[str, Identity] = {
    "a + a, a = x * c": lambda g, c, d: g.twice(g.node("Mul", "x", c)),
    "x * c + x * d": lambda g, c, d: g.node("Add", g.node("Mul", "x", c), g.node("Mul", "x", d)),
    "(x + c) + (x + c)": lambda g, c, d: g.twice(g.node("Add", "x", c)),
    "x * c * d + x": lambda g, c, d: g.node("Add", g.node("Mul", g.node("Mul", "x", c), d), "x"),
    "x - x * c": lambda g, c, d: g.node("Sub", "x", g.node("Mul", "x", c)),
    "x / c + x": lambda g, c, d: g.node("Add", g.node("Div", "x", c), "x"),
    "a + a + a + a + x, a = x * c": lambda g, c, d: g.node(
        "Add", g.twice(g.twice(g.node("Mul", "x", c))), "x"
    ),
    "(s + s) * c, s = x * c + y": lambda g, c, d: g.node(
        "Mul", g.twice(g.node("Add", g.node("Mul", "x", c), "y")), c
    ),
    "((x * c + x) * d + x * c) * c - (x * c + x)": lambda g, c, d: _nested(g, c, d),
}
"""Identities that one writes down, with two constants c and d."""


def _nested(g: _Graph, c: str, d: str) -> str:
    scaled = g.node("Mul", "x", c)
    once = g.node("Add", scaled, "x")
    again = g.node("Add", g.node("Mul", once, d), scaled)
    return g.node("Sub", g.node("Mul", again, c), once)


def _written(scale: object, other: object) -> Iterator[tuple[str, onnx.ModelProto]]:
    for name, identity in WRITTEN.items():
        g = _Graph()
        yield name, g.model(identity(g, g.constant(scale), g.constant(other)))


def _drawn(seed: int, nodes: int) -> onnx.ModelProto:
    """A graph of so many nodes; operands are mostly the last values."""
    rng = np.random.default_rng(seed)
    g = _Graph()
    values, shared = ["x", "y"], [g.constant(SCALES[k]) for k in rng.integers(len(SCALES), size=2)]
    for _ in range(nodes):
        operator = OPERATORS[rng.choice(4, p=(0.4, 0.05, 0.4, 0.15))]
        left = values[-1 - int(rng.integers(min(3, len(values))))]
        with_constant = rng.random() < (0.8 if operator in ("Mul", "Div") else 0.2)
        right = shared if with_constant or operator == "Div" else values
        values.append(g.node(operator, left, right[int(rng.integers(len(right)))]))
    return g.model(values[-1])


def _check(model: onnx.ModelProto, what: str, *, run: bool) -> None:
    saturated = saturate(model)
    if saturated.region is None:
        return
    report = saturated.region.saturation
    assert report.stop == "saturated", f"{what}: {report}"
    assert report.rounds <= ROUNDS, f"{what}: {report}"
    assert report.nodes <= E_NODES * max(saturated.counts.runtime, 4), f"{what}: {report}"
    if not run:
        return
    result = saturated.extract("nodes", verify=False).model
    checked = verify(model, result, seeds=1)
    assert checked.status == "passed", f"{what}: {checked.detail}"


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_an_identity_of_scales_saturates(scale: object) -> None:
    for k, other in enumerate((scale, SCALES[1])):
        for name, model in _written(scale, other):
            _check(model, f"{name}, {scale}, {other}", run=k == 1)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_sums_of_scales_saturate(seed: int) -> None:
    for k in range(20):
        _check(_drawn(100 * seed + k, nodes=3 + k % 6), f"{seed}, {k}", run=k % 4 == 0)


PAIRS_OVER_ONES = """<ir_version: 9, opset_import: ["" : 17]>
g (float[N, 2, 1, 2, 3, 1] x) => (float[?, ?, ?, ?, ?, ?] y) <int64[3] axes = {1, 2, 4}> {
    r = ReduceSum (x, axes)
    a = Transpose <perm = [0, 1, 4, 3, 5, 2]> (r)
    b = Transpose <perm = [0, 1, 5, 3, 2, 4]> (a)
    s, t = Split <axis = 3> (b)
    c = Transpose <perm = [2, 1, 4, 3, 5, 0]> (s)
    d = Transpose <perm = [5, 1, 0, 3, 2, 4]> (c)
    e = Transpose <perm = [2, 3, 4, 0, 5, 1]> (t)
    f = Transpose <perm = [3, 5, 0, 1, 2, 4]> (e)
    y = Concat <axis = 3> (d, f)
}"""


CONSTANTS = ", ".join(f"{k}" for k in range(108))


TURNED_BESIDE_CONSTANTS = f"""<ir_version: 9, opset_import: ["" : 18]>
g (float[N, 2, 1, 2, 3, 1] x) => (float[?, ?, ?, ?, ?, ?] y)
<float[1, 2, 1, 1, 1, 1] z = {{0, 0}}, float[3, 2, 3, 3, 2, 1] c = {{{CONSTANTS}}},
 float[1, 1, 1] d = {{-1.25}}, float[3, 1, 1, 1] e = {{2, 3, 4}}, float[1, 1, 1, 1, 1, 1] f = {{2}}> {{
    a = Mul (z, x)
    b = Transpose <perm = [3, 2, 4, 1, 5, 0]> (a)
    r = Relu (b)
    t = Transpose <perm = [4, 0, 1, 2, 3, 5]> (r)
    s = Sub (c, t)
    u = Add (d, s)
    v = Neg (u)
    w = Sub (v, e)
    y = Add (f, w)
}}"""


def test_transposes_of_constants_do_not_make_each_other() -> None:
    """Every permutation that turned the constant once was composed with all: 90,082 e-nodes."""
    saturated_within(TURNED_BESIDE_CONSTANTS, 1000)


def test_axes_of_one_element_are_not_told_apart() -> None:
    """A tensor of five such axes is 120 transposes of itself; each came out of, and into, all before it."""
    saturated = saturated_within(PAIRS_OVER_ONES, 300)
    result = saturated.extract("nodes")
    assert [node.op_type for node in result.model.graph.node] == ["ReduceSum"]


PLACES_OF_ONES = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 2, 1, 3, 2, 2] x) => (float[?, ?, ?, ?, ?, ?] y, float[?, ?, ?, ?, ?, ?] z) <float c = {-1.75}> {
    a = Transpose <perm = [5, 0, 4, 3, 1, 2]> (x)
    b = Mul (a, c)
    d = Abs (b)
    y = Transpose <perm = [1, 4, 5, 3, 2, 0]> (d)
    e = Transpose <perm = [5, 4, 3, 2, 1, 0]> (d)
    r = Relu (e)
    z = Transpose <perm = [5, 4, 3, 2, 1, 0]> (r)
}"""


def test_views_that_move_axes_of_one_element_move_past_no_transpose() -> None:
    """Two axes of one element have fifteen places among four others: 3,077 e-nodes, no end in a minute."""
    saturated_within(PLACES_OF_ONES, 200)


PADS_IN_A_ROW = """<ir_version: 9, opset_import: ["" : 21]>
g (float[1, 2, 3, 4, 3] x) => (float[?, ?, ?, ?, ?] y) <int64[10] p = {0, 0, 1, 0, 0, 1, 2, 0, 1, 0}> {
    a = Pad <mode = "edge"> (x, p)
    b = Pad <mode = "edge"> (a, p)
    c = Transpose <perm = [2, 3, 4, 0, 1]> (b)
    y = Transpose <perm = [2, 0, 4, 3, 1]> (c)
}"""


def test_edges_are_taken_apart_when_all_else_is_done() -> None:
    """Each set of their axes was padded in each order, between each of the transposes: there was no end."""
    saturated_within(PADS_IN_A_ROW, 200)


POWERS = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 4, 9] x) => (float[?, ?, ?] y)
<float[4, 1] c = {1.25, 2, 2, 1.75}, float[4, 1] d = {0.5, 0.25, 0.5, 4}, float[4, 1] e = {2, 3, 4, 2}> {
    a = Div (x, c)
    b = Div (a, d)
    p = Mul (b, b)
    q = Div (p, e)
    n = Neg (q)
    r = Div (n, c)
    s = Div (r, d)
    t = Mul (s, s)
    y = Div (t, e)
}"""


def test_scales_of_powers_have_one_place() -> None:
    """Each part of a scale was in each factor of x * x * x * x: there was no end."""
    saturated = saturated_within(POWERS, 200)
    assert [node.op_type for node in saturated.extract("nodes").model.graph.node] == ["Mul", "Mul", "Mul"]


ZERO_OF_MORE_AXES = """<ir_version: 9, opset_import: ["" : 17]>
g (float[2, 4, 1, 4] x) => (float[?, ?, ?] y) <int64 first = {0}> {
    a = Gather <axis = 0> (x, first)
    b = Transpose <perm = [0, 2, 1]> (a)
    c = Sub (b, b)
    d = Transpose <perm = [0, 2, 1]> (c)
    y = Add (a, d)
}"""


def test_a_constant_gets_no_more_axes_than_what_it_is_added_to() -> None:
    """The zero, with an axis more than a view, got one more in front of each: 3,765 e-nodes."""
    saturated_within(ZERO_OF_MORE_AXES, 100)


SQUEEZED_BETWEEN_TRANSPOSES = """<ir_version: 9, opset_import: ["" : 17]>
g (float[1, 6, 1, 5] x) => (float[?, ?, ?] y) <int64[1] axes = {2}, float[5] c = {1, 2, 3, 4, 5}> {
    s = Squeeze (x, axes)
    a = Transpose <perm = [0, 2, 1]> (s)
    t = Transpose <perm = [0, 2, 1]> (a)
    b = Add (t, c)
    e = Abs (b)
    r = Relu (e)
    u = Transpose <perm = [0, 2, 1]> (r)
    y = Log (u)
}"""


def test_a_squeeze_drops_the_axis_that_leaves_least_to_transpose() -> None:
    """Of two axes of one element either may go; with the wrong one each value had six more orders."""
    saturated = saturate(onnx.parser.parse_model(SQUEEZED_BETWEEN_TRANSPOSES), target="ascend")
    assert saturated.region is not None
    shapes = {fact.shape for fact in saturated.region.snapshot.facts if fact.shape and not fact.const}
    assert not {shape for shape in shapes if len(shape) > 2 and shape[0] not in (1, None)}, shapes
