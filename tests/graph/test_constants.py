"""Constants: the original's in their own type, those of laws rounded once, and none that grows the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.pipeline import Limits, saturate

Arrays = dict[str, np.ndarray[Any, Any]]


def model_of(text: str, *, opset: int = 17, ir_version: int = 8, **arrays: Any) -> ModelProto:
    model = parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> g {text}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items())
    return model


def lowered(model: ModelProto, fold_bytes: int = 2**20) -> Lowered:
    region = saturate(model, rewrites=[], limits=Limits(fold_bytes=fold_bytes)).region
    assert region is not None
    return region.lowered


def folded(model: ModelProto, fold_bytes: int = 2**20) -> Arrays:
    """The values of nodes that are constants after folding, by name."""
    graph = lowered(model, fold_bytes)
    constants = graph.constants.tensors.items()
    return {v.name or "": t.numpy() for v, t in constants if v.producer() is not None}


def computed(model: ModelProto, *names: str) -> list[np.ndarray[Any, Any]]:
    """Values of a model, as onnxruntime computes them without any optimisation of its own."""
    probe = ModelProto.FromString(model.SerializeToString())
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options)
    feeds = {i.name: np.zeros([2, 3], np.float32) for i in session.get_inputs()}
    return session.run(None, feeds)


def left_in(model: ModelProto) -> list[str]:
    return sorted(node.op_type for node in model.graph.node if node.op_type != "Constant")


RNG = np.random.default_rng(0)
CHAINS = [
    pytest.param(np.float32, "a = Exp (p) b = Div (a, q) c = Tanh (b)", id="float32"),
    pytest.param(np.float64, "a = Exp (p) b = Div (a, q) c = Add (b, p)", id="float64"),
    pytest.param(np.float16, "a = Mul (p, q) b = Add (a, p) c = Sub (b, q)", id="float16"),
    pytest.param(np.float32, "a = Cast <to = 10> (p) b = Cast <to = 1> (a) c = Mul (b, b)", id="casts"),
    pytest.param(np.float32, "a = MatMul (p, q) b = Softmax (a) c = ReduceMean <axes = [0]> (b)", id="sums"),
]


@pytest.mark.parametrize(("dtype", "chain"), CHAINS)
def test_constants_of_the_original_are_those_of_the_runtime_bit_for_bit(dtype: Any, chain: str) -> None:
    p, q = (3 * RNG.standard_normal((2, 7, 7)) + 1).astype(dtype)
    model = model_of(f"(float[2, 3] x) => (float[2, 3] y, float c) {{ y = Relu (x) {chain} }}", p=p, q=q)
    model.graph.output[1].type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    (expected,) = computed(model, "c")
    found = folded(model)["c"]
    assert found.dtype == expected.dtype == dtype
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_integers_wrap_as_in_the_runtime(dtype: Any) -> None:
    largest = np.array([np.iinfo(dtype).max, 3], dtype)
    kind = {np.int32: "int32", np.int64: "int64", np.uint8: "uint8"}[dtype]
    text = f"(float[2, 3] x) => (float[2, 3] y, {kind} c) {{ y = Relu (x) a = Add (p, p) c = Mul (a, p) }}"
    model = model_of(text, p=largest)
    with np.errstate(over="ignore"):
        expected = (largest + largest) * largest
    np.testing.assert_array_equal(folded(model)["c"], expected)
    result = optimize(model, "nodes", strict=True)
    assert left_in(result.model) == ["Relu"]


def test_only_constants_that_others_need_are_kept() -> None:
    text = "(float[2, 3] x) => (float[2, 3] y) { a = Exp (p) b = Sqrt (a) y = Add (x, b) }"
    result = optimize(model_of(text, p=np.float32(2)), "nodes", strict=True)
    assert left_in(result.model) == ["Add"]
    (constant,) = [numpy_helper.to_array(t) for t in result.model.graph.initializer]
    assert constant == np.sqrt(np.exp(np.float32(2)))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("a = RandomNormal <shape = [3]> () y = Add (x, a)", id="random"),
        pytest.param("a = RandomUniformLike (p) y = Add (x, a)", id="random-like"),
    ],
)
def test_what_cannot_be_known_stays(body: str) -> None:
    model = model_of(f"(float[2, 3] x) => (float[2, 3] y) {{ {body} }}", p=np.arange(3, dtype=np.float32))
    assert "a" not in folded(model)


def test_a_node_without_a_kernel_does_not_keep_others_from_being_folded() -> None:
    text = """(float[2, 3] x) => (float[2, 3] y, bfloat16[3] z) {
        b = Cast <to = 16> (p) z = Mul (b, b) a = Exp (p) y = Add (x, a) }"""
    p = np.arange(3, dtype=np.float32)
    values = folded(model_of(text, p=p))
    assert "z" not in values
    (expected,) = computed(model_of("(float[2, 3] x) => (float[3] a) { a = Exp (p) }", p=p), "a")
    assert values["a"].tobytes() == expected.tobytes()


@pytest.mark.parametrize(("ir_version", "known"), [(3, True), (8, False)])
def test_defaults_that_a_caller_may_override_are_not_constants(ir_version: int, known: bool) -> None:
    text = "(float[2, 3] x, float[3] p) => (float[2, 3] y) { a = Exp (p) y = Add (x, a) }"
    p = np.arange(3, dtype=np.float32)
    assert ("a" in folded(model_of(text, ir_version=ir_version, p=p))) == known


# --- size ---------------------------------------------------------------------------------------------

TILED = np.arange(250, dtype=np.float32)  # 1000 bytes


def tiles(*repeats: int) -> ModelProto:
    """Constants of 1000 bytes, each repeated some times along a first axis, and added to an input."""
    nodes = "".join(f"t{k} = Tile (p, r{k}) y{k} = Add (x, t{k}) " for k in range(len(repeats)))
    outputs = ", ".join(f"float[N, 250] y{k}" for k in range(len(repeats)))
    given: dict[str, Any] = {f"r{k}": np.array([count, 1], np.int64) for k, count in enumerate(repeats)}
    return model_of(f"(float[N, 250] x) => ({outputs}) {{ {nodes} }}", p=TILED[None], **given)


@pytest.mark.parametrize(("fold_bytes", "names"), [(5_000, []), (9_999, ["t0"]), (60_000, ["t0", "t1"])])
def test_a_constant_that_grows_too_much_stays_a_computation(fold_bytes: int, names: list[str]) -> None:
    assert sorted(folded(tiles(10, 50), fold_bytes)) == names


def test_constants_that_together_grow_too_much_are_folded_as_far_as_there_is_room() -> None:
    assert sorted(folded(tiles(10, 10, 50, 10, 10), 35_000)) == ["t0", "t1", "t3"]


@pytest.mark.parametrize("fold_bytes", [5_000, 25_000, 70_000, 2**20])
def test_the_file_grows_by_no_more_than_was_allowed(fold_bytes: int) -> None:
    model = tiles(10, 20, 30, 5, 6, 7)
    result = optimize(model, "nodes", limits=Limits(fold_bytes=fold_bytes), strict=True)
    before, after = (
        sum(numpy_helper.to_array(t).nbytes for t in m.graph.initializer) for m in (model, result.model)
    )
    assert after - before <= fold_bytes
    assert result.report.verification.status == "passed"


def test_many_equal_elements_stay_one() -> None:
    text = """(float[100, 100] x) => (float[100, 100] y) {
        c = ConstantOfShape <value = float[1] {3.0}> (s) d = Mul (c, c) y = Add (x, d) }"""
    model = model_of(text, s=np.array([100, 100], np.int64))
    assert "d" not in folded(model, 2**20)
    result = optimize(model, "nodes", strict=True).model
    assert len(result.SerializeToString()) < 1000


def test_bytes_of_constants_are_those_of_bodies_too() -> None:
    text = """(bool c, float[3] x) => (float[3] y) {
        k = Constant <value_floats = [1.0, 2.0]> ()
        y = If (c) <
            then_branch = t () => (float[3] a) { b = Constant <value_ints = [1]> () a = Expand (x, b) },
            else_branch = e () => (float[3] d) { d = Add (x, p) }> }"""
    graph = lowered(model_of(text, p=np.arange(3, dtype=np.float32))).graph
    assert constant_bytes(graph) == 2 * 4 + 8 + 3 * 4


# --- constants of laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_constants_of_laws_are_rounded_once(dtype: Any) -> None:
    kind = {np.float16: "float16", np.float32: "float"}[dtype]
    given = {
        "w": 4 * RNG.standard_normal((8, 4, 3, 3)),
        "b": 30 * RNG.standard_normal(8),
        "s": 1 + RNG.random(8),
        "o": RNG.standard_normal(8),
        "m": 30 * RNG.standard_normal(8),
        "v": 0.01 + RNG.random(8),
    }
    arrays: dict[str, Any] = {name: array.astype(dtype) for name, array in given.items()}
    text = f"""({kind}[1, 4, 9, 9] x) => ({kind}[1, 8, 7, 7] y) {{
        a = Conv (x, w, b) y = BatchNormalization <epsilon = 0.0009765625> (a, s, o, m, v) }}"""
    result = optimize(model_of(text, **arrays), "nodes", verify=False).model
    (conv,) = result.graph.node
    constants = {t.name: numpy_helper.to_array(t) for t in result.graph.initializer}
    weight, bias = (constants[name] for name in conv.input[1:])
    exact = {name: array.astype(np.float64) for name, array in arrays.items()}
    factor = exact["s"] / np.sqrt(exact["v"] + 0.0009765625)
    expected_weight = (exact["w"] * factor[:, None, None, None]).astype(dtype)
    expected_bias = ((exact["b"] - exact["m"]) * factor + exact["o"]).astype(dtype)
    assert weight.dtype == bias.dtype == dtype
    np.testing.assert_array_equal(weight, expected_weight)
    np.testing.assert_array_equal(bias, expected_bias)


def test_a_product_that_leaves_the_range_on_the_way_is_right_in_the_end() -> None:
    """In float16 600 * 600 overflows; what is computed in float64 and rounded once does not."""
    text = "(float16[2, 3] x) => (float16[2, 3] y) { a = Mul (x, p) b = Mul (a, p) y = Mul (b, q) }"
    given: dict[str, Any] = {
        "p": np.full(3, 600, np.float16),
        "q": np.array([1 / 4096, 1 / 2048, 1 / 1024], np.float16),
    }
    result = optimize(model_of(text, **given), "nodes", verify=False).model
    assert left_in(result) == ["Mul"]
    (constant,) = [numpy_helper.to_array(t) for t in result.graph.initializer]
    expected = np.array([360000 / 4096, 360000 / 2048, 360000 / 1024], np.float16)
    assert constant.tolist() == expected.tolist()
    assert result.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT16


@pytest.mark.parametrize(
    "chosen",
    [
        "i = NonZero (m) j = Reshape (i, flat)",
        "j = Unique (n)",
        "j = Compress <axis = 0> (n, c)",
        "v, j = TopK (m, two)",
    ],
)
def test_what_elements_decide_the_size_of_is_folded_and_what_follows_of_it(chosen: str) -> None:
    text = f"""(float[N, 4] x) => (float[N, k] y) {{ {chosen} s = Shape (j) r = Cast <to = 1> (s)
        z = Gather <axis = 1> (x, j) y = Mul (z, r) }}"""
    arrays: dict[str, Any] = {
        "m": np.array([3, 0, 1, 0.0], np.float32),
        "n": np.array([3, 1, 1, 0]),
        "c": np.array([True, False, True, True]),
        "flat": np.array([-1]),
        "two": np.array([2]),
    }
    result = optimize(model_of(text, **arrays), "nodes", strict=True)
    assert left_in(result.model) in (["Gather", "Mul"], ["Mul", "Slice"])
    assert result.report.verification.status == "passed"


def test_a_constant_of_which_too_much_may_be_chosen_stays() -> None:
    model = model_of("(float[N] x) => (int64[1, k] y) { y = NonZero (m) }", m=np.ones(4096, np.float32))
    assert folded(model, 2**13) == {}
    assert list(folded(model)) == ["y"]
