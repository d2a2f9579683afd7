"""The AI cores of an Ascend chip take the types that Huawei's own lists name, and the AI CPU the others."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import TensorProto as T

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import SUMS, socs
from egraph_opt.facts.fact import Fact

from ..knowledge_bases.graphs import Graph

CHIPS = {soc: Ascend(soc) for soc in socs()}
ASCEND = CHIPS["310p3"]
SAME = ("Abs", "Add", "CumSum", "Div", "Max", "Min", "Mod", "Mul", "Neg", "Pow", "Sign", "Sub")


def node(op: str, dtype: int, *, made: int | None = None, side: int = 16) -> NodeView:
    """An operator on square matrices of a type, with a result of the type that ONNX says."""
    x, axis = Fact(dtype, (side, side)), Fact(T.INT64, (1,), const=True, value=(1,))
    inputs: tuple[Fact, ...] = (x, x)
    made = dtype if made is None and op in SAME else made
    if op.startswith(("Arg", "Reduce", "NonZero", "Cast", "TopK", "CumSum")):
        inputs = (x, axis) if op in ("TopK", "CumSum", "ReduceSum") else (x,)
    elif op in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"):
        made = T.BOOL
    kept = Fact(T.INT64 if op.startswith(("Arg", "NonZero")) else dtype if made is None else made, x.shape)
    return NodeView(op, "", {"axes": (1,), "axis": 1}, inputs, (kept,))


def falls(model: Ascend, op: str, dtype: int, **how: Any) -> bool:
    return model.cost(node(op, dtype, **how)) > model.soc.fixed_aicpu_us


ON_CORES = {
    "310p3": "Add Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul ReduceProd ReduceSum Sub",
    "910a": "Add ArgMax ArgMin Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul ReduceProd Sub",
    "910b4": "Abs Add ArgMax ArgMin Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Neg ReduceMax"
    " ReduceMin ReduceProd ReduceSum Sub",
}
"""Of the operators that have a list those that take int64."""


@pytest.mark.parametrize("soc", ON_CORES)
def test_int64_runs_on_ai_cores_where_the_list_of_the_family_has_it(soc: str) -> None:
    model = CHIPS[soc]
    found = {op for op in set(model.soc.types) - set(SUMS) if not falls(model, op, T.INT64)}
    assert found == set(ON_CORES[soc].split())


@pytest.mark.parametrize("soc", CHIPS)
def test_floats_run_on_ai_cores(soc: str) -> None:
    model = CHIPS[soc]
    there = {op for op in model.soc.types if falls(model, op, T.FLOAT)}
    assert there == (set() if model.soc.family == "910b" else {"NonZero"})


@pytest.mark.parametrize("soc", CHIPS)
def test_double_runs_on_the_ai_cpu(soc: str) -> None:
    model = CHIPS[soc]
    assert all(falls(model, op, T.DOUBLE) for op in (*model.soc.types, "Relu", "Softmax", "Where"))


@pytest.mark.parametrize(
    ("op", "dtype"), [("ReduceSum", T.INT32), ("ReduceProd", T.INT32), ("TopK", T.INT32)]
)
def test_int32_is_no_refuge_for_what_ai_cores_take_in_int64_only_or_not_at_all(op: str, dtype: int) -> None:
    assert falls(ASCEND, op, dtype)


def test_an_index_is_no_reason_for_the_ai_cpu() -> None:
    """ArgMax, TopK and NonZero have results of int64 whatever they read."""
    assert not falls(ASCEND, "ArgMax", T.FLOAT)
    assert not falls(ASCEND, "TopK", T.FLOAT)
    assert not falls(CHIPS["910b1"], "NonZero", T.FLOAT)
    assert falls(CHIPS["910b1"], "NonZero", T.INT64)


def test_a_choice_runs_where_its_branches_do() -> None:
    condition, x, d = (Fact(dtype, (64, 64)) for dtype in (T.BOOL, T.INT64, T.DOUBLE))
    assert ASCEND.cost(NodeView("Where", "", {}, (condition, x, x), (x,))) < 10
    assert ASCEND.cost(NodeView("Where", "", {}, (condition, d, d), (d,))) > 100


@pytest.mark.parametrize(
    ("soc", "read", "made", "there"),
    [
        ("310p3", T.INT64, T.INT32, False),
        ("310p3", T.INT64, T.FLOAT, False),
        ("310p3", T.FLOAT, T.INT64, True),
        ("910b1", T.FLOAT, T.INT64, False),
        ("310p3", T.FLOAT, T.INT16, False),
        ("910a", T.FLOAT, T.INT16, True),
        ("310", T.UINT8, T.FLOAT, False),
        ("310", T.UINT32, T.INT64, True),
        ("910c", T.UINT32, T.INT64, False),
        ("910c", T.DOUBLE, T.FLOAT, True),
    ],
)
def test_a_cast_runs_on_ai_cores_where_its_pair_is_listed(
    soc: str, read: int, made: int, there: bool
) -> None:
    assert falls(CHIPS[soc], "Cast", read, made=made) == there


@pytest.mark.parametrize(("side", "ratio"), [(8, 1.0), (512, 2.0)])
def test_int64_costs_what_its_bytes_cost(side: int, ratio: float) -> None:
    """A launch where it is small, twice the bytes of int32 where it is large."""
    narrow, wide = (ASCEND.cost(node("Add", dtype, side=side)) for dtype in (T.INT32, T.INT64))
    launch = ASCEND.soc.fixed_vector_us if side > 8 else 0.0
    assert wide - launch == pytest.approx(ratio * (narrow - launch), rel=0.01)


def test_ids_are_computed_in_int64_and_nothing_is_cast() -> None:
    g = Graph()
    ids = g.add("Clip", g.input("ids", [128], T.INT64), g.constant(0), g.constant(30_000))
    y = g.add("Add", g.add("Mul", ids, g.constant(2)), g.constant(3))
    result = optimize(g.model(y, dtypes={y: T.INT64}), cost="ascend")
    assert sorted(n.op_type for n in result.model.graph.node) == ["Add", "Clip", "Mul"]
    assert result.report.cost.after == result.report.cost.before < 10


def test_a_chip_that_no_list_names_takes_those_for_all_and_says_so() -> None:
    integers, floats = node("Add", T.INT64), node("Add", T.FLOAT)
    (told,) = CHIPS["310b1"].remarks([integers, floats])
    assert "names the chip" in told and told.endswith("910A's: Add")
    assert not CHIPS["310b1"].remarks([floats])
    assert not any(CHIPS[soc].remarks([integers]) for soc in ON_CORES)


@pytest.mark.parametrize("soc", ["310p3", "310", "910a", "910b3"])
@pytest.mark.parametrize("dtype", [T.INT32, T.INT64, T.FLOAT])
def test_reductions_that_are_sums_run_where_sums_do(soc: str, dtype: int) -> None:
    """On 310P3 ReduceSum of int32 was 166.8 us, on the AI CPU, and ReduceL1 2.9."""
    model, x, y = Ascend(soc), Fact(dtype, (256, 256)), Fact(dtype, (256, 1))
    slow = {
        op: model.cost(NodeView(op, "", {"axes": (1,)}, (x,), (y,))) > model.soc.fixed_aicpu_us
        for op in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
    }
    assert set(slow.values()) == {slow["ReduceSum"]}
