"""Knowledge base 13, TypeCast: int64 that ranges prove to be int32 is computed in int32, casts around it."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from egraph_opt import optimize
from egraph_opt.cost_models.ascend import Ascend

from .graphs import OPSETS, Graph, check_settled, check_untouched, outcome

INT64, INT32, BOOL, DOUBLE, FLOAT = (
    *(TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL),
    *(TensorProto.DOUBLE, TensorProto.FLOAT),
)
ON_AI_CPU = frozenset(
    "Abs Add CumSum Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Neg ReduceMax ReduceMin"
    " ReduceSum Sign Sub".split()
)
"""Arithmetic on integers."""

LACKING = Ascend(aicore_types=[], aicpu_rules=[{"ops": [*sorted(ON_AI_CPU), "MatMul"], "dtypes": ["int64"]}])
"""A chip whose AI cores compute nothing in int64; 310P3 lacks some of it."""

VOCABULARY = {"ids": (0, 30522)}


def in_type(model: onnx.ModelProto, dtype: int) -> list[str]:
    """The arithmetic that reads elements of a type."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    graph = inferred.graph
    types = {v.name: v.type.tensor_type.elem_type for v in (*graph.value_info, *graph.input, *graph.output)}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    return [n.op_type for n in graph.node if n.op_type in ON_AI_CPU and types[n.input[0]] == dtype]


