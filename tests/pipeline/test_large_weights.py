"""Weights in files are read where they are folded or compared, and results with them are verified."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize
from egraph_opt.graph import content
from egraph_opt.model import scratch, writing
from egraph_opt.model.mapping import MappedTensor
from egraph_opt.model.reading import read_model

WIDTH = 600
"""A weight has 1.4 MB."""

Array = np.ndarray[Any, Any]


def stacked(folder: Path, weights: list[Array], scales: list[Array] | None = None) -> Path:
    """Products with transposes that cancel between them; the weights are in a file of their own."""
    nodes, x = [], "x"
    tensors = [numpy_helper.from_array(weight, f"w{k}") for k, weight in enumerate(weights)]
    for k in range(len(weights)):
        nodes.append(helper.make_node("MatMul", [x, f"w{k}"], [f"m{k}"]))
        if scales:
            nodes.append(helper.make_node("Mul", [f"m{k}", f"s{k}"], [f"q{k}"]))
            tensors.append(numpy_helper.from_array(scales[k], f"s{k}"))
        nodes += [
            helper.make_node("Relu", [f"{'q' if scales else 'm'}{k}"], [f"r{k}"]),
            helper.make_node("Transpose", [f"r{k}"], [f"t{k}"], perm=[1, 0]),
            helper.make_node("Transpose", [f"t{k}"], [f"x{k}"], perm=[1, 0]),
        ]
        x = f"x{k}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "stack", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    folder.mkdir()
    path = folder / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    return path


def drawn(count: int) -> list[Array]:
    random = np.random.default_rng(0)
    return [random.normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32) for _ in range(count)]


def answer(path: Path) -> Array:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).normal(size=(2, WIDTH)).astype(np.float32)
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is too large to be one file, and no computed tensor is kept in memory."""
    monkeypatch.setattr(writing, "EMBEDDED_LIMIT", 1000)
    monkeypatch.setattr(scratch, "IN_MEMORY", 0)


def test_a_result_that_is_too_large_for_one_file_is_verified_and_written(
    tmp_path: Path, no_room: None
) -> None:
    path = stacked(tmp_path / "in", drawn(3))
    result = optimize(path, "nodes", strict=True)
    assert (result.report.status, result.report.verification.status) == ("optimized", "passed")
    assert result.report.nodes.runtime_after == 6
    np.testing.assert_allclose(answer(result.save(tmp_path / "out.onnx")), answer(path), rtol=1e-5)
    assert (tmp_path / "out.onnx.data").stat().st_size <= 3 * 4 * WIDTH * WIDTH + 3 * 4096


def test_computed_weights_that_are_too_large_for_one_file_are_verified_and_written(
    tmp_path: Path, no_room: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    scales = [np.random.default_rng(k).uniform(0.5, 2, WIDTH).astype(np.float32) for k in range(2)]
    path = stacked(tmp_path / "in", drawn(2), scales)
    result = optimize(path, "nodes", strict=True)
    assert (result.report.nodes.runtime_after, result.report.verification.status) == (4, "passed")
    assert len(list(temporary.iterdir())) == 1
    np.testing.assert_allclose(answer(result.save(tmp_path / "out.onnx")), answer(path), rtol=1e-4, atol=1e-4)
    del result
    gc.collect()
    assert not list(temporary.iterdir())


def test_a_killed_process_s_computed_weights_are_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "IN_MEMORY", 0)
    (tmp_path / "egraph-opt-abc.weights").write_bytes(b"left")
    (tmp_path / "other.weights").write_bytes(b"not ours")
    array = drawn(1)[0]
    first = scratch.Scratch().keep(array, None)
    second = scratch.Scratch().keep(array, None)
    names = {Path(tensor.path).name for tensor in (first, second)}  # type: ignore[attr-defined]
    assert {path.name for path in tmp_path.iterdir()} == {"other.weights", *names}
    np.testing.assert_array_equal(first.numpy(), second.numpy())


def test_weights_that_differ_are_told_apart_without_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stacked(tmp_path / "in", drawn(3))
    read: list[int] = []
    whole = MappedTensor.tobytes

    def seen(tensor: MappedTensor) -> bytes:
        read.append(tensor.nbytes)
        return whole(tensor)

    def compared(a: memoryview, b: memoryview) -> bool:
        read.append(len(a))
        return True

    monkeypatch.setattr(MappedTensor, "tobytes", seen)
    monkeypatch.setattr(content, "same_bytes", compared)
    result = optimize(path, "nodes", verify=False)
    result.save(tmp_path / "out.onnx")
    assert result.report.status == "optimized"
    assert not [size for size in read if size > 2**16]


def test_equal_weights_at_different_places_are_one_constant() -> None:
    first, other = (read_model_tensor(drawn(1)[0]) for _ in range(2))
    changed = drawn(1)[0]
    changed[300, 301] += 1  # between what is sampled
    contents = content.Contents()
    assert contents.key(first) == contents.key(other)
    assert contents.key(first) != contents.key(read_model_tensor(changed))
    assert contents.key(first) != contents.key(read_model_tensor(changed.reshape(-1)))


def read_model_tensor(array: Array) -> Any:
    tensor = numpy_helper.from_array(array, "w")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return read_model(model).model.graph.initializers["w"].const_value


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.INT4, TensorProto.BFLOAT16])
def test_a_file_is_mapped_once_for_all_of_its_tensors(tmp_path: Path, dtype: int) -> None:
    arrays = [np.arange(-8, 8).reshape(4, 4) % (k % 7 + 2) for k in range(20)]
    tensors = [
        helper.make_tensor(f"w{k}", dtype, [4, 4], array.reshape(-1)) for k, array in enumerate(arrays)
    ]
    names = [tensor.name for tensor in tensors]
    for tensor in tensors:
        if not tensor.HasField("raw_data"):
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    nodes = [helper.make_node("Cast", [name], [f"{name}f"], to=TensorProto.FLOAT) for name in names]
    nodes.append(helper.make_node("Concat", ["x", *(f"{name}f" for name in names)], ["y"], axis=0))
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    loaded = read_model(path).model.graph.initializers
    read = [np.asarray(loaded[name].const_value) for name in names]
    for array, found in zip(arrays, read, strict=True):
        np.testing.assert_array_equal(found.astype(np.float32), array)
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert maps.read_text(encoding="utf-8").count("weights.bin") <= 1


def test_an_unchanged_model_s_weights_are_loaded_when_they_are_asked_for(tmp_path: Path) -> None:
    path = stacked(tmp_path / "in", drawn(1))
    result = optimize(path, "nodes", rewrites=["pooling"], verify=False)
    assert result.report.status == "unchanged" and "model" not in vars(result)
    assert result.model.graph.initializer[0].raw_data == drawn(1)[0].tobytes()
