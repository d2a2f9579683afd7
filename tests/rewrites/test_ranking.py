"""TopK behind a cast that widens takes what was cast; what ArgMax chooses is an extreme."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import TensorProto as T

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome


def _greatest(narrow: int, wide: int, dims: Dims, opset: int = 17, **settings: int) -> onnx.ModelProto:
    g = Graph()
    x = g.add("Cast", g.input("x", dims, narrow), to=wide)
    values, places = g.add_many("TopK", x, g.constant([3]), outputs=2, **settings)
    values = g.add("Cast", values, to=narrow)
    return g.model(values, places, opset=opset, dtypes={values: narrow, places: T.INT64})


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(
    ("narrow", "wide", "dims", "settings"),
    [
        (T.FLOAT, T.DOUBLE, ["N", 40], {}),
        (T.FLOAT16, T.FLOAT, [3, 9, "L"], {"axis": 1, "largest": 0}),
        (T.INT32, T.INT64, [50, 2], {"axis": -2, "sorted": 1}),
    ],
)
def test_the_greatest_of_a_type(
    narrow: int, wide: int, dims: Dims, settings: dict[str, int], opset: int
) -> None:
    model = _greatest(narrow, wide, dims, opset, **settings)
    assert check_settled(model) == Counter(TopK=1)
    assert outcome(model, "ascend").counts == Counter(TopK=1)


@pytest.mark.parametrize(("narrow", "wide"), [(T.DOUBLE, T.FLOAT), (T.INT32, T.FLOAT), (T.INT64, T.INT32)])
def test_of_rounded_numbers_stay(narrow: int, wide: int) -> None:
    check_untouched(_greatest(narrow, wide, ["N", 8]))


def test_places_alone_and_a_count_that_is_computed() -> None:
    g = Graph(x=["N", 9])
    x = g.add("Cast", "x", to=T.DOUBLE)
    count = g.add("Reshape", g.input("k", [], T.INT64), g.constant([1]))
    known, other = (g.add_many("TopK", x, k, outputs=2)[1] for k in (g.constant([2]), count))
    found = outcome(g.model(known, other, dtypes=dict.fromkeys((known, other), T.INT64)))
    assert found.counts == Counter(TopK=2, Cast=1, Reshape=1)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_the_element_that_is_chosen_is_an_extreme(kind: str, opset: int) -> None:
    g = Graph(x=["N", 6])
    model = g.model(g.add("GatherElements", "x", g.add(kind, "x", axis=-1), axis=1), opset=opset)
    assert optimized(model) == {kind.replace("Arg", "Reduce"): 1}


def test_the_element_of_another_tensor_stays() -> None:
    g = Graph(x=[3, 6], y=[3, 6])
    model = g.model(g.add("GatherElements", "y", g.add("ArgMax", "x", axis=1), axis=1))
    assert optimized(model) == {"ArgMax": 1, "GatherElements": 1}
