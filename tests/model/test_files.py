"""Files are replaced whole or not at all, and weights stay in files of their own."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from egraph_opt.errors import OutputError
from egraph_opt.model import external_data, reading, writing
from egraph_opt.model.files import write_whole
from egraph_opt.model.reading import read_model
from egraph_opt.model.streams import is_stream
from egraph_opt.model.writing import to_proto, write_model, write_original

from .models import affine, model_of, run, tensor


@pytest.fixture
def external_model(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "m.onnx"
    path.parent.mkdir()
    onnx.save(affine(), path, save_as_external_data=True, location="m.onnx.data", size_threshold=16)
    return path


def result_of(path: Path) -> np.ndarray:
    return run(path, x=np.ones((2, 1000), np.float32))[0]


def test_external_data_stays_external_under_the_name_of_the_output(external_model: Path) -> None:
    loaded = read_model(external_model)
    assert loaded.data_files == {external_model.with_name("m.onnx.data").resolve()}
    target = write_model(loaded.model, external_model.parent.parent / "out.onnx", like=loaded)
    stored = onnx.load(target, load_external_data=False).graph.initializer[0]
    assert external_data.external_tensors(onnx.load(target, load_external_data=False)) == [stored]
    assert {entry.value for entry in stored.external_data if entry.key == "location"} == {"out.onnx.data"}
    np.testing.assert_array_equal(result_of(target), result_of(external_model))
    assert sorted(os.listdir(target.parent)) == ["in", "out.onnx", "out.onnx.data"]


def test_in_place_never_writes_to_the_data_of_the_input(external_model: Path) -> None:
    expected = result_of(external_model)
    data = external_model.with_name("m.onnx.data")
    os.link(data, kept := data.parent.parent / "kept")
    before = data.read_bytes()
    loaded = read_model(external_model)
    with pytest.raises(OutputError, match="in-place"):
        write_model(loaded.model, external_model, like=loaded)
    write_model(loaded.model, external_model, like=loaded, in_place=True)
    assert kept.read_bytes() == before
    np.testing.assert_array_equal(result_of(external_model), expected)


def test_in_place_leaves_one_copy_of_the_weights_however_often(external_model: Path) -> None:
    expected = result_of(external_model)
    for name in ("m.onnx.1.data", "m.onnx.data", "m.onnx.1.data"):
        loaded = read_model(external_model)
        write_model(loaded.model, external_model, like=loaded, in_place=True)
        assert sorted(os.listdir(external_model.parent)) == ["m.onnx", name]
        np.testing.assert_array_equal(result_of(external_model), expected)
        proto = to_proto(loaded.model, loaded)  # what was written is still at hand
        np.testing.assert_array_equal(run(proto, x=np.ones((2, 1000), np.float32))[0], expected)


def test_in_place_small_weights_are_taken_into_the_model(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(50, dtype=np.float32), "w")
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [50])], [tensor("y", None)], [weight]
    )
    path, x = tmp_path / "m.onnx", np.ones(50, np.float32)
    onnx.save(model, path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    loaded = read_model(path)
    write_model(loaded.model, path, like=loaded, in_place=True)
    assert os.listdir(tmp_path) == ["m.onnx"]
    for written in (path, to_proto(loaded.model, loaded)):
        np.testing.assert_array_equal(run(written, x=x)[0], x + np.arange(50))


def test_weights_that_another_model_names_stay(external_model: Path) -> None:
    twin = external_model.with_name("twin.onnx")
    twin.write_bytes(external_model.read_bytes())
    expected = result_of(twin)
    loaded = read_model(external_model)
    write_model(loaded.model, external_model, like=loaded, in_place=True)
    np.testing.assert_array_equal(result_of(twin), expected)
    np.testing.assert_array_equal(result_of(external_model), expected)


@contextmanager
def receiving(path: Path) -> Iterator[list[bytes]]:
    """What comes out of a pipe."""
    os.mkfifo(path)
    received: list[bytes] = []
    reader = Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    yield received
    reader.join(10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_are_written_through_with_all_weights(external_model: Path, tmp_path: Path) -> None:
    loaded = read_model(external_model)
    for write in (partial(write_model, loaded.model), write_original):
        pipe = tmp_path / write.__class__.__name__ / "pipe"
        pipe.parent.mkdir()
        with receiving(pipe) as received:
            write(pipe, like=loaded)
        assert pipe.is_fifo() and os.listdir(pipe.parent) == ["pipe"]
        sent = ModelProto.FromString(received[0])
        x = np.ones((2, 1000), np.float32)
        np.testing.assert_array_equal(run(sent, x=x)[0], result_of(external_model))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_model_comes_out_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = Thread(target=lambda: pipe.write_bytes(affine().SerializeToString()))
    writer.start()
    loaded = read_model(pipe)
    writer.join(10)
    write_original(tmp_path / "out.onnx", like=loaded)
    x = np.ones((2, 1000), np.float32)
    np.testing.assert_array_equal(run(tmp_path / "out.onnx", x=x)[0], run(affine(), x=x)[0])


def test_devices_and_sockets_stay_what_they_are(external_model: Path, tmp_path: Path) -> None:
    """A link to a device is as good as that, and does not need root to be made."""
    loaded = read_model(external_model)
    (device := tmp_path / "null.onnx").symlink_to(os.devnull)
    write_model(loaded.model, device, like=loaded)
    write_whole(device, b"report")
    assert device.is_symlink() and device.is_char_device()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(OutputError, match=r"s: is a socket; name a file"):
            write_model(loaded.model, tmp_path / "s", like=loaded)
        with pytest.raises(OutputError, match="it is a socket"):
            write_whole(tmp_path / "s", b"report")
    assert sorted(os.listdir(tmp_path)) == ["in", "null.onnx", "s"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/7", "/proc/self/fd/1", "/dev/null"])
def test_names_of_open_files_are_no_files(name: str) -> None:
    assert is_stream(Path(name))


def test_the_weights_of_the_input_are_never_the_output(external_model: Path) -> None:
    loaded = read_model(external_model)
    with pytest.raises(OutputError, match="weights"):
        write_model(loaded.model, external_model.with_name("m.onnx.data"), like=loaded, in_place=True)


def test_the_model_can_be_used_after_it_was_written(external_model: Path, tmp_path: Path) -> None:
    loaded = read_model(external_model)
    first = write_model(loaded.model, tmp_path / "a.onnx", like=loaded)
    second = write_model(loaded.model, tmp_path / "b.onnx", like=loaded)
    np.testing.assert_array_equal(result_of(first), result_of(second))
    np.testing.assert_array_equal(
        run(to_proto(loaded.model, loaded), x=np.ones((2, 1000), np.float32))[0], result_of(first)
    )


def test_weights_above_the_limit_go_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "EMBEDDED_LIMIT", 3999)
    loaded = read_model(affine())
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    assert (tmp_path / "out.onnx.data").stat().st_size == 4000
    x = np.ones((2, 1000), np.float32)
    np.testing.assert_array_equal(result_of(target), run(affine(), x=x)[0])


def test_tensors_that_share_their_data_share_it_in_the_output(external_model: Path, tmp_path: Path) -> None:
    model = onnx.load(external_model, load_external_data=False)
    twin = model.graph.initializer.add()
    twin.CopyFrom(model.graph.initializer[0])
    twin.name = "w2"
    model.graph.node[0].output[0] = "t"
    model.graph.node.append(helper.make_node("Add", ["t", "w2"], ["y"]))
    external_model.write_bytes(model.SerializeToString())
    loaded = read_model(external_model)
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    assert (tmp_path / "out.onnx.data").stat().st_size == 4000
    np.testing.assert_array_equal(result_of(target), result_of(external_model))


@pytest.mark.parametrize("alignment", [64, 4096, 2**16])
def test_tensors_begin_at_multiples_of_what_they_did(tmp_path: Path, alignment: int) -> None:
    arrays = [np.full(300 + 7 * k, k, np.float32) for k in range(5)]
    tensors, content = [], b""
    for k, array in enumerate(arrays):
        content += b"\0" * (-len(content) % alignment)
        stored = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=array.shape)
        stored.data_location = TensorProto.EXTERNAL
        entries = ("location", "d.bin"), ("offset", str(len(content))), ("length", str(array.nbytes))
        for key, value in entries:
            stored.external_data.add(key=key, value=value)
        tensors.append(stored)
        content += array.tobytes()
    (tmp_path / "d.bin").write_bytes(content)
    node = helper.make_node("Concat", [f"w{k}" for k in range(5)], ["y"], axis=0)
    model = model_of([node], [], [tensor("y", None)], tensors)
    (tmp_path / "in.onnx").write_bytes(model.SerializeToString())
    loaded = read_model(tmp_path / "in.onnx")
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    written = external_data.external_tensors(onnx.load(target, load_external_data=False))
    offsets = [int(e.value) for item in written for e in item.external_data if e.key == "offset"]
    assert len(offsets) == 5 and not any(offset % alignment for offset in offsets)
    np.testing.assert_array_equal(run(target)[0], np.concatenate(arrays))


def test_external_data_in_bodies_and_constants_is_found(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(500, dtype=np.float32), "b")
    then = helper.make_graph(
        [
            helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.ones(500, np.float32))),
            helper.make_node("Add", ["x", "b"], ["s"]),
            helper.make_node("Add", ["s", "k"], ["r"]),
        ],
        "then",
        [],
        [tensor("r", None)],
        [weight],
    )
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["q"])], "else", [], [tensor("q", None)])
    branch = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    model = model_of([branch], [tensor("x", [500]), tensor("c", [], TensorProto.BOOL)], [tensor("y", None)])
    inputs = {"x": np.ones(500, np.float32), "c": np.array(True)}
    expected = run(model, **inputs)[0]
    path = tmp_path / "in.onnx"
    onnx.save(
        model, path, save_as_external_data=True, location="d.bin", size_threshold=0, convert_attribute=True
    )
    loaded = read_model(path)
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    names = {
        entry.value
        for item in external_data.external_tensors(onnx.load(target, load_external_data=False))
        for entry in item.external_data
        if entry.key == "location"
    }
    assert names <= {"out.onnx.data"}
    np.testing.assert_array_equal(run(target, **inputs)[0], expected)


def test_data_beside_what_a_link_points_to_is_found(external_model: Path, tmp_path: Path) -> None:
    """The caches of model hubs are made of links to blobs."""
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for name in ("m.onnx", "m.onnx.data"):
        (snapshot / name).symlink_to(external_model.parent / name)
    assert len(read_model(snapshot / "m.onnx").data_files) == 1


def test_data_with_hard_links_is_read(external_model: Path, tmp_path: Path) -> None:
    os.link(external_model.with_name("m.onnx.data"), tmp_path / "another")
    loaded = read_model(external_model)
    weight = loaded.model.graph.initializers["w"].const_value
    assert weight is not None and weight.numpy()[999] == 999


def test_an_ir_model_brings_its_files(external_model: Path, tmp_path: Path) -> None:
    source = ir.load(external_model)
    loaded = read_model(source)
    assert loaded.external
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    np.testing.assert_array_equal(result_of(target), result_of(external_model))
    runnable = loaded.runnable()
    assert isinstance(runnable, ModelProto)
    np.testing.assert_array_equal(run(runnable, x=np.ones((2, 1000), np.float32))[0], result_of(target))
    weight = source.graph.initializers["w"].const_value
    assert isinstance(weight, ir.ExternalTensor) and weight.location == "m.onnx.data"


@pytest.mark.parametrize("give", [lambda path: path, onnx.load, ir.load], ids=["path", "proto", "ir"])
def test_the_original_can_be_written(
    give: Callable[[Path], reading.ModelSource], external_model: Path, tmp_path: Path
) -> None:
    target = write_original(tmp_path / "out.onnx", like=read_model(give(external_model)))
    np.testing.assert_array_equal(result_of(target), result_of(external_model))


def test_an_original_in_one_file_is_copied_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    onnx.save(affine(), path)
    write_original(tmp_path / "out.onnx", like=read_model(path))
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.onnx"
    target.write_bytes(b"old")
    loaded = read_model(affine())

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OutputError, match="No space left"):
        write_model(loaded.model, target, like=loaded)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.onnx"]


def test_the_permissions_of_a_new_file_are_the_usual_ones(tmp_path: Path) -> None:
    loaded = read_model(affine())
    usual = tmp_path / "usual"
    usual.touch()
    target = write_model(loaded.model, tmp_path / "out.onnx", like=loaded)
    assert target.stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize(("of_model", "of_data"), [(0o600, 0o600), (0o640, 0o644), (0o644, 0o600)])
def test_new_weights_are_read_by_none_but_those_who_could_read_the_old(
    of_model: int, of_data: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any name, and while they are written as well."""
    path, data = tmp_path / "m.onnx", tmp_path / "m.bin"
    onnx.save(affine(), path, save_as_external_data=True, location="m.bin", size_threshold=16)
    path.chmod(of_model)
    data.chmod(of_data)
    new, begun = tmp_path / "m.onnx.data", []
    moved = writing.Moved.__call__

    def seen(*given: Any) -> Any:
        begun.append(new.stat().st_mode & 0o777)
        return moved(*given)

    monkeypatch.setattr(writing.Moved, "__call__", seen)
    loaded = read_model(path)
    write_model(loaded.model, path, like=loaded, in_place=True)
    assert path.stat().st_mode & 0o777 == of_model
    assert {*begun, new.stat().st_mode & 0o777} == {of_model & of_data}


def test_weights_of_another_model_that_is_replaced_keep_its_permissions(
    external_model: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.onnx"
    for _ in range(2):
        loaded = read_model(external_model)
        write_model(loaded.model, target, like=loaded)
        for file in (target, *tmp_path.glob("out.onnx*.data")):
            file.chmod(0o600)
    write_model(loaded.model, target, like=loaded)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("out.onnx*")} == {0o600}
