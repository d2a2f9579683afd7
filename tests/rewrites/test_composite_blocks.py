"""Normalisations and attention end to end: every exporter's spelling becomes ONNX's operator, or is found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, outcome

NEWEST = 26
WIDTH = 8


class Block(Graph):
    """A graph that writes reductions as its opset has them."""

    opset = NEWEST

    def number(self, value: float, *dims: int) -> str:
        return self.constant(np.full(dims, value, np.float32))

    def reduce(self, kind: str, x: str, axis: int = -1, keepdims: int = 1) -> str:
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.add(kind, x, self.constant([axis]), keepdims=keepdims)
        return self.add(kind, x, axes=[axis], keepdims=keepdims)

    def root(self, variance: str) -> str:
        return self.add("Sqrt", self.add("Add", variance, self.number(1e-5)))

    def affine(self, x: str) -> str:
        return self.add("Add", self.add("Mul", x, self.weight(WIDTH)), self.weight(WIDTH))


Spelling = Callable[[Block], str]


# --- LayerNormalization ----------------------------------------------------------------------------------


def layer_torchscript(g: Block) -> str:
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x"))
    variance = g.reduce("ReduceMean", g.add("Pow", away, g.number(2.0)))
    return g.affine(g.add("Div", away, g.root(variance)))


def layer_decomposed(g: Block) -> str:
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x"))
    inverse = g.add("Reciprocal", g.root(g.reduce("ReduceMean", g.add("Mul", away, away))))
    return g.affine(g.add("Mul", away, inverse))


def layer_tensorflow(g: Block) -> str:
    """tf.nn.batch_normalization with the moments of the last axis."""
    mean = g.reduce("ReduceMean", "x")
    away = g.add("Sub", "x", mean)
    inverse = g.add("Reciprocal", g.root(g.reduce("ReduceMean", g.add("Mul", away, away))))
    scale = g.add("Mul", inverse, g.weight(WIDTH))
    shift = g.add("Sub", g.weight(WIDTH), g.add("Mul", mean, scale))
    return g.add("Add", g.add("Mul", "x", scale), shift)


def layer_flax(g: Block) -> str:
    mean = g.add("Mul", g.reduce("ReduceSum", "x"), g.number(1 / WIDTH))
    squares = g.add("Mul", g.reduce("ReduceSum", g.add("Mul", "x", "x")), g.number(1 / WIDTH))
    variance = g.add("Max", g.number(0.0), g.add("Sub", squares, g.add("Mul", mean, mean)))
    scale = g.add("Mul", g.add("Reciprocal", g.root(variance)), g.weight(1, 1, WIDTH))
    away = g.add("Sub", "x", mean)
    return g.add("Add", g.add("Mul", away, scale), g.weight(1, 1, WIDTH))


def layer_of_powers(g: Block) -> str:
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x"))
    variance = g.reduce("ReduceMean", g.add("Pow", away, g.number(2.0)))
    root = g.add("Pow", g.add("Add", variance, g.number(1e-5)), g.number(0.5))
    return g.affine(g.add("Div", away, root))


# --- RMSNormalization ------------------------------------------------------------------------------------


def rms_t5(g: Block) -> str:
    root = g.root(g.reduce("ReduceMean", g.add("Pow", "x", g.number(2.0))))
    return g.add("Mul", g.weight(WIDTH), g.add("Mul", "x", g.add("Div", g.number(1.0), root)))


def rms_llama(g: Block) -> str:
    root = g.root(g.reduce("ReduceMean", g.add("Mul", "x", "x")))
    return g.add("Mul", g.add("Mul", "x", g.add("Reciprocal", root)), g.weight(WIDTH))


def rms_scaled_first(g: Block) -> str:
    moment = g.add("Add", g.reduce("ReduceMean", g.add("Mul", "x", "x")), g.number(1e-5))
    inverse = g.add("Pow", moment, g.number(-0.5))
    return g.add("Mul", "x", g.add("Mul", inverse, g.weight(WIDTH)))


NORMS: dict[str, tuple[int, list[Spelling]]] = {
    "LayerNormalization": (
        13,
        [layer_torchscript, layer_decomposed, layer_tensorflow, layer_flax, layer_of_powers],
    ),
    "RMSNormalization": (17, [rms_t5, rms_llama, rms_scaled_first]),
}
"""Per operator an opset that does not have it, and its spellings."""

SPELLINGS = [(op, old, spelling) for op, (old, spellings) in NORMS.items() for spelling in spellings]


def ids(entry: object) -> str:
    return getattr(entry, "__name__", str(entry))


@pytest.mark.parametrize(("op", "old", "spelling"), SPELLINGS, ids=ids)
def test_every_normalisation_becomes_one_node_or_is_found(op: str, old: int, spelling: Spelling) -> None:
    g = Block(x=["N", 6, WIDTH])
    assert check_settled(g.model(spelling(g), opset=NEWEST)) == Counter([op])
    g = Block(x=["N", 6, WIDTH])
    g.opset = old
    done = outcome(g.model(spelling(g), opset=old))
    assert done.report.composites == {op: 1}
    assert op not in done.counts


def test_a_normalisation_of_channels_is_one_between_transposes() -> None:
    """ConvNeXt's LayerNorm of images, with the channels in front."""
    g = Block(x=["N", WIDTH, 5, 6])
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x", 1))
    root = g.root(g.reduce("ReduceMean", g.add("Pow", away, g.number(2.0)), 1))
    scaled = g.add("Mul", g.weight(WIDTH, 1, 1), g.add("Div", away, root))
    made = g.model(g.add("Add", scaled, g.weight(WIDTH, 1, 1)), opset=NEWEST)
    assert check_settled(made) == Counter(["Transpose", "LayerNormalization", "Transpose"])


