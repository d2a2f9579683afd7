"""A saturated model in a file is the same model: extracted later, it has the same bytes."""

from __future__ import annotations

import io
import json
import pickle
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

from egraph_opt.errors import LimitsError, ModelReadError
from egraph_opt.facts.fact import Fact
from egraph_opt.operators import ConvWindow, Literal
from egraph_opt.operators.stored_values import decode, encode
from egraph_opt.pipeline import Limits, Saturated, saturate

COSTS = ["nodes", "bytes", "flops", "ascend"]


def model_of(text: str, *initializers: TensorProto, opset: int = 17) -> ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {text}')
    model.graph.initializer.extend(initializers)
    return model


def weights(name: str, *shape: int) -> TensorProto:
    array = np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(array, name)


def convolution() -> ModelProto:
    text = """(float[N, 3, 8, 8] x) => (float[N, M, 8, 8] y) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w) b = BatchNormalization (a, s, o, m, v)
        t = Transpose <perm = [0, 2, 3, 1]> (b) r = Relu (t) y = Transpose <perm = [0, 3, 1, 2]> (r)
    }"""
    variance = numpy_helper.from_array(np.full(4, 0.5, np.float32), "v")
    return model_of(text, weights("w", 4, 3, 3, 3), *(weights(n, 4) for n in "som"), variance)


def branches() -> ModelProto:
    text = """(bool c, float[2, 3] x) => (float[6] y) {
        two = Constant <value_float = 2.0> ()
        y = If (c) <
            then_branch = t () => (float[6] a) {
                one = Constant <value_ints = [-1]> ()
                p = Mul (x, two) q = Mul (p, two) a = Reshape (q, one) },
            else_branch = e () => (float[6] b) {
                n = Neg (x) m = Neg (n) i = If (c) <
                    then_branch = tt () => (float[2, 3] d) { d = Identity (m) },
                    else_branch = ee () => (float[2, 3] f) { g = Relu (m) f = Relu (g) }>
                one = Constant <value_ints = [-1]> () b = Reshape (i, one) }>
    }"""
    return model_of(text)


def odd_constants() -> ModelProto:
    text = """(float[2, 3] x) => (float[2, 4] y, float[2, 4] z, float[2, 4] w) {
        y = Pad <pads = [0, 0, 0, 1], value = 0.0> (x)
        z = Pad <pads = [0, 0, 0, 1], value = -0.0> (x)
    }"""
    model = model_of(text, opset=10)
    model.graph.node.append(helper.make_node("Pad", ["x"], ["w"], pads=[0, 0, 0, 1], value=float("inf")))
    return model


def external(folder: Path) -> Path:
    path = folder / "model.onnx"
    text = "(float[N, 64] x) => (float[N, 64] y) { a = MatMul (x, w) b = Add (a, c) y = Add (b, d) }"
    model = model_of(text, weights("w", 64, 64), weights("c", 64), weights("dd", 64))
    model.graph.initializer[2].name = "d"
    onnx.save_model(model, path, save_as_external_data=True, location="model.data", size_threshold=0)
    return path


def content(saturated: Saturated, cost: str) -> bytes:
    return saturated.extract(cost, strict=True).model.SerializeToString(deterministic=True)


@pytest.mark.parametrize("build", [convolution, branches, odd_constants])
def test_every_cost_model_extracts_the_same_bytes_from_a_file(build: Any, tmp_path: Path) -> None:
    saturated = saturate(build(), target="ascend")
    loaded = Saturated.load(saturated.save(tmp_path / "model.npz"))
    for cost in COSTS:
        assert content(loaded, cost) == content(saturated, cost)


