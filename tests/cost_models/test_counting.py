"""Arithmetic, traffic and node counts of single operators, against formulas worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from egraph_opt.cost.model import NodeView
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost_models import counting
from egraph_opt.facts.fact import UNKNOWN, Fact


def f32(*shape: int | None, const: bool = False) -> Fact:
    return Fact(1, shape, const=const)


def ints(*value: int) -> Fact:
    return Fact(7, (len(value),), const=True, value=value)


def node(
    op: str, inputs: list[Fact | None], *outputs: Fact, domain: str = "", **attributes: object
) -> NodeView:
    return NodeView(op, domain, attributes, tuple(inputs), outputs)


FLOPS = [
    ("Conv", node("Conv", [f32(1, 8, 10, 10), f32(16, 8, 3, 3)], f32(1, 16, 8, 8)), 2 * 16 * 64 * 8 * 9),
    (
        "Conv with groups and bias",
        node("Conv", [f32(1, 8, 10, 10), f32(8, 1, 3, 3), f32(8)], f32(1, 8, 8, 8), group=8),
        2 * 8 * 64 * 9 + 8 * 64,
    ),
    ("ConvTranspose", node("ConvTranspose", [f32(1, 8, 5), f32(8, 4, 3)], f32(1, 4, 7)), 2 * (8 * 5) * 4 * 3),
    ("MatMul", node("MatMul", [f32(5, 3, 4), f32(4, 7)], f32(5, 3, 7)), 2 * 5 * 3 * 4 * 7),
    ("MatMul of vectors", node("MatMul", [f32(4), f32(4)], f32()), 8),
    ("Gemm", node("Gemm", [f32(4, 3), f32(4, 7), f32(7)], f32(3, 7), transA=1), 2 * 3 * 4 * 7 + 21),
    ("Einsum", node("Einsum", [f32(2, 3), f32(3, 4)], f32(2, 4), equation="ij,jk->ik"), 2 * 2 * 3 * 4),
    (
        "Einsum with ellipsis",
        node("Einsum", [f32(5, 2, 3), f32(5, 3, 4)], f32(5, 2, 4), equation="...ij,...jk->...ik"),
        2 * 5 * 2 * 3 * 4,
    ),
    ("AveragePool", node("AveragePool", [f32(1, 2, 8, 8)], f32(1, 2, 4, 4), kernel_shape=(2, 2)), 2 * 16 * 4),
    (
        "MultiHeadAttention",
        node(
            "MultiHeadAttention",
            [f32(2, 5, 12), f32(2, 7, 12), f32(2, 7, 18), None, None, f32(1, 3, 5, 7)],
            f32(2, 5, 18),
            domain="com.microsoft",
            num_heads=3,
            scale=0.5,
        ),
        2 * 5 * 7 * (2 * (12 + 18) + 7 * 3),
    ),
    (
        "FusedMatMul",
        node("FusedMatMul", [f32(4, 3), f32(4, 7)], f32(3, 7), domain="com.microsoft", transA=1, alpha=0.5),
        2 * 3 * 4 * 7 + 21,
    ),
    ("Tanh", node("Tanh", [f32(3, 4)], f32(3, 4)), 12),
    ("Add", node("Add", [f32(3, 4), f32(4)], f32(3, 4)), 12),
    ("Sum of three", node("Sum", [f32(6), f32(6), f32(6)], f32(6)), 12),
    ("ReduceSum", node("ReduceSum", [f32(3, 4), ints(1)], f32(3)), 12),
    ("Clip with one bound", node("Clip", [f32(6), f32()], f32(6)), 6),
    ("LSTM", node("LSTM", [f32(5, 2, 3), f32(1, 16, 3), f32(1, 16, 4)], f32(5, 1, 2, 4)), 2 * 10 * 16 * 7),
    ("Transpose", node("Transpose", [f32(3, 4)], f32(4, 3)), 0),
    ("Reshape", node("Reshape", [f32(3, 4), ints(12)], f32(12)), 0),
    ("Cast", node("Cast", [f32(12)], Fact(10, (12,)), to=10), 0),
    ("an operator of another domain", node("Tanh2", [f32(12)], f32(12), domain="mine"), 12),
]


@pytest.mark.parametrize(("view", "expected"), [case[1:] for case in FLOPS], ids=[case[0] for case in FLOPS])
def test_flops(view: NodeView, expected: int) -> None:
    assert cost_model("flops").cost(view) == expected


def test_spelling_gelu_out_changes_no_count() -> None:
    x, scalar = f32(2, 8), f32(const=True)
    steps = [("Div", [x, scalar]), ("Erf", [x]), ("Add", [x, scalar]), ("Mul", [x, x]), ("Mul", [x, scalar])]
    spelled = sum(counting.flops(node(op, list(inputs), x)) for op, inputs in steps)
    assert counting.flops(node("Gelu", [x], x)) == spelled


def test_attention_counts_both_products_and_the_softmax() -> None:
    q, k, v = f32(1, 2, 5, 8), f32(1, 2, 7, 8), f32(1, 2, 7, 16)
    four = counting.flops(node("Attention", [q, k, v], f32(1, 2, 5, 16)))
    assert four == 2 * 5 * 7 * (2 * 8 + 2 * 16 + 5 + 1)
    plain = counting.flops(node("Attention", [q, k, v], f32(1, 2, 5, 16), scale=1.0))
    masked = counting.flops(node("Attention", [q, k, v, f32(5, 7)], f32(1, 2, 5, 16), scale=1.0))
    assert (four - plain, masked - plain) == (2 * 5 * 7, 2 * 5 * 7)
    q, k, v = f32(1, 5, 16), f32(1, 7, 16), f32(1, 7, 32)
    heads: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2}
    assert counting.flops(node("Attention", [q, k, v], f32(1, 5, 32), **heads)) == four


BYTES = [
    ("element-wise", node("Add", [f32(3, 4), f32(4, const=True)], f32(3, 4)), 4 * (12 + 4 + 12)),
    ("a view", node("Squeeze", [f32(3, 1), ints(1)], f32(3)), 0),
    ("a slice reads what it keeps", node("Slice", [f32(1000), ints(0), ints(10)], f32(10)), 4 * 20 + 16),
    ("an embedding", node("Gather", [f32(1000, 8), Fact(7, (2,))], f32(2, 8)), 4 * 32 + 16),
    ("half precision", node("Relu", [Fact(10, (8,))], Fact(10, (8,))), 32),
    ("four-bit weights", node("DequantizeLinear", [Fact(22, (8,)), f32()], f32(8)), 4 + 4 + 32),
    ("an absent operand", node("Clip", [f32(8), None, f32()], f32(8)), 68),
    ("Shape", node("Shape", [f32(1000, 1000)], Fact(7, (2,))), 16),
    ("Dropout in inference", node("Dropout", [f32(8)], f32(8)), 0),
    ("Dropout in training", node("Dropout", [f32(8), f32(), Fact(9, ())], f32(8)), 69),
]


@pytest.mark.parametrize(("view", "expected"), [case[1:] for case in BYTES], ids=[case[0] for case in BYTES])
def test_bytes(view: NodeView, expected: int) -> None:
    assert cost_model("bytes").cost(view) == expected


@pytest.mark.parametrize(("op", "expected"), [("Conv", 1), ("Reshape", 1), ("Identity", 1), ("Constant", 0)])
def test_a_node_is_one_and_a_constant_none(op: str, expected: int) -> None:
    assert cost_model("nodes").cost(node(op, [f32(3)], f32(3))) == expected


@pytest.mark.parametrize("name", ["ascend", "bytes", "flops", "nodes"])
def test_the_price_of_bodies_is_added(name: str) -> None:
    model = cost_model(name)
    without = NodeView("If", "", {}, (Fact(9, ()),), (f32(3),))
    with_body = NodeView("If", "", {}, (Fact(9, ()),), (f32(3),), body_cost=41.0)
    assert model.cost(with_body) - model.cost(without) == pytest.approx(41.0)


def test_what_is_not_known_counts_one_element() -> None:
    assert counting.elements(f32(None, 3)) == 3
    assert counting.elements(UNKNOWN) == 1
    assert counting.elements(None) == 0


def test_absurd_shapes_stay_finite() -> None:
    absurd = f32(*[2**62] * 40)
    assert math.isfinite(counting.flops(node("MatMul", [absurd, absurd], absurd)))
    assert math.isfinite(counting.traffic(node("Add", [absurd, absurd], absurd)))