def test_a_standard_deviation_without_its_mean_taken_off_is_no_normalisation() -> None:
    g = Block(x=["N", 6, WIDTH])
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x"))
    root = g.root(g.reduce("ReduceMean", g.add("Mul", away, away)))
    done = outcome(g.model(g.add("Div", "x", root), opset=NEWEST))
    assert not done.report.composites


def test_a_scale_that_differs_by_row_stays_outside() -> None:
    g = Block(x=["N", 6, WIDTH])
    away = g.add("Sub", "x", g.reduce("ReduceMean", "x"))
    norm = g.add("Div", away, g.root(g.reduce("ReduceMean", g.add("Mul", away, away))))
    made = g.model(g.add("Mul", norm, g.weight(6, 1)), opset=NEWEST)
    assert check_settled(made) == Counter(["LayerNormalization", "Mul"])


# --- attention -------------------------------------------------------------------------------------------

HEADS, SIZE, QUERIES, KEYS = 2, 4, 5, 6


def attending(scores: Callable[[Block, str, str], str]) -> Spelling:
    """Softmax(scores of q and the transposed k) @ v, the heads split off as exporters do."""

    def spelled(g: Block) -> str:
        def split(x: str, length: int, perm: list[int]) -> str:
            heads = g.add("Reshape", x, g.constant([0, length, HEADS, SIZE]))
            return g.add("Transpose", heads, perm=perm)

        q, v = split("q", QUERIES, [0, 2, 1, 3]), split("v", KEYS, [0, 2, 1, 3])
        soft = g.add("Softmax", scores(g, q, split("k", KEYS, [0, 2, 3, 1])), axis=3)
        return g.add("MatMul", soft, v)

    spelled.__name__ = scores.__name__
    return spelled


@attending
def plain(g: Block, q: str, k: str) -> str:
    return g.add("MatMul", q, k)


@attending
def scaled_behind(g: Block, q: str, k: str) -> str:
    return g.add("Mul", g.add("MatMul", q, k), g.number(SIZE**-0.5))


@attending
def divided(g: Block, q: str, k: str) -> str:
    return g.add("Div", g.add("MatMul", q, k), g.number(math.sqrt(SIZE)))


@attending
def scaled_on_both_sides(g: Block, q: str, k: str) -> str:
    root = g.number(SIZE**-0.25, 1)
    return g.add("MatMul", g.add("Mul", q, root), g.add("Mul", k, root))


@attending
def scaled_query(g: Block, q: str, k: str) -> str:
    return g.add("MatMul", g.add("Mul", q, g.number(SIZE**-0.5, 1)), k)


