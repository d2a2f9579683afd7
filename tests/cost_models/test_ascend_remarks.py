"""What is guessed under `ascend` is told: operators, types and shapes that are not known, and assumptions."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_measured import MEASURED
from egraph_opt.cost_models.ascend_remarks import is_known
from egraph_opt.facts.fact import UNKNOWN, Fact

ASCEND = Ascend()

X = Fact(1, (2, 24, 8, 8))


def view(op: str, *inputs: Fact | None, domain: str = "", output: Fact | None = None) -> NodeView:
    return NodeView(op, domain, {}, inputs or (X,), (output or (inputs[0] if inputs else X) or X,))


def test_nothing_is_told_of_what_is_known() -> None:
    known = [
        view("Conv"),
        view("Softmax"),
        view("Cast"),
        view("Reshape"),
        view("FusedCube", domain="egraph_opt.pseudo"),
    ]
    assert not Ascend().remarks(known)


def test_operators_that_nobody_knows_are_told_once_each() -> None:
    views = [view("Resample", domain="com.acme"), view("Resample", domain="com.acme"), view("MaxRoiPool")]
    (told,) = Ascend().remarks([*views, view("Relu")])
    assert "does not know" in told
    assert told.endswith(": MaxRoiPool, com.acme.Resample")


def test_of_many_operators_some_are_named() -> None:
    (told,) = Ascend().remarks([view(f"Op{k}", domain="a") for k in range(9)])
    assert told.endswith("a.Op0, a.Op1, a.Op2, a.Op3, a.Op4, ...")


def test_an_unknown_operator_is_priced_by_its_elements() -> None:
    small, large = (view("Resample", Fact(1, (n, 1000)), domain="com.acme") for n in (10, 1000))
    assert 0 < Ascend().cost(small) < Ascend().cost(large)


FEW = {"BlackmanWindow", "HammingWindow", "HannWindow", "LinearAttention", "MaxRoiPool", "MelWeightMatrix",
       "NegativeLogLikelihoodLoss", "NonMaxSuppression", "SoftmaxCrossEntropyLoss"}  # fmt: skip


def test_all_operators_of_onnx_are_known_but_for_a_few() -> None:
    names = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    unknown = {name for name in names if not is_known(Ascend().soc, view(name))}
    assert unknown <= FEW


def test_what_is_not_listed_as_measured_is_a_guess() -> None:
    guessed = """Compress CumSum Det DFT DeformConv GRU GridSample LSTM Loop MaxUnpool OneHot RNN
        RandomNormalLike Resize ReverseSequence STFT Unique"""
    assert all(ASCEND.is_unmeasured(view(name)) for name in guessed.split())
    assert ASCEND.is_unmeasured(view("Resample", domain="com.acme"))
    known = "Add Conv Gather Gelu MatMul MaxPool Relu Reshape Shape Softmax Transpose"
    assert not any(ASCEND.is_unmeasured(view(name)) for name in known.split())


def test_operators_are_measured_in_one_source_each() -> None:
    names = [name for listed in MEASURED.values() for name in sorted(listed)]
    assert len(set(names)) == len(names)
    assert set(names) <= {schema.name for schema in onnx.defs.get_all_schemas()}
    assert not set(names) & set(ASCEND.soc.vector_steps) - {"ArgMax", "ArgMin", "Cast", "CastLike"}


def test_a_report_has_the_share_of_what_nobody_knows_or_measured() -> None:
    resampled = helper.make_node("Resample", ["x"], ["y"], domain="com.acme")
    assert any("Resample rests on no measurement: 100%" in text for text in warnings_of(resampled))


@pytest.mark.parametrize(
    ("soc", "dtype", "told"),
    [
        ("310p3", TensorProto.BFLOAT16, "no kernels for bfloat16, priced as float16: Add"),
        ("910b4", TensorProto.BFLOAT16, ""),
        ("310p3", TensorProto.FLOAT8E4M3FN, "no kernels for float8e4m3fn, priced on the AI CPU: Add"),
        ("910b4", TensorProto.INT4, "no kernels for int4, priced on the AI CPU: Add"),
        ("310p3", TensorProto.INT8, ""),
    ],
)
def test_types_without_kernels_are_told(soc: str, dtype: int, told: str) -> None:
    x = Fact(dtype, (4, 4))
    remarks = Ascend(soc).remarks([view("Add", x, x), view("Reshape", x)])
    assert len(remarks) == bool(told)
    assert all(told in remark for remark in remarks)


def test_shapes_that_are_not_known_are_told() -> None:
    odd = view("Relu", Fact(1, (None, 4)))
    (told,) = Ascend().remarks([odd, view("Relu"), view("Shape", UNKNOWN)])
    assert told == "1 of 2 prices are of shapes that are not known, a dim of which counts as 1: Relu"


def test_sizes_that_data_decide_are_told() -> None:
    """What follows a NonZero is priced at the size that a run of the original shows."""
    indices = Fact(7, (2, 4096))
    (told,) = ASCEND.remarks(
        [view("NonZero", output=indices), view("NonZero", X, output=indices), view("Relu")]
    )
    assert "depends on data" in told
    assert told.endswith(": NonZero [2, 4096]")


def test_outputs_that_nobody_uses_are_no_unknown_shapes() -> None:
    assert not Ascend().remarks([NodeView("TopK", "", {}, (X, None), (UNKNOWN, X))])


@pytest.mark.parametrize(
    ("soc", "told"), [("910c", True), ("Ascend910C", True), ("910b4", False), ("310p3", False)]
)
def test_a_chip_whose_name_is_guessed_says_so(soc: str, told: bool) -> None:
    remarks = Ascend(soc).remarks([view("Relu")])
    assert any("is a guess" in text and "Ascend910_9392" in text for text in remarks) == told


# ---- in reports


def warnings_of(*nodes: onnx.NodeProto, dtype: int = TensorProto.FLOAT, soc: str = "310p3") -> list[str]:
    given, made = (helper.make_tensor_value_info(name, dtype, [4, 4]) for name in ("x", "y"))
    graph = helper.make_graph(list(nodes), "g", [given], [made])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return list(optimize(proto, cost=f"ascend:{soc}", verify=False).report.warnings)


def test_a_report_tells_operators_that_nobody_knows() -> None:
    nodes = (
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Resample", ["r"], ["y"], domain="com.acme"),
    )
    assert any("does not know" in text and "com.acme.Resample" in text for text in warnings_of(*nodes))


def test_a_report_tells_types_without_kernels() -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    assert any("bfloat16" in text for text in warnings_of(node, dtype=TensorProto.BFLOAT16))
    assert not any("kernels" in text for text in warnings_of(node, dtype=TensorProto.BFLOAT16, soc="910b1"))
    assert not any("kernels" in text for text in warnings_of(node))


def test_a_report_tells_sizes_that_data_decide() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["n"]),
        helper.make_node("Transpose", ["n"], ["t"]),
        helper.make_node("Cast", ["t"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["c"], ["s"]),
        helper.make_node("Add", ["x", "s"], ["y"]),
    ]
    assert any("depends on data" in text and "NonZero [2, 16]" in text for text in warnings_of(*nodes))