def run(model: onnx.ModelProto, **feeds: np.ndarray) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def embedding(opset: int = 17, dims=("N", 20)) -> onnx.ModelProto:
    """Token ids that are moved by 2, but for those of padding, and looked up."""
    g = Graph()
    ids = g.input("ids", list(dims), INT64)
    is_padding = g.add("Equal", ids, g.constant(1))
    moved = g.add("Add", ids, g.constant(2))
    chosen = g.add("Where", is_padding, g.constant(1), moved)
    return g.model(g.add("Gather", g.weight(30525, 4), chosen), opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
def test_token_ids_within_a_vocabulary_are_computed_in_int32(opset: int) -> None:
    model = embedding(opset)
    counts = check_settled(model, LACKING, assume=VOCABULARY)
    assert counts == {"Cast": 1, "Equal": 1, "Add": 1, "Where": 1, "Gather": 1}
    result = outcome(model, LACKING, assume=VOCABULARY)
    assert sorted(in_type(result.model, INT32)) == ["Add", "Equal"]
    assert in_type(result.model, INT64) == []


@pytest.mark.parametrize("dims", [(), (7,), ("N", 7), (2, 3, "L"), ("N", 2, 3, 4)])
def test_of_every_rank(dims) -> None:
    result = outcome(embedding(dims=dims), LACKING, assume=VOCABULARY)
    assert in_type(result.model, INT64) == []


@pytest.mark.parametrize("target", ["nodes", "flops", "bytes"])
def test_no_other_target_wants_it(target: str) -> None:
    check_untouched(embedding(), target, assume=VOCABULARY)


def test_without_an_assumption_only_what_is_looked_up_is_narrow() -> None:
    """Ids may be any number, but an index of 30525 rows has lower bits only."""
    result = outcome(embedding(), LACKING)
    assert in_type(result.model, INT64) == ["Equal"]
    assert in_type(result.model, INT32) == ["Add"]


def test_where_ai_cores_compute_in_int64_nothing_is_cast() -> None:
    """Equal and Add do on 310P3, and the index is looked up as it is."""
    check_untouched(embedding(), "ascend", assume=VOCABULARY)


def positions(opset: int = 17, *, looked_up: bool = True) -> onnx.ModelProto:
    """Position ids of sequences of any length, counted where there is no padding."""
    g = Graph()
    ids = g.input("ids", ["N", "L"], INT64)
    mask = g.add("Cast", g.add("Not", g.add("Equal", ids, g.constant(1))), to=INT64)
    counted = g.add("Mul", g.add("CumSum", mask, g.constant(1)), mask)
    y = g.add("Add", counted, g.constant(1))
    if looked_up:
        return g.model(g.add("Gather", g.weight(514, 4), y), opset=opset)
    return g.model(y, opset=opset, dtypes={y: INT64})


@pytest.mark.parametrize("opset", OPSETS)
def test_positions_of_any_length_are_counted_in_int32(opset: int) -> None:
    model = positions(opset)
    result = outcome(model, LACKING)
    assert in_type(result.model, INT64) == ["Equal"]
    assert result.report.cost.before > 410 and result.report.cost.after < 114
    check_settled(model, LACKING)


def test_only_what_ai_cores_lack_in_int64_asks_for_int32() -> None:
    """CumSum on 310P3: the truth values are cast to int32 at once, and what follows is int32 as well."""
    result = outcome(positions(), "ascend")
    assert in_type(result.model, INT64) == ["Equal"]
    assert result.report.cost.before > 100 and result.report.cost.after < 25


def test_positions_that_are_an_output_ask_for_a_longest_sequence() -> None:
    model = positions(looked_up=False)
    check_untouched(model, LACKING)
    result = outcome(model, LACKING, assume={"L": (1, 512)})
    assert in_type(result.model, INT64) == ["Equal"]


def test_products_of_bounded_matrices_are_computed_in_int32() -> None:
    g = Graph()
    x = g.add("Cast", g.input("x", ["N", 16], TensorProto.INT8), to=INT64)
    y = g.add("MatMul", x, g.constant(np.arange(64).reshape(16, 4) - 30))
    model = g.model(y, dtypes={y: INT64})
    result = outcome(model, LACKING)
    assert result.report.cost.before > 202 and result.report.cost.after < 107
    check_settled(model, LACKING)


@pytest.mark.parametrize(("most", "narrow"), [(1000, True), (2**20, False)])
def test_products_of_matrices_fit_or_stay(most: int, narrow: bool) -> None:
    g = Graph()
    x, y = g.input("x", [2, "N", 16], INT64), g.input("y", [16, 3], INT64)
    z = g.add("MatMul", x, y)
    result = outcome(g.model(z, dtypes={z: INT64}), LACKING, assume={"x": (-most, most), "y": (0, most)})
    assert (result.report.cost.after < 12) == narrow


def test_who_asks_for_it_by_name_gets_it_without_a_proof() -> None:
    result = outcome(embedding(), LACKING, rewrites=["default", "assume"])
    assert in_type(result.model, INT64) == []
    assert {law.ruleset for law in result.report.rewrites if law.used} >= {"assume"}
    assert any("assume.assume_narrow took for granted" in warning for warning in result.report.warnings)
    check_untouched(embedding(), "nodes", rewrites=["default", "assume"])


def test_the_ends_of_the_range_give_the_same_bits() -> None:
    g = Graph()
    ids = g.input("ids", [3, 4], INT64)
    y = g.add("Mul", g.add("Sub", ids, g.constant(5)), ids)
    y = g.add("Mod", g.add("Div", y, g.constant(-7)), g.constant(1000))
    total = g.add("ReduceSum", y, g.constant([1]), keepdims=0)
    model = g.model(y, total, dtypes={y: INT64, total: INT64})
    ends = {"ids": (-30_000, 30_000)}
    result = outcome(model, LACKING, assume=ends)
    assert in_type(result.model, INT64) == []
    for fill in (-30_000, 30_000, 0):
        feeds = np.full((3, 4), fill)
        feeds[0] = [-30_000, 30_000, 1, -1]
        for a, b in zip(run(model, ids=feeds), run(result.model, ids=feeds), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype == np.int64


SOURCES = {
    "truth values": lambda g: g.add("Cast", g.input("m", ["N", 8], BOOL), to=INT64),
    "bytes": lambda g: g.add("Cast", g.input("m", ["N", 8], TensorProto.UINT8), to=INT64),
    "narrow before": lambda g: g.add("Cast", g.input("m", ["N", 8], TensorProto.INT16), to=INT64),
    "positions of the greatest": lambda g: g.add("ArgMax", g.input("m", ["N", 8, 9]), axis=2, keepdims=0),
    "clipped": lambda g: g.add("Clip", g.input("m", ["N", 8], INT64), g.constant(-100), g.constant(100)),
    "looked up": lambda g: g.add("Gather", g.constant(np.arange(400)), g.input("m", ["N", 8], INT64)),
    "a remainder": lambda g: g.add("Mod", g.input("m", ["N", 8], INT64), g.constant(50)),
    "positions of what is not zero": lambda g: g.add(
        "Slice", g.add("NonZero", g.input("m", [4, 8])), *(g.constant([n]) for n in (0, 8, 1))
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_proves_a_range_by_itself(source: str) -> None:
    g = Graph()
    x = SOURCES[source](g)
    y = g.add("Sub", g.add("Mul", x, g.constant(3)), x)
    model = g.model(g.add("Cast", y, to=FLOAT))
    result = outcome(model, LACKING)
    if source == "looked up":  # all of it is another table
        assert result.counts == {"Gather": 1}
        return
    assert set(in_type(result.model, INT64)) <= {"Mod"} - ({"Mod"} if source != "a remainder" else set())
    assert "Sub" in in_type(result.model, INT32)


def test_a_narrow_value_is_not_cast_to_and_fro() -> None:
    """The int32 input is computed with as it is."""
    g = Graph()
    x = g.add("Cast", g.input("x", ["N", 8], TensorProto.INT16), to=INT64)
    y = g.add("Transpose", g.add("Add", x, g.constant(3)), perm=[1, 0])
    y = g.add("Concat", y, g.add("Neg", y), axis=0)
    model = g.model(g.add("Cast", g.add("Mul", y, y), to=INT32), dtypes={"v6_0": INT32})
    counts = check_settled(model, LACKING)
    assert counts["Cast"] == 1
    assert in_type(outcome(model, LACKING).model, INT64) == []


def test_casts_stand_at_the_borders_of_inputs_and_outputs() -> None:
    g = Graph()
    x, y = g.input("ids", ["N", 4], INT64), g.input("more", ["N", 4], INT64)
    total = g.add("Add", x, y)
    twice = g.add("Add", total, total)
    less = g.add("Less", twice, x)
    model = g.model(total, twice, less, dtypes={total: INT64, twice: INT64, less: BOOL})
    assume = {"ids": (-1000, 1000), "more": (0, 5)}
    counts = check_settled(model, LACKING, assume=assume)
    assert counts == {"Add": 2, "Less": 1, "Cast": 4}
    names = [v.name for v in outcome(model, LACKING, assume=assume).model.graph.output]
    assert names == [total, twice, less]


def test_a_shape_that_is_computed_goes_back_to_int64() -> None:
    g = Graph(x=["N", 12])
    n = g.input("n", [1], INT64)
    rows = g.add("Mul", n, g.constant([2]))
    y = g.add("Reshape", "x", g.add("Concat", rows, g.constant([-1]), axis=0))
    result = outcome(g.model(y), LACKING, assume={"n": (1, 3), "N": (6, 6)})
    assert in_type(result.model, INT64) == []
    assert result.counts["Reshape"] == 1


def test_shapes_of_bounded_dims_are_proved_too() -> None:
    g = Graph(x=["N", "L"])
    dims = g.add("Shape", "x")
    wide = g.add("Mul", dims, g.input("k", [2], INT64))
    model = g.model(wide, dtypes={wide: INT64})
    bounded = {"N": (1, 8), "L": (1, 512), "k": (0, 100)}
    assert in_type(outcome(model, LACKING, assume=bounded).model, INT32) == ["Mul"]
    check_untouched(model, LACKING, assume={"k": (0, 100)})


@pytest.mark.parametrize("opset", OPSETS)
def test_positions_counted_by_cumsum(opset: int) -> None:
    """Position ids of padded sequences, as in RoBERTa."""
    g = Graph()
    mask = g.add("Cast", g.input("mask", ["N", 16], BOOL), to=INT64)
    positions = g.add("Mul", g.add("CumSum", mask, g.constant(1)), mask)
    y = g.add("Gather", g.weight(20, 4), g.add("Add", positions, g.constant(1)))
    model = g.model(y, opset=opset)
    result = outcome(model, LACKING)
    assert in_type(result.model, INT64) == []
    assert result.counts["CumSum"] == 1 and result.counts["Cast"] == 1
    check_settled(model, LACKING)


REFUSED = {
    "a product beyond int32": lambda g, x: g.add("Mul", x, g.constant(100_000)),
    "a constant beyond int32": lambda g, x: g.add("Add", x, g.constant(2**31)),
    "a sum of who knows how many": lambda g, x: g.add("ReduceSum", x, g.constant([0]), keepdims=0),
    "another input that may be any number": lambda g, x: g.add("Add", x, g.input("z", [4], INT64)),
    "floats rounded": lambda g, x: g.add(
        "Add", g.add("Cast", g.input("f", ["N", 4]), to=INT64), g.constant(1)
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_proved_stays(why: str) -> None:
    g = Graph()
    x = g.input("ids", ["N", 4], INT64)
    y = REFUSED[why](g, x)
    result = outcome(g.model(y, dtypes={y: INT64}), LACKING, assume={"ids": (0, 100_000)})
    assert in_type(result.model, INT32) == []


# --- float64 -----------------------------------------------------------------------------------------------


def doubles(opset: int = 17) -> onnx.ModelProto:
    g = Graph()
    x = g.add("Cast", g.input("x", ["N", 8]), to=DOUBLE)
    y = g.add("Mul", g.add("Add", x, g.constant(np.full(8, 0.5), np.float64)), x)
    y = g.add("Softmax", g.add("Transpose", g.add("Tanh", y), perm=[1, 0]), axis=1)
    return g.model(g.add("Cast", y, to=FLOAT), opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
def test_float64_is_computed_in_float32_by_who_asks_for_it(opset: int) -> None:
    result = optimize(doubles(opset), "ascend", rewrites=["default", "approximate"], strict=True)
    assert result.report.verification.status in ("passed", "approximate")
    assert result.report.verification.max_abs_error < 1e-5
    inferred = onnx.shape_inference.infer_shapes(result.model)
    assert DOUBLE not in {v.type.tensor_type.elem_type for v in inferred.graph.value_info}
    assert "Cast" not in {node.op_type for node in result.model.graph.node}
    assert result.report.cost.after < result.report.cost.before / 10


@pytest.mark.parametrize("target", ["ascend", "nodes"])
def test_float64_stays_where_nobody_asks(target: str) -> None:
    result = outcome(doubles(), target)
    values = onnx.shape_inference.infer_shapes(result.model).graph.value_info
    assert DOUBLE in {value.type.tensor_type.elem_type for value in values}