def test_a_model_from_a_file_goes_into_the_file(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    onnx.save(convolution(), source)
    saturated = saturate(source)
    before = content(saturated, "nodes")
    path = saturated.save(tmp_path / "model.npz")
    source.unlink()
    assert content(Saturated.load(path), "nodes") == before


def test_weights_of_their_own_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    external(folder)
    monkeypatch.chdir(folder)
    saturated = saturate("model.onnx", target="ascend")
    path = saturated.save(tmp_path / "model.npz")
    monkeypatch.chdir(tmp_path)
    assert path.stat().st_size < 64 * 64 * 4
    loaded = Saturated.load(path)
    for cost in COSTS:
        assert loaded.extract(cost, strict=True).report.verification.status == "passed"
    results = tmp_path / "at once", tmp_path / "from file"
    for place, origin in zip(
        results, (saturate(folder / "model.onnx", target="ascend"), loaded), strict=True
    ):
        place.mkdir()
        origin.extract("nodes", strict=True).save(place / "result.onnx")
    for name in ("result.onnx", "result.onnx.data"):
        assert (results[0] / name).read_bytes() == (results[1] / name).read_bytes()


def test_settings_and_accounts_come_back(tmp_path: Path) -> None:
    saturated = saturate(branches(), limits=Limits(rounds=3, fold_bytes=77), target="ascend")
    loaded = Saturated.load(saturated.save(tmp_path / "model.npz"))
    for name in ("limits", "counts", "constant_bytes", "saturated_for", "warnings", "reason", "seconds"):
        assert getattr(loaded, name) == getattr(saturated, name)
    assert saturated.region is not None and loaded.region is not None
    one, other = saturated.region.walk(), loaded.region.walk()
    assert len(one) == len(other) == 5
    for a, b in zip(one, other, strict=True):
        assert a.saturation == b.saturation
        assert (a.snapshot.operator, a.snapshot.laws) == (b.snapshot.operator, b.snapshot.laws)
        assert repr(a.snapshot.attributes) == repr(b.snapshot.attributes)
        assert repr(a.snapshot.facts) == repr(b.snapshot.facts)


def test_a_model_that_cannot_be_optimized_comes_back_with_the_reason(tmp_path: Path) -> None:
    model = model_of("(float[2] x) => (float[2] y) { y = Relu (x) }", opset=6)
    saturated = saturate(model)
    loaded = Saturated.load(saturated.save(tmp_path / "model.npz"))
    assert loaded.region is None and loaded.reason == saturated.reason != ""
    assert loaded.extract("nodes").model == model


@pytest.mark.parametrize(
    "value",
    [
        None,
        -0.0,
        float("inf"),
        True,
        (1, (2.5, "three", None), ()),
        Literal(1, (2,), (0.0, -0.0)),
        Fact(7, ("N", 3, None), True, ("N", 3)),
        ("conv", ConvWindow((1, 2), (0, 0, 1, 1), (1, 1), 4)),
    ],
)
def test_attributes_and_facts_survive_json(value: Any) -> None:
    assert repr(decode(json.loads(json.dumps(encode(value))))) == repr(value)


def test_nothing_else_can_be_stored() -> None:
    with pytest.raises(TypeError, match="attribute_class"):
        encode((1, object()))


# --- other files ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saturate(convolution(), rewrites=["transpose"]).save(tmp_path_factory.mktemp("good") / "model.npz")


def rewritten(source: Path, target: Path, **members: Any) -> Path:
    """A copy of a file with some of its arrays replaced, or left out."""
    with np.load(source) as arrays:
        changed = {name: array for name, array in {**arrays, **members}.items() if array is not None}
    np.savez_compressed(target, **changed)
    return target


def with_header(source: Path, target: Path, **fields: Any) -> Path:
    with np.load(source) as arrays:
        header = {**json.loads(arrays["json"].tobytes()), **fields}
    return rewritten(source, target, json=np.frombuffer(json.dumps(header).encode(), np.uint8))


def test_there_are_no_pickles_inside(good: Path) -> None:
    with zipfile.ZipFile(good) as archive:
        for name in archive.namelist():
            array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            assert array.dtype.kind in "iu"


def test_pickles_are_not_read(good: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("a pickle was run",))

    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    for member in ("json", "0.child"):
        with pytest.raises(ModelReadError, match="not a saturated model"):
            Saturated.load(rewritten(good, tmp_path / "bomb.npz", **{member: bomb}))
    (tmp_path / "plain.npz").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(ModelReadError, match="not a saturated model"):
        Saturated.load(tmp_path / "plain.npz")


@pytest.mark.parametrize("kind", ["empty", "text", "onnx", "npy", "zip", "npz", "folder", "missing"])
def test_foreign_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    if kind == "empty":
        path.touch()
    elif kind == "text":
        path.write_text("no archive")
    elif kind == "onnx":
        onnx.save(convolution(), path)
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("json", "{}")
    elif kind == "npz":
        np.savez(path, json=np.arange(3))
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(ModelReadError, match=r"other\.npz: not a saturated model"):
        Saturated.load(path)


def test_damaged_files_are_refused(good: Path, tmp_path: Path) -> None:
    data = good.read_bytes()
    path = tmp_path / "damaged.npz"
    for part in (0.1, 0.5, 0.99):
        path.write_bytes(data[: int(part * len(data))])
        with pytest.raises(ModelReadError):
            Saturated.load(path)
    with zipfile.ZipFile(good) as archive:
        places = [entry.header_offset + 90 for entry in archive.infolist()]
    for place in places:
        path.write_bytes(data[:place] + bytes(b ^ 0xFF for b in data[place : place + 8]) + data[place + 8 :])
        with pytest.raises(ModelReadError):
            Saturated.load(path)


def test_files_of_another_version_or_with_unknown_attributes_are_refused(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    with pytest.raises(ModelReadError, match="saturate the model again"):
        Saturated.load(with_header(good, path, version=0))
    with np.load(good) as arrays:
        regions = json.loads(arrays["json"].tobytes())["regions"]
    regions[0]["tables"]["attributes"][0] = {"class": "Popen", "fields": {"args": "true"}}
    with pytest.raises(ModelReadError, match="Popen"):
        Saturated.load(with_header(good, path, regions=regions))
    with pytest.raises(ModelReadError):
        Saturated.load(rewritten(good, path, **{"0.child": None}))


def test_a_model_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    source = external(tmp_path)
    path = saturate(source).save(tmp_path / "model.npz")
    shutil.copy(tmp_path / "model.data", tmp_path / "kept.data")
    Saturated.load(path)
    with (tmp_path / "model.data").open("r+b") as file:
        file.write(np.float32(3).tobytes())
    with pytest.raises(ModelReadError, match="saturate it again"):
        Saturated.load(path)
    shutil.copy(tmp_path / "kept.data", tmp_path / "model.data")
    Saturated.load(path)
    source.unlink()
    with pytest.raises(ModelReadError, match=r"model\.onnx"):
        Saturated.load(path)


def test_a_model_of_other_bodies_is_refused(tmp_path: Path) -> None:
    path = saturate(branches(), rewrites=[]).save(tmp_path / "model.npz")
    with np.load(path) as arrays:
        other = ModelProto.FromString(arrays["model"].tobytes())
    (inner,) = (node for node in other.graph.node if node.op_type == "If")
    (relu,) = (n for n in inner.attribute[1].g.node if n.op_type == "Neg" and n.output[0] == "m")
    relu.op_type = "Abs"
    model = np.frombuffer(other.SerializeToString(), np.uint8)
    with pytest.raises(ModelReadError, match="saturate it again"):
        Saturated.load(rewritten(path, tmp_path / "other.npz", model=model))


def damaged_array(arrays: dict[str, np.ndarray], name: str, lot: random.Random) -> None:
    array = arrays[name] = arrays[name].copy()
    most = max(1, int(array.max(initial=0)) + 1)
    for _ in range(lot.randrange(1, 4)):
        array[lot.randrange(len(array))] = lot.choice((0, 1, 2, -1, 2**31 - 1, lot.randrange(most)))


def test_what_is_wrong_inside_is_refused_or_found_by_comparing(good: Path, tmp_path: Path) -> None:
    refused = 0
    for seed in range(60):
        lot = random.Random(seed)
        with np.load(good) as stored:
            arrays = dict(stored)
        damaged_array(arrays, lot.choice([name for name in arrays if name.startswith("0.")]), lot)
        np.savez_compressed(tmp_path / "damaged.npz", **arrays)
        try:
            loaded = Saturated.load(tmp_path / "damaged.npz")
        except ModelReadError:
            refused += 1
            continue
        assert loaded.extract("nodes").report.status in ("optimized", "unchanged", "fallback"), seed
    assert refused > 30


def test_terms_that_are_others_are_refused(good: Path, tmp_path: Path) -> None:
    with np.load(good) as stored:
        swapped = stored["0.term_node"].copy()
    swapped[[-1, -2]] = swapped[[-2, -1]]
    with pytest.raises(ModelReadError, match=r"not a saturated model: .*term .* of the model"):
        Saturated.load(rewritten(good, tmp_path / "swapped.npz", **{"0.term_node": swapped}))


def test_nothing_is_inflated_that_is_too_large(good: Path, tmp_path: Path) -> None:
    path = tmp_path / "large.npz"
    shutil.copy(good, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("bomb.npy", "w") as file:
        for _ in range(100):
            file.write(bytes(2**20))
    with pytest.raises(ModelReadError, match="would inflate to 10"):
        Saturated.load(path)


@pytest.mark.parametrize("shape", [(10**15,), (2, 2), (-4,)])
def test_arrays_that_are_larger_than_their_bytes_are_refused(
    good: Path, tmp_path: Path, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "header.npz"
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<i4", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(path, "w") as other:
        for name in archive.namelist():
            other.writestr(name, buffer.getvalue() if name == "0.child.npy" else archive.read(name))
    with pytest.raises(ModelReadError, match="an array of int32 and shape"):
        Saturated.load(path)


def test_deep_descriptions_are_refused(good: Path, tmp_path: Path) -> None:
    text = b"[" * 200_000 + b"]" * 200_000
    with pytest.raises(ModelReadError, match="not a saturated model"):
        Saturated.load(rewritten(good, tmp_path / "deep.npz", json=np.frombuffer(text, np.uint8)))


def test_settings_that_are_none_are_refused(good: Path, tmp_path: Path) -> None:
    for header in ({"limits": {"nodes": "many"}}, {}, {"limits": {}, "assume": 3}):
        with pytest.raises((ModelReadError, LimitsError)):
            Saturated.load(with_header(good, tmp_path / "settings.npz", header=header))
