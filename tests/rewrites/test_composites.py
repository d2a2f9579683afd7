"""Composite functions end to end: every spelling becomes ONNX's operator where the opset has it.

Where the opset does not have it, it is found all the same, and the report says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome

NEWEST = {"Swish": 24}
"""The newest opset in which onnxruntime runs an operator, if it is not 26."""

Spelling = Callable[[Graph], str]
SHAPE: list[int | str] = ["N", 6, 8]


def number(g: Graph, value: float, *dims: int) -> str:
    return g.constant(np.full(dims, value, np.float32))


# --- activations -----------------------------------------------------------------------------------------


def gelu_torchscript(g: Graph) -> str:
    gate = g.add("Add", g.add("Erf", g.add("Div", "x", number(g, math.sqrt(2)))), number(g, 1.0))
    return g.add("Mul", g.add("Mul", "x", gate), number(g, 0.5))


def gelu_dynamo(g: Graph) -> str:
    scaled = g.add("Mul", "x", number(g, math.sqrt(0.5)))
    gate = g.add("Add", number(g, 1.0), g.add("Erf", scaled))
    return g.add("Mul", g.add("Mul", number(g, 0.5), "x"), gate)


def gelu_tensorflow(g: Graph) -> str:
    gate = g.add("Add", g.add("Erf", g.add("Div", "x", number(g, math.sqrt(2)))), number(g, 1.0))
    return g.add("Mul", "x", g.add("Mul", number(g, 0.5), gate))


def gelu_paddle(g: Graph) -> str:
    scaled = g.add("Mul", "x", number(g, math.sqrt(0.5), 1))
    gate = g.add("Add", g.add("Erf", scaled), number(g, 1.0, 1))
    return g.add("Mul", g.add("Mul", "x", gate), number(g, 0.5, 1))


def _tanh_gate(g: Graph, cube: str) -> str:
    inner = g.add("Mul", g.add("Add", "x", cube), number(g, math.sqrt(2 / math.pi)))
    return g.add("Add", g.add("Tanh", inner), number(g, 1.0))


def gelu_tanh_gpt2(g: Graph) -> str:
    cube = g.add("Mul", g.add("Pow", "x", number(g, 3.0)), number(g, 0.044715))
    return g.add("Mul", g.add("Mul", "x", number(g, 0.5)), _tanh_gate(g, cube))


def gelu_tanh_jax(g: Graph) -> str:
    cube = g.add("Mul", "x", g.add("Mul", "x", g.add("Mul", number(g, 0.044715), "x")))
    return g.add("Mul", "x", g.add("Mul", number(g, 0.5), _tanh_gate(g, cube)))


def gelu_tanh_factored(g: Graph) -> str:
    square = g.add("Mul", number(g, 0.044715), g.add("Mul", "x", "x"))
    outer = g.add("Mul", g.add("Mul", number(g, 0.79788456), "x"), g.add("Add", square, number(g, 1.0)))
    gate = g.add("Add", number(g, 1.0), g.add("Tanh", outer))
    return g.add("Mul", g.add("Mul", number(g, 0.5), "x"), gate)


def silu(g: Graph) -> str:
    return g.add("Mul", "x", g.add("Sigmoid", "x"))


def silu_paddle(g: Graph) -> str:
    return g.add("Mul", "x", g.add("Sigmoid", g.add("Mul", "x", number(g, 1.0, 1))))


def quick_gelu(g: Graph) -> str:
    return g.add("Mul", g.add("Sigmoid", g.add("Mul", number(g, 1.702), "x")), "x")


def hard_swish_paddle(g: Graph) -> str:
    clipped = g.add("Clip", g.add("Add", "x", number(g, 3.0, 1)), number(g, 0.0), number(g, 6.0))
    return g.add("Div", g.add("Mul", "x", clipped), number(g, 6.0, 1))


def hard_swish_gate(g: Graph) -> str:
    clipped = g.add("Clip", g.add("Add", "x", number(g, 3.0)), number(g, 0.0), number(g, 6.0))
    return g.add("Mul", "x", g.add("Div", clipped, number(g, 6.0)))


def hard_swish_affine(g: Graph) -> str:
    affine = g.add("Add", g.add("Mul", "x", number(g, 1 / 6)), number(g, 0.5))
    return g.add("Mul", "x", g.add("Clip", affine, number(g, 0.0), number(g, 1.0)))


def hard_swish_torchscript(g: Graph) -> str:
    return g.add("Mul", "x", g.add("HardSigmoid", "x", alpha=1 / 6))


def hard_swish_tensorflow(g: Graph) -> str:
    shifted = g.add("Relu", g.add("Add", "x", number(g, 3.0)))
    clipped = g.add("Min", shifted, number(g, 6.0))
    return g.add("Mul", g.add("Mul", clipped, number(g, 1 / 6)), "x")


def hard_sigmoid(g: Graph) -> str:
    clipped = g.add("Clip", g.add("Add", "x", number(g, 3.0)), number(g, 0.0), number(g, 6.0))
    return g.add("Div", clipped, number(g, 6.0))


def softplus(g: Graph) -> str:
    return g.add("Log", g.add("Add", number(g, 1.0), g.add("Exp", "x")))


def mish(g: Graph) -> str:
    return g.add("Mul", "x", g.add("Tanh", g.add("Softplus", "x")))


def mish_spelled_out(g: Graph) -> str:
    return g.add("Mul", g.add("Tanh", softplus(g)), "x")


# --- Softmax ---------------------------------------------------------------------------------------------


def softmax_stable(g: Graph) -> str:
    e = g.add("Exp", g.add("Sub", "x", g.add("ReduceMax", "x", g.constant([-1]))))
    return g.add("Div", e, g.add("ReduceSum", e, g.constant([-1])))


def softmax_squeezed(g: Graph) -> str:
    axes = g.constant([1])
    level = g.add("Unsqueeze", g.add("ReduceMax", "x", axes, keepdims=0), axes)
    e = g.add("Exp", g.add("Sub", "x", level))
    return g.add("Mul", e, g.add("Reciprocal", g.add("ReduceSum", e, axes)))


def log_softmax_sum(g: Graph) -> str:
    axes = g.constant([2])
    away = g.add("Sub", "x", g.add("ReduceMax", "x", axes))
    return g.add("Sub", away, g.add("Log", g.add("ReduceSum", g.add("Exp", away), axes)))


def log_softmax_log(g: Graph) -> str:
    return g.add("Log", g.add("Softmax", "x", axis=2))


OLD = {
    "Gelu": (13, [gelu_torchscript, gelu_dynamo, gelu_tensorflow, gelu_paddle, gelu_tanh_gpt2, gelu_tanh_jax,
                  gelu_tanh_factored]),
    "Swish": (17, [silu, silu_paddle, quick_gelu]),
    "HardSwish": (13, [hard_swish_paddle, hard_swish_gate, hard_swish_affine, hard_swish_torchscript,
                       hard_swish_tensorflow]),
    "HardSigmoid": (0, [hard_sigmoid]),
    "Softplus": (0, [softplus]),
    "Mish": (17, [mish, mish_spelled_out]),
    "Softmax": (0, [softmax_stable, softmax_squeezed]),
    "LogSoftmax": (0, [log_softmax_sum, log_softmax_log]),
}  # fmt: skip
"""Per operator an opset that does not have it (0: all have), and its spellings."""

SPELLINGS = [(op, spelling) for op, (_, spellings) in OLD.items() for spelling in spellings]


def ids(entry: object) -> str:
    return getattr(entry, "__name__", str(entry))


@pytest.mark.parametrize(("op", "spelling"), SPELLINGS, ids=ids)
def test_every_spelling_becomes_one_node(op: str, spelling: Spelling) -> None:
    g = Graph(x=SHAPE)
    made = g.model(spelling(g), opset=NEWEST.get(op, 26))
    assert check_settled(made) == Counter([op])


@pytest.mark.parametrize(
    ("op", "opset", "spelling"),
    [(op, opset, spelling) for op, (opset, all_) in OLD.items() if opset for spelling in all_],
    ids=ids,
)
def test_what_the_opset_lacks_is_found_and_not_written(op: str, opset: int, spelling: Spelling) -> None:
    g = Graph(x=SHAPE)
    done = outcome(g.model(spelling(g), opset=opset))
    assert done.report.composites[op] == 1
    assert op not in done.counts
    assert f"{op} 1" in str(done.report)


def test_approximations_are_told_apart() -> None:
    for spelling, approximate in ((gelu_paddle, b"none"), (gelu_tanh_jax, b"tanh")):
        g = Graph(x=SHAPE)
        (node,) = outcome(g.model(spelling(g), opset=20)).model.graph.node
        assert [onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == "approximate"] in (
            [approximate],
            [] if approximate == b"none" else None,
        )


def test_a_gate_for_another_tensor_is_no_activation() -> None:
    g = Graph(x=SHAPE, z=SHAPE)
    done = outcome(g.model(g.add("Mul", "z", g.add("Sigmoid", "x")), opset=24))
    assert done.counts == Counter(["Mul", "Sigmoid"])
    assert not done.report.composites


def test_flops_see_no_gain_in_a_name() -> None:
    """A composite costs what its parts cost, so counting arithmetic chooses nothing worse."""
    for spelling in (gelu_torchscript, gelu_tanh_gpt2, hard_swish_paddle, mish, silu, softmax_stable):
        g = Graph(x=SHAPE)
        cost = outcome(g.model(spelling(g), opset=24), "flops").report.cost
        assert cost.after >= 0.7 * cost.before, spelling


def test_one_activation_behind_views_counts_once() -> None:
    g = Graph(x=SHAPE)
    moved = g.add("Transpose", g.add("Reshape", silu(g), g.constant([0, 2, 3, 8])), perm=[0, 2, 1, 3])
    done = outcome(g.model(g.add("Concat", moved, moved, axis=1), opset=17))
    assert done.report.composites == {"Swish": 1}
