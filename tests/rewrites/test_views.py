"""Views, expansions and shape arithmetic, end to end."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

from egraph_opt import optimize


def _optimized(text: str, cost: str = "nodes") -> Counter[str]:
    """The operators of an optimized graph, which computes the same."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    result = optimize(model, cost=cost, strict=True)
    assert result.report.verification.status == "passed"
    return Counter(n.op_type for n in result.model.graph.node if n.op_type != "Constant")


def test_views_cancel_around_element_wise_operators() -> None:
    counts = _optimized(
        """g (float[2,6,4] x, float[2,6,4] u) => (float[2,6,4] y)
        <int64[2] flat = {12, 4}, int64[3] back = {2, 6, 4}, float[4] bias = {1, 2, 3, 4}, float two = {2}> {
            a = Reshape(x, flat)  b = Add(a, bias)  c = Relu(b)  d = Mul(c, two)
            e = Reshape(u, flat)  f = Sub(d, e)  h = Exp(f)
            y = Reshape(h, back)
        }"""
    )
    assert counts == {"Add": 1, "Relu": 1, "Mul": 1, "Sub": 1, "Exp": 1}


def test_a_chain_of_views_is_one_view() -> None:
    counts = _optimized(
        """g (float[N,6,4] x) => (float[N,1,24] y)
        <int64[1] one = {1}, int64[2] axes = {1, 3}, int64[3] to = {0, 1, -1}> {
            a = Unsqueeze(x, axes)  b = Squeeze(a, axes)  c = Flatten <axis = 2> (b)
            d = Reshape(b, to)  e = Unsqueeze(d, one)  y = Squeeze(e, one)
        }"""
    )
    assert counts == {"Reshape": 1}


def test_views_of_a_dynamic_attention_need_no_shape_arithmetic() -> None:
    counts = _optimized(
        """g (float[N,L,12] x) => (float[N,L,12] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] axis = {0}, int64[2] heads = {3, 4},
         int64[1] width = {12}> {
            s = Shape(x)
            n = Gather <axis = 0> (s, zero)  n1 = Unsqueeze(n, axis)
            l = Gather <axis = 0> (s, one)  l1 = Unsqueeze(l, axis)
            to = Concat <axis = 0> (n1, l1, heads)
            back = Concat <axis = 0> (n1, l1, width)
            a = Reshape(x, to)  b = Transpose <perm = [0, 2, 1, 3]> (a)  c = Softmax <axis = -1> (b)
            d = Transpose <perm = [0, 2, 1, 3]> (c)  y = Reshape(d, back)
        }"""
    )
    assert counts["Shape"] == counts["Gather"] == counts["Concat"] == counts["Unsqueeze"] == 0
    assert counts["Reshape"] == 2


def test_a_mask_is_not_expanded_where_it_is_added() -> None:
    counts = _optimized(
        """g (float[N,3,L,L] x, bool[N,L] mask) => (float[N,3,L,L] y)
        <int64[2] axes = {1, 2}, float none = {0}, float low = {-10000}, int64[4] minus = {-1, -1, -1, -1},
         int64[4] ones = {1, 1, 1, 1}> {
            m = Unsqueeze(mask, axes)  s = Shape(x)
            q = Equal(s, minus)  to = Where(q, ones, s)
            e = Expand(m, to)  w = Where(e, none, low)
            y = Add(x, w)
        }"""
    )
    assert counts == {"Unsqueeze": 1, "Where": 1, "Add": 1}


def test_an_expansion_that_nobody_else_makes_stays() -> None:
    counts = _optimized(
        """g (float[1,4] x) => (float[3,4] y) <int64[2] to = {3, 1}, float[1] half = {0.5}> {
            a = Expand(x, to)  y = Mul(a, half)
        }"""
    )
    assert counts["Expand"] == 1


def test_a_dim_is_asked_of_the_input() -> None:
    counts = _optimized(
        """g (float[N,3,L] x) => (float[N,3,L] y, int64[1] n)
        <int64 two = {2}, int64[1] axis = {0}, int64[1] three = {3}, int64[1] zero = {0}> {
            a = Relu(x)  y = Exp(a)
            s = Shape(y)  l = Gather <axis = 0> (s, two)  l1 = Unsqueeze(l, axis)
            m = Mul(l1, three)  k = Sub(m, l1)  j = Sub(k, l1)  n = Add(j, zero)
        }"""
    )
    assert counts == {"Relu": 1, "Exp": 1, "Shape": 1}


@pytest.mark.parametrize("opset", [11, 13, 15, 18])
def test_shape_arithmetic_shrinks_in_every_opset(opset: int) -> None:
    axes = "<axes = [0]> (l)" if opset < 13 else "(l, axis)"
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {opset}]> g (float[N,3,L] x) => (float[N,M] y, int64[1] n)
        <int64 two = {{2}}, int64[1] axis = {{0}}, int64[2] to = {{0, -1}}> {{
            s = Shape(x)  l = Gather <axis = 0> (s, two)  n = Unsqueeze {axes}
            y = Reshape(x, to)
        }}"""
    )
    result = optimize(model, cost="nodes", strict=True)
    counts = Counter(n.op_type for n in result.model.graph.node)
    assert counts["Gather"] == counts["Unsqueeze"] == 0
    assert counts["Shape"] == 1 and counts["Slice"] == (opset < 15)


def test_ambiguous_unit_axes_do_not_multiply() -> None:
    """Products of [N,C,1] and [N,C,L] behind views that could have dropped either of two axes."""
    lines = ["a0 = Squeeze(x, last)"]
    for k in range(12):
        lines.append(f"b{k} = Mul(a{k}, u)  c{k} = Relu(a{k})  r{k} = ReduceMean <axes = [2]> (b{k})")
        lines.append(f"a{k + 1} = Add(c{k}, r{k})")
    body = "\n".join(lines)
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,3,1,1] x, float[N,3,L] u) => (float[N,3,1] a12)
        <int64[1] last = {{3}}> {{ {body} }}"""
    )
    result = optimize(model, cost="nodes", strict=True)
    saturation = result.report.saturation
    assert saturation.stop == "saturated"
    assert saturation.nodes <= 5 * len(model.graph.node)


def test_a_transpose_of_axes_of_one_element_runs_on_an_empty_batch() -> None:
    """As a Reshape it would leave L to be found beside a batch of none."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N, 1, L, 4] x) => (float[N, L, 1, 4] y) { y = Transpose <perm = [0, 2, 1, 3]> (x) }"""
    )
    made = optimize(model, cost="nodes", strict=True).model
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.zeros((0, 1, 3, 4), np.float32)})
    assert y.shape == (0, 3, 1, 4)
