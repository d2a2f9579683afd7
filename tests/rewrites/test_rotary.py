"""Rotary embeddings are ONNX's operator where the opset has it, in all spellings of exporters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, outcome

OPSET, LENGTH = 23, 5
OP = "RotaryEmbedding"

Spelling = Callable[[Graph, str, list[Any], str, str], str]


def cut(g: Graph, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
    return g.add("Slice", x, *(g.constant([k]) for k in (start, end, axis, step)))


def tables(g: Graph, half: int, twice: str = "") -> tuple[str, str]:
    """Cosines and sines of a position in a row, each once, or twice."""
    angles = np.outer(np.arange(LENGTH), 10.0 ** -np.arange(half))
    angles = {"": angles, "halves": np.tile(angles, 2), "pairs": np.repeat(angles, 2, 1)}[twice]
    return g.constant(np.cos(angles)), g.constant(np.sin(angles))


def halves(g: Graph, x: str, dims: list[Any]) -> tuple[str, ...]:
    axis, size = len(dims) - 1, dims[-1]
    return cut(g, x, axis, 0, size // 2), cut(g, x, -1, size // 2, 2**40)


def pairs(g: Graph, x: str, dims: list[Any]) -> tuple[str, ...]:
    return tuple(cut(g, x, len(dims) - 1, start, 2**40, 2) for start in (0, 1))


def crossed(g: Graph, parts: tuple[str, ...], dims: list[Any], how: str) -> str:
    """Parts side by side, or one from each by turns."""
    if how == "halves":
        return g.add("Concat", *parts, axis=-1)
    stood = [g.add("Unsqueeze", part, g.constant([len(dims)])) for part in parts]
    return g.add("Reshape", g.add("Concat", *stood, axis=-1), g.constant([0, *dims[1:]]))


def rows(how: str) -> Spelling:
    def spelled(g: Graph, x: str, dims: list[Any], c: str, s: str) -> str:
        a, b = halves(g, x, dims) if how == "halves" else pairs(g, x, dims)
        turned = crossed(g, (g.add("Neg", b), a), dims, how)
        return g.add("Add", g.add("Mul", x, c), g.add("Mul", turned, s))

    spelled.__name__ = f"rows_{how}"
    return spelled


def parts(how: str) -> Spelling:
    def spelled(g: Graph, x: str, dims: list[Any], c: str, s: str) -> str:
        a, b = halves(g, x, dims) if how == "halves" else pairs(g, x, dims)
        real = g.add("Sub", g.add("Mul", a, c), g.add("Mul", b, s))
        imaginary = g.add("Add", g.add("Mul", s, a), g.add("Mul", b, c))
        return crossed(g, (real, imaginary), dims, how)

    spelled.__name__ = f"parts_{how}"
    return spelled


def complex_numbers(g: Graph, x: str, dims: list[Any], c: str, s: str) -> str:
    viewed = g.add("Reshape", x, g.constant([0, *dims[1:-1], dims[-1] // 2, 2]))
    a, b = (g.add("Gather", viewed, g.constant(k), axis=len(dims)) for k in (0, 1))
    real = g.add("Sub", g.add("Mul", a, c), g.add("Mul", b, s))
    imaginary = g.add("Add", g.add("Mul", a, s), g.add("Mul", b, c))
    return crossed(g, (real, imaginary), dims, "pairs")


def model(spelled: Spelling, twice: str, dims: list[Any], opset: int = OPSET) -> onnx.ModelProto:
    g = Graph(x=dims)
    return g.model(spelled(g, "x", dims, *tables(g, dims[-1] // 2, twice)), opset=opset)


SPELLINGS: list[tuple[Spelling, str]] = [
    (rows("halves"), "halves"),
    (rows("pairs"), "pairs"),
    (parts("halves"), ""),
    (parts("pairs"), ""),
    (complex_numbers, ""),
]


@pytest.mark.parametrize(("spelled", "twice"), SPELLINGS, ids=lambda v: getattr(v, "__name__", None))
def test_every_spelling_becomes_one_operator(spelled: Spelling, twice: str) -> None:
    done = outcome(model(spelled, twice, [2, 3, LENGTH, 8]), "ascend")
    assert done.counts == Counter([OP])
    assert done.report.composites == {OP: 1}


def test_it_stays_one_and_older_opsets_have_none() -> None:
    spelled, twice = SPELLINGS[0]
    assert check_settled(model(spelled, twice, ["N", 3, LENGTH, 8]))[OP] == 1
    assert OP not in outcome(model(spelled, twice, [2, 3, LENGTH, 8], 21)).counts


@pytest.mark.parametrize("dims", [["N", 3, LENGTH, 2], ["N", LENGTH, 6], [LENGTH, 4]])
def test_batches_heads_and_their_absence_are_views(dims: list[Any]) -> None:
    counts = outcome(model(parts("halves"), "", dims), "ascend").counts
    assert counts[OP] == 1
    assert set(counts) <= {OP, "Reshape", "Unsqueeze", "Squeeze"}


def test_heads_may_stand_behind_positions() -> None:
    g = Graph(x=[2, LENGTH, 3, 8])
    x, (c, s) = ["N", LENGTH, 3, 8], (g.add("Unsqueeze", t, g.constant([1])) for t in tables(g, 4))
    y = parts("pairs")(g, "x", x, *(g.add("Expand", t, g.constant([2, LENGTH, 1, 4])) for t in (c, s)))
    assert outcome(g.model(y, opset=OPSET), "ascend").counts == Counter({OP: 1, "Reshape": 2})


def test_some_features_are_rotated_and_others_stay() -> None:
    g = Graph(x=[2, 3, LENGTH, 10])
    rotated = rows("halves")(g, cut(g, "x", 3, 0, 6), [2, 3, LENGTH, 6], *tables(g, 3, "halves"))
    y = g.add("Concat", rotated, cut(g, "x", 3, 6, 10), axis=3)
    result = outcome(g.model(y, opset=OPSET), "ascend")
    assert result.counts == Counter([OP])
    (node,) = (node for node in result.model.graph.node if node.op_type == OP)
    assert {a.name: a.i for a in node.attribute}["rotary_embedding_dim"] == 6


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_angles_may_be_computed_from_positions(dtype: int) -> None:
    g = Graph()
    dims: list[Any] = ["N", 3, LENGTH, 8]
    x, ids = g.input("x", dims, dtype), g.input("ids", ["N", LENGTH], TensorProto.INT64)
    places = g.add("Cast", g.add("Unsqueeze", ids, g.constant([1])), to=TensorProto.FLOAT)
    angles = g.add("Transpose", g.add("MatMul", g.weight(4, 1), places), perm=[0, 2, 1])
    twice = g.add("Concat", angles, angles, axis=-1)
    c, s = (
        g.add("Unsqueeze", g.add("Cast", g.add(f, twice), to=dtype), g.constant([1])) for f in ("Cos", "Sin")
    )
    y = rows("halves")(g, x, dims, c, s)
    made = g.model(y, opset=OPSET, dtypes={y: dtype})
    counts = outcome(made, "ascend").counts
    assert counts[OP] == 1
    assert not {"Concat", "Neg", "Slice", "Split"} & set(counts)


def _near_misses() -> dict[str, onnx.ModelProto]:
    dims = [2, 3, LENGTH, 8]
    found = {
        "angles of pairs for halves": model(rows("halves"), "pairs", dims),
        "angles of halves for pairs": model(rows("pairs"), "halves", dims),
    }
    g = Graph(x=dims, c=[LENGTH, 8], s=[LENGTH, 8])
    found["an angle of each feature"] = g.model(rows("halves")(g, "x", dims, "c", "s"), opset=OPSET)
    g = Graph(x=dims)
    c, s = (g.weight(3, LENGTH, 4) for _ in range(2))
    found["angles of each head"] = g.model(parts("halves")(g, "x", dims, c, s), opset=OPSET)
    g = Graph(x=dims)
    a, b = halves(g, "x", dims)
    turned, (c, s) = g.add("Concat", b, g.add("Neg", a), axis=3), tables(g, 4, "halves")
    y = g.add("Add", g.add("Mul", "x", c), g.add("Mul", turned, s))
    found["turned the other way"] = g.model(y, opset=OPSET)
    return found


@pytest.mark.parametrize("name", list(_near_misses()))
def test_what_is_no_rotation_of_pairs_stays(name: str) -> None:
    assert OP not in outcome(_near_misses()[name], "ascend").counts
