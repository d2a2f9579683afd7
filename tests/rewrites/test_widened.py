"""What chooses among numbers, or changes their signs, is computed in the type before a cast that widens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from tests.knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, outcome

WIDE: dict[int, type] = {T.DOUBLE: np.float64, T.FLOAT: np.float32}
NARROW: dict[type, int] = {np.float64: T.FLOAT, np.float32: T.FLOAT16}


def _reduced(kind: str) -> Callable[[Graph, str, int, type], str]:
    return lambda g, x, opset, _: (
        g.add(kind, x, axes=[-1]) if opset < 18 else g.add(kind, x, g.constant([-1]))
    )


def _plain(op: str) -> Callable[[Graph, str, int, type], str]:
    return lambda g, x, opset, wide: g.add(op, x)


def _beside(op: str, *, first: bool = False) -> Callable[[Graph, str, int, type], str]:
    def made(g: Graph, x: str, opset: int, wide: type) -> str:
        c = g.constant([0.5, -2.0, 0.0, np.inf], wide)
        return g.add(op, *((c, x) if first else (x, c)))

    return made


def _pair(op: str) -> Callable[[Graph, str, int, type], str]:
    def made(g: Graph, x: str, opset: int, wide: type) -> str:
        of = NARROW[wide]
        return g.add(op, x, g.add("Cast", g.input("y", [4], of), to={v: k for k, v in WIDE.items()}[wide]))

    return made


def _clipped(g: Graph, x: str, opset: int, wide: type) -> str:
    return g.add("Clip", x, g.constant(-1.0, wide), g.constant(2.0, wide))


FORMS = {op: _plain(op) for op in ("Relu", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round")}
FORMS |= {"Clip": _clipped, "ReduceMax": _reduced("ReduceMax"), "ReduceMin": _reduced("ReduceMin")}
FORMS |= {"Max": _beside("Max"), "Min": _beside("Min", first=True), "Max of two": _pair("Max")}


def _through(
    form: str, narrow: int = T.FLOAT, wide: int = T.DOUBLE, opset: int = 17, dims: Dims = ("N", 4)
) -> onnx.ModelProto:
    g = Graph()
    y = FORMS[form](g, g.add("Cast", g.input("x", dims, narrow), to=wide), opset, WIDE[wide])
    y = g.add("Cast", y, to=narrow)
    return g.model(y, opset=opset, dtypes={y: narrow})


@pytest.mark.parametrize("form", FORMS)
def test_no_cast_is_left(form: str) -> None:
    result = outcome(_through(form), "ascend")
    assert result.counts.total() == 1 and "Cast" not in result.counts
    assert result.report.cost.before > 300 and result.report.cost.after < 2.1


@pytest.mark.parametrize(("opset", "dims"), [(11, (4,)), (13, (2, "N", 4)), (21, ("N", "L", 3, 4))])
@pytest.mark.parametrize("form", ["Relu", "ReduceMin", "Max of two"])
def test_of_every_opset_and_rank(form: str, opset: int, dims: Dims) -> None:
    assert "Cast" not in outcome(_through(form, opset=opset, dims=dims), "ascend").counts


@pytest.mark.parametrize("opset", [12, 13, 21])  # before, Clip takes no double
def test_clips_of_every_opset(opset: int) -> None:
    assert "Cast" not in outcome(_through("Clip", opset=opset), "ascend").counts


@pytest.mark.parametrize("form", ["Floor", "ReduceMax", "Max of two"])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_half_precision_stays_half(form: str, cost: str) -> None:
    model = _through(form, T.FLOAT16, T.FLOAT)
    if cost == "nodes":
        assert check_settled(model).total() == 1
    else:
        result = outcome(model, cost)
        assert result.report.cost.after <= result.report.cost.before * (1 + 1e-9)


def test_a_chain_of_all_is_computed_in_float32() -> None:
    g = Graph()
    x, y = (g.add("Cast", g.input(name, ["N", 8]), to=T.DOUBLE) for name in "xy")
    larger = g.add("Max", g.add("Relu", x), g.add("Abs", y), g.constant(0.25, np.float64))
    below = g.add("Less", larger, g.constant(2.0, np.float64))
    chosen = g.add("Where", below, g.add("Neg", larger), g.constant(-1.0, np.float64))
    best = g.add("ArgMax", chosen, axis=1)
    z = g.add("Cast", g.add("Floor", chosen), to=T.FLOAT)
    model = g.model(z, best, dtypes={best: T.INT64})
    result = outcome(model, "ascend")
    assert "Cast" not in result.counts
    # An ArgMax has int64 for its result, which the AI CPU computes.
    assert result.report.cost.after < 120
    check_settled(model, "ascend")


def test_pooling_of_a_widened_image() -> None:
    g = Graph()
    wide = g.add("Cast", g.input("x", [1, 3, 8, 8], T.FLOAT16), to=T.FLOAT)
    y = g.add("Cast", g.add("MaxPool", wide, kernel_shape=[2, 2], strides=[2, 2]), to=T.FLOAT16)
    assert check_settled(g.model(y, dtypes={y: T.FLOAT16})) == {"MaxPool": 1}


@pytest.mark.parametrize(
    ("op", "constant"), [("Max", 0.1), ("Min", 1e300), ("Add", 0.5), ("Mul", 2.0)], ids=str
)
def test_what_float32_has_not_stays_double(op: str, constant: float) -> None:
    g = Graph()
    wide = g.add("Cast", g.input("x", ["N", 4]), to=T.DOUBLE)
    y = g.add("Cast", g.add(op, wide, g.constant(np.full(4, constant), np.float64)), to=T.FLOAT)
    result = outcome(g.model(y), "ascend")
    assert result.report.cost.after > 200


def test_a_cast_that_rounds_stays() -> None:
    g = Graph()
    rounded = g.add("Cast", g.input("x", ["N", 4]), to=T.FLOAT16)
    y = g.add("Cast", g.add("Sign", rounded), to=T.FLOAT)
    check_untouched(g.model(y))