@attending
def masked(g: Block, q: str, k: str) -> str:
    return g.add("Add", g.add("Mul", g.add("MatMul", q, k), g.number(0.5)), "m")


@attending
def mask_first(g: Block, q: str, k: str) -> str:
    return g.add("Add", "m", g.add("Div", g.add("MatMul", q, k), g.number(2.0)))


@attending
def bias_and_mask(g: Block, q: str, k: str) -> str:
    biased = g.add("Add", g.add("MatMul", q, k), g.weight(HEADS, QUERIES, KEYS))
    return g.add("Add", biased, g.constant(np.triu(np.full((QUERIES, KEYS), -1e4, np.float32), 1)))


def _causal(g: Block) -> str:
    return g.constant(np.tril(np.ones((QUERIES, KEYS), bool)))


@attending
def boolean_mask(g: Block, q: str, k: str) -> str:
    mask = g.add("Where", _causal(g), g.number(0.0), g.number(-math.inf))
    return g.add("Add", g.add("MatMul", q, k), mask)


@attending
def chosen(g: Block, q: str, k: str) -> str:
    lowest = g.number(float(np.finfo(np.float32).min))
    return g.add("Where", _causal(g), g.add("Mul", g.add("MatMul", q, k), g.number(0.5)), lowest)


ATTENTION = [plain, scaled_behind, divided, scaled_on_both_sides, scaled_query, masked, mask_first,
             bias_and_mask, boolean_mask, chosen]  # fmt: skip


def attention_block(spelling: Spelling, opset: int) -> onnx.ModelProto:
    lengths = (("q", QUERIES), ("k", KEYS), ("v", KEYS))
    dims: dict[str, list[int | str]] = {name: ["N", length, HEADS * SIZE] for name, length in lengths}
    g = Block(**dims, m=[1, 1, QUERIES, KEYS])
    g.opset = opset
    return g.model(spelling(g), opset=opset)


@pytest.mark.parametrize("spelling", ATTENTION, ids=ids)
def test_every_attention_becomes_one_node_or_is_found(spelling: Spelling) -> None:
    counts = check_settled(attention_block(spelling, NEWEST))
    assert counts == Counter({"Attention": 1, "Reshape": 3, "Transpose": 3})
    done = outcome(attention_block(spelling, 13))
    assert done.report.composites == {"Attention": 1, "Softmax": 1}
    assert "Attention" not in done.counts


def test_a_softmax_over_queries_is_no_attention() -> None:
    g = Block(q=[1, 2, 5, 4], k=[1, 2, 4, 6], v=[1, 2, 6, 4])
    soft = g.add("Softmax", g.add("MatMul", "q", "k"), axis=2)
    done = outcome(g.model(g.add("MatMul", soft, "v"), opset=NEWEST))
    assert done.counts == Counter({"MatMul": 2, "Softmax": 1})
    assert done.report.composites == {"Softmax": 1}


# --- what ONNX says they are -----------------------------------------------------------------------------

FUNCTIONS: dict[str, tuple[dict[str, Any], int]] = {
    "Gelu": ({}, 20), "HardSwish": ({}, 22), "LayerNormalization": ({"axis": -1}, 23), "LogSoftmax": ({}, 23),
    "Mish": ({}, 22), "RMSNormalization": ({"axis": -1}, 23), "Softmax": ({}, 23), "Softplus": ({}, 22),
    "Swish": ({"alpha": 1.5}, 24),
}  # fmt: skip


@pytest.mark.parametrize("op", sorted(FUNCTIONS))
def test_the_body_that_onnx_gives_a_function_is_found(op: str) -> None:
    attributes, opset = FUNCTIONS[op]
    g = Block(x=[3, 6, WIDTH], s=[WIDTH], b=[WIDTH])
    operands = {"LayerNormalization": ("s", "b"), "RMSNormalization": ("s",)}.get(op, ())
    native = g.model(g.add(op, "x", *operands, **attributes), opset=opset)
    spelled = onnx.inliner.inline_selected_functions(native, [("", op)], inline_schema_functions=True)
    assert op not in {node.op_type for node in spelled.graph.node}
    spelled = onnx.shape_inference.infer_shapes(spelled)
    done = outcome(spelled)
    assert done.report.composites.get(op) == 1
    assert done.counts == Counter([op])
