"""Intervals of floats: what onnxruntime computes of odd numbers lies within them, NaN where it is said."""

import math

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from egraph_opt.facts.fact import Fact, meet
from egraph_opt.inference import infer_node
from egraph_opt.inference.float_ranges import ANY, INTERVALS, confined, interval_of
from egraph_opt.inference.ranges import range_of

FLOAT, FLOAT16, BOOL, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.INT64
INFINITY = math.inf
SHAPE = (1, 2, 4, 4)
GIVEN = (
    ANY,
    (-INFINITY, INFINITY, False),
    (0.0, INFINITY, False),
    (0.0, 1.0, True),
    (-1.0, 1.0, False),
    (0.5, 4.0, False),
    (-4.0, -0.5, True),
    (-INFINITY, -2.0, False),
    (-1e-3, 1e4, False),
)
ODD = (0.0, -0.0, 1e-7, 1e-3, 0.3, 0.5, 0.9999, 1.0, 1.5, 2.0, 3.7, 100.0, 2e4, 6e4, INFINITY)
ATTRIBUTES = {
    "Elu": ({"alpha": 1.0}, {"alpha": 0.3}),
    "HardSigmoid": ({}, {"alpha": -0.5, "beta": 2.0}),
    "ReduceMean": ({"axes": [1, 3]},),
    "ReduceMax": ({"axes": [2]},),
    "ReduceMin": ({"axes": [2]},),
    "Transpose": ({"perm": [0, 1, 3, 2]},),
    "Flatten": ({},),
    "Concat": ({"axis": 1},),
    "DepthToSpace": ({"blocksize": 1},),
    "SpaceToDepth": ({"blocksize": 2},),
    "Softmax": ({"axis": 1},),
    "LogSoftmax": ({"axis": 3},),
    "Split": ({"axis": 3},),
    "Cast": ({"to": FLOAT16}, {"to": INT64}, {"to": FLOAT}),
}
TWO = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Concat", "Less", "LessOrEqual", "Greater", "Equal")
OTHERS = frozenset(
    """CastLike Clip DequantizeLinear Expand Gather GatherElements GatherND Pad Reshape
    Slice Split Squeeze Tile Unsqueeze Where""".split()
)
ONE = sorted((set(INTERVALS) | {"IsNaN", "IsInf"}) - set(TWO) - OTHERS)


def numbers(interval, dtype, seed=0):
    low, high, nan = interval
    pool = [v for size in ODD for v in (size, -size) if low <= v <= high] + [low, high] + [math.nan] * nan
    return np.random.default_rng(seed).choice(np.array(pool), SHAPE).astype(dtype)


def fact_of(interval, dtype=FLOAT) -> Fact:
    return confined(Fact(dtype, SHAPE), interval)


def check(op: str, intervals, attributes, dtype=FLOAT) -> None:
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    given = [fact_of(interval, dtype) for interval in intervals]
    settings = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in attributes.items()))
    (fact,) = infer_node(op, "", settings, tuple(given), 1, opset=17)
    names = [f"x{k}" for k in range(len(given))]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "graph",
        [helper.make_tensor_value_info(name, dtype, SHAPE) for name in names],
        [helper.make_tensor_value_info("y", fact.dtype, fact.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for seed in range(3):
        feeds = {
            name: numbers(one, kind, seed + k)
            for k, (name, one) in enumerate(zip(names, intervals, strict=True))
        }
        (seen,) = session.run(None, feeds)
        low, high, nan = interval_of(fact) or (*(range_of(fact) or ANY)[:2], True)
        wrong = np.isnan(seen) if not nan else np.zeros(seen.shape, bool)
        if not any(np.isnan(feed).any() for feed in feeds.values()):
            wrong |= (seen < low) | (seen > high)
        assert not wrong.any(), (fact, seen[wrong], feeds)


@pytest.mark.parametrize("op", ONE)
def test_functions_of_one_operand_stay_within_their_intervals(op: str) -> None:
    for attributes in ATTRIBUTES.get(op, ({},)):
        for interval in GIVEN:
            check(op, [interval], attributes)


@pytest.mark.parametrize("op", TWO)
def test_functions_of_two_operands_stay_within_their_intervals(op: str) -> None:
    for attributes in ATTRIBUTES.get(op, ({},)):
        for a in GIVEN:
            for b in GIVEN[1:7]:
                check(op, [a, b], attributes)


@pytest.mark.parametrize("op", ["Exp", "Sigmoid", "Softmax", "Add", "Mul", "Sqrt"])
def test_of_half_precision_too(op: str) -> None:
    for interval in GIVEN:
        check(op, [interval] * (1 + (op in TWO)), ATTRIBUTES.get(op, ({},))[0], FLOAT16)


def interval(op: str, *operands: Fact, **attributes):
    (fact,) = infer_node(op, "", tuple(sorted(attributes.items())), operands, 1, opset=17)
    return interval_of(fact)


X, UNIT, POSITIVE = Fact(FLOAT, ("N", 3)), fact_of((0.0, 1.0, False)), fact_of((0.0, INFINITY, False))
HALF = Fact(FLOAT, (), const=True, splat=0.5, data=(0.5,))


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        ("Sigmoid", (X,), (0.0, 1.0, True)),
        ("Sigmoid", (UNIT,), (0.0, 1.0, False)),
        ("Exp", (X,), (0.0, INFINITY, True)),
        ("Relu", (X,), (0.0, INFINITY, True)),
        ("Mul", (UNIT, HALF), (0.0, 0.5, False)),
        ("Add", (POSITIVE, HALF), (0.5, INFINITY, False)),
        ("Sqrt", (POSITIVE,), (0.0, INFINITY, False)),
        ("Neg", (POSITIVE,), (-INFINITY, 0.0, False)),
        ("Max", (X, HALF), (0.5, INFINITY, True)),
        ("Div", (HALF, X), None),
        ("Add", (X, HALF), None),
    ],
)
def test_intervals_are_narrow(op: str, operands, expected) -> None:
    assert interval(op, *operands) == expected


def test_what_may_cancel_has_room() -> None:
    """1 - Sigmoid(x) is not said to be positive: another spelling of it may be rounded below 0."""
    one = Fact(FLOAT, (), const=True, splat=1.0, data=(1.0,))
    low, high, _ = interval("Sub", one, UNIT)
    assert -0.05 < low < 0
    assert 1 < high < 1.05


def test_integers_keep_their_ranges_through_floats() -> None:
    """As sizes that are computed by Cast, Mul and Floor do."""
    pixels = Fact(INT64, (2,), range=(0, 4096))
    (real,) = infer_node("Cast", "", (("to", FLOAT),), (pixels,), 1, opset=17)
    (scaled,) = infer_node("Mul", "", (), (real, HALF), 1, opset=17)
    (whole,) = infer_node("Floor", "", (), (scaled,), 1, opset=17)
    (back,) = infer_node("Cast", "", (("to", INT64),), (whole,), 1, opset=17)
    low, high = range_of(back) or (1, 0)
    assert low == 0
    assert 2048 <= high < 2200


def test_intervals_that_contradict_each_other_say_nothing() -> None:
    both = meet(fact_of((0.0, 1.0, False)), fact_of((2.0, 3.0, False)))
    assert both.dtype == FLOAT
    assert interval_of(both) is None
    assert meet(both, UNIT) == meet(UNIT, both) == both
