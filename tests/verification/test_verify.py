"""Wrong models fail, equal models pass, and what cannot be compared says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.errors import ModelReadError
from egraph_opt.verification import verify

from .models import model, weight

W, B = weight(4, 3, 3, 3), weight(4, seed=1)
NETWORK = """g (float[n, 3, h, w] x) => (float[n, 4, h, w] y) {
    c = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
    y = Relu (c)
}"""
HEAD = "g (float[n, 4, 6] x, float[n, 4, 6] z) => (float[n, 4, 6] y)"


def test_a_model_equals_itself_at_two_sizes_and_three_seeds() -> None:
    original = model(NETWORK, w1=W, b1=B)
    result = verify(original, original)
    assert result.status == "passed"
    assert result.seeds == [0, 1, 2]
    assert result.max_abs_error == 0
    assert "n=2" in result.detail
    assert "n=1" in result.detail


def test_when_it_is_late_every_size_is_compared_once() -> None:
    original = model(NETWORK, w1=W, b1=B)
    late = verify(original, original, end=0.0)
    assert late.status == "passed"
    assert late.seeds == [0, 1]
    assert "n=2" in late.detail and "n=1" in late.detail
    assert "fewer random inputs than usual" in late.detail
    wrong = model(NETWORK, w1=W, b1=B + 1)
    assert verify(original, wrong, end=0.0).status == "failed"


def test_reordered_arithmetic_passes_and_its_error_is_reported() -> None:
    scaled = """g (float[n, 3, h, w] x) => (float[n, 4, h, w] y) {
        c = Conv <pads = [1, 1, 1, 1]> (x, w1)
        y = Mul (c, k)
    }"""
    k = np.array([0.3, 7, -1.1, 0.9], np.float32).reshape(4, 1, 1, 1)
    one = np.ones(1, np.float32)
    result = verify(model(scaled, w1=W, k=k.reshape(1, 4, 1, 1)), model(scaled, w1=W * k, k=one))
    assert result.status == "passed"
    assert 0 < result.max_abs_error < 1e-4
    assert 0 < result.max_rel_error < 1e-6


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("y = Softmax <axis = 2> (x)", "y = Softmax <axis = 1> (x)"),
        ("y = Sub (x, z)", "y = Sub (z, x)"),
        ("y = Relu (x)", "y = Abs (x)"),
        ("y = Add (x, z)", "y = Add (x, x)"),
        ("y = Sqrt (x)", "a = Abs (x)\n y = Sqrt (a)"),
        ("y = Identity (x)", "y = Add (x, zero)"),
        ("y = LeakyRelu <alpha = 0.1> (x)", "y = LeakyRelu <alpha = 0.101> (x)"),
        ("y = Elu (x)", "y = Selu (x)"),
    ],
)
def test_a_wrong_node_fails(right: str, wrong: str) -> None:
    zero = np.full(1, 1e-3, np.float32)
    original = model(f"{HEAD} {{ {right} }}", zero=zero)
    optimized = model(f"{HEAD} {{ {wrong} }}", zero=zero)
    result = verify(original, optimized)
    assert result.status == "failed"
    assert "output 'y'" in result.detail
    assert "seed" in result.detail


@pytest.mark.parametrize(
    "change",
    [
        lambda w, b: (w, b * np.float32(1.01)),
        lambda w, b: (w * np.float32(1.001), b),
        lambda w, b: (w[[1, 0, 2, 3]], b),
        lambda w, b: (w[:, :, ::-1].copy(), b),
        lambda w, b: (w, b + np.array([0, 0, 0, 2e-3], np.float32)),
    ],
    ids=["bias off by 1 %", "weights off by 0.1 %", "channels swapped", "kernel mirrored", "one bias off"],
)
def test_wrong_weights_fail(change: Callable[..., tuple[np.ndarray, np.ndarray]]) -> None:
    w, b = change(W, B)
    assert verify(model(NETWORK, w1=W, b1=B), model(NETWORK, w1=w, b1=b)).status == "failed"


def test_a_wrong_size_that_only_shows_at_another_batch_fails() -> None:
    original = model("g (float[n, 6] x) => (float[m, 3] y) { y = Reshape (x, s) }", s=np.array([-1, 3]))
    fixed = model("g (float[n, 6] x) => (float[m, 3] y) { y = Reshape (x, s) }", s=np.array([4, 3]))
    result = verify(original, fixed)
    assert result.status == "failed"
    assert "does not run" in result.detail


def test_a_missing_element_and_another_dtype_fail() -> None:
    original = model("g (float[n, 6] x) => (float[n, k] y) { y = Identity (x) }")
    shorter = model(
        "g (float[n, 6] x) => (float[n, k] y) { y = Slice (x, a, b, c) }",
        a=np.array([0]), b=np.array([5]), c=np.array([1]),
    )  # fmt: skip
    assert "shape was" in verify(original, shorter).detail
    assert verify(original, shorter).status == "failed"
    double = model("g (float[n, 6] x) => (double[n, 6] y) { y = Cast <to = 11> (x) }")
    assert verify(original, double).status == "failed"


def test_one_wrong_nan_fails_and_equal_nans_pass() -> None:
    text = "g (float[8] x) => (float[8] y) { y = Add (x, k) }"
    holes = np.array([0, 1, np.nan, 3, np.inf, -np.inf, 6, 7], np.float32)
    assert verify(model(text, k=holes), model(text, k=holes)).status == "passed"
    for index, value in ((0, np.nan), (2, 2.0), (4, np.nan), (5, np.inf), (1, np.inf)):
        other = holes.copy()
        other[index] = value
        result = verify(model(text, k=holes), model(text, k=other))
        assert result.status == "failed"
        assert "1 of 8 elements differ" in result.detail


def test_integers_booleans_and_strings_have_to_be_equal() -> None:
    integers = "g (int64[n] x) => (int64[n] y) { y = Add (x, k) }"
    assert verify(model(integers, k=np.array([5])), model(integers, k=np.array([6]))).status == "failed"
    booleans = "g (bool[n] x, bool[n] z) => (bool[n] y) { y = %s (x, z) }"
    assert verify(model(booleans % "And"), model(booleans % "Or")).status == "failed"
    assert verify(model(booleans % "And"), model(booleans % "And")).status == "passed"
    strings = "g (string[n] x) => (string[n] y) { y = Identity (x) }"
    constant = "g (string[n] x) => (string[n] y) { s = Shape (x)\n y = Expand (k, s) }"
    assert verify(model(strings), model(strings)).status == "passed"
    assert verify(model(strings), model(constant, k=np.array(["a"], object))).status == "failed"


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("g (float[n] a) => (float[n] y)", "missing ['x'], new ['a']"),
        ("g (float[n] x, float[n] z) => (float[n] y)", "new ['z']"),
        ("g (double[n] x) => (float[n] y)", "was float and is double"),
        ("g (float[4] x) => (float[n] y)", "was declared [n] and is declared [4]"),
        ("g (float[m] x) => (float[n] y)", "was declared [n] and is declared [m]"),
        ("g (float[n] x) => (float[n] z)", "missing ['y'], new ['z']"),
    ],
)
def test_another_interface_fails(declaration: str, expected: str) -> None:
    def body(text: str) -> str:
        source = "a" if "float[n] a" in text else "x"
        target = text.split("] ")[-1].rstrip(")")
        cast = f"c = Cast <to = 1> ({source})" if "double" in text else f"c = Identity ({source})"
        return f"{text} {{ {cast}\n {target} = Relu (c) }}"

    original = model(body("g (float[n] x) => (float[n] y)"))
    result = verify(original, model(body(declaration)))
    assert result.status == "failed"
    assert expected in result.detail


def test_an_unused_input_has_to_stay() -> None:
    original = model("g (float[n] x, float[n] unused) => (float[n] y) { y = Relu (x) }")
    without = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    assert verify(original, original).status == "passed"
    assert "missing ['unused']" in verify(original, without).detail


def test_an_output_with_a_wrong_declared_shape_fails_unless_the_original_has_it() -> None:
    text = "g (float[8] x) => (float[{}] y) {{ y = Compress (x, all) }}"
    wrong, right = (model(text.format(length), all=np.ones(8, np.bool_)) for length in (9, 8))
    assert "is declared [9], but has shape [8]" in verify(right, wrong).detail
    assert verify(wrong, wrong).status == "passed"
    assert verify(wrong, right).status == "passed"


def test_a_model_that_the_checker_refuses_fails() -> None:
    original = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    twice = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    twice.graph.node.append(helper.make_node("Abs", ["x"], ["y"]))
    result = verify(original, twice)
    assert result.status == "failed"
    assert "checker" in result.detail


def test_an_optimized_model_that_does_not_load_fails() -> None:
    original = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    unknown = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    unknown.graph.node[0].domain = "nobody.knows"
    unknown.opset_import.append(helper.make_opsetid("nobody.knows", 1))
    result = verify(original, unknown)
    assert result.status == "failed"
    assert "not the optimized model" in result.detail
    back = verify(unknown, original)
    assert back.status == "not_comparable"
    assert "does not load the original" in back.detail


def test_an_interface_is_compared_even_where_outputs_cannot_be() -> None:
    unknown = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    unknown.graph.node[0].domain = "nobody.knows"
    unknown.opset_import.append(helper.make_opsetid("nobody.knows", 1))
    assert verify(unknown, model("g (float[n] x) => (float[n] z) { z = Relu (x) }")).status == "failed"


def test_models_are_read_from_bytes_and_paths_with_external_data(tmp_path: Path) -> None:
    original = model(NETWORK, w1=weight(4, 3, 20, 20), b1=B)
    content = original.SerializeToString()
    path = tmp_path / "external.onnx"
    onnx.save(
        onnx.load_model_from_string(content),
        path,
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
    )
    assert verify(content, path).status == "passed"
    assert verify(str(path), original).status == "passed"
    lazily = onnx.load(path, load_external_data=False)
    assert verify(path, lazily, folder=tmp_path).status == "passed"
    np.fromfile(tmp_path / "w.bin", np.float32).__mul__(np.float32(1.01)).tofile(tmp_path / "w.bin")
    assert verify(original, path).status == "failed"


def test_a_file_that_is_no_model_is_an_error_of_its_own(tmp_path: Path) -> None:
    original = model(NETWORK, w1=W, b1=B)
    with pytest.raises(ModelReadError, match="cannot be read"):
        verify(tmp_path / "nothing.onnx", original)
    (tmp_path / "text.onnx").write_text("no model at all")
    with pytest.raises(ModelReadError, match="not an ONNX model"):
        verify(tmp_path / "text.onnx", original)


def test_constant_outputs_are_mentioned() -> None:
    text = "g (float[n] x) => (float[n] y) { a = Mul (x, k)\n y = Relu (a) }"
    zero = model(text, k=np.zeros(1, np.float32))
    result = verify(zero, zero)
    assert result.status == "passed"
    assert "constant on all inputs tried: y" in result.detail


def test_the_verdict_is_deterministic() -> None:
    original, wrong = model(NETWORK, w1=W, b1=B), model(NETWORK, w1=W, b1=B * np.float32(1.01))
    assert verify(original, wrong, seed=7) == verify(original, wrong, seed=7)
    assert verify(original, original, seed=7).seeds == [7, 8, 9]


def test_given_inputs_are_compared_as_well() -> None:
    original = model("g (float[n] x) => (float[n] y) { y = Relu (x) }")
    clipped = model(
        "g (float[n] x) => (float[n] y) { z = Relu (x)\n y = Min (z, k) }", k=np.array([1e12], np.float32)
    )
    assert verify(original, clipped).status == "passed"
    sample: Sequence[dict[str, np.ndarray]] = [{"x": np.array([1.0, 1e13], np.float32)}]
    result = verify(original, clipped, inputs=sample)
    assert result.status == "failed"
    assert "given input 0" in result.detail
    assert verify(original, clipped, assume={"x": (0.0, 1e13)}).status == "failed"


def test_all_dtypes_of_the_interface_are_compared() -> None:
    for dtype in (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.FLOAT8E5M2):
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])], "g",
            [helper.make_tensor_value_info("x", dtype, ["n"])],
            [helper.make_tensor_value_info("y", dtype, ["n"])],
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        result = verify(made, made)
        assert (result.status, result.seeds) == ("passed", [0, 1, 2])


def test_models_without_inputs_or_with_empty_ones_are_compared() -> None:
    constant = "g () => (float[3] y) {{ y = {} (k) }}"
    k = np.array([-1, 0, 1], np.float32)
    assert verify(model(constant.format("Relu"), k=k), model(constant.format("Relu"), k=k)).status == "passed"
    assert verify(model(constant.format("Relu"), k=k), model(constant.format("Abs"), k=k)).status == "failed"
    empty = model(
        "g (float[0, 3] x) => (float[3] y) { y = ReduceSum <keepdims = 0> (x, a) }", a=np.array([0])
    )
    assert verify(empty, empty).status == "passed"
