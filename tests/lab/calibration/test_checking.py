"""`check-profile` puts predictions next to measurements, by the names of nodes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner, Result

from egraph_opt import cost_model
from egraph_opt.cli import app

from .made_profiles import Kernel, write

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 64, 64] x, float[64, 64] w) => (float[n, 64, 64] y) {
   p = MatMul (x, w)
   r = Relu (p)
   s = Sigmoid (r)
   y = Transpose <perm = [0, 2, 1]> (s)
}"""


def kernels() -> list[Kernel]:
    return [
        Kernel("MatMulV2", "256,64;64,64", "256,64", name="productactive"),
        Kernel("Sigmoid", "4,64,64", "4,64,64", core="AI_VECTOR_CORE", name="gate"),
        Kernel("TransData", "1,16,64,64", "1,1,64,64,16", ("NCHW", "NC1HWC0"), name="trans_TransData_1"),
        Kernel("SomethingNew", "4,4", "4,4", name="odd"),
    ]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    model = parser.parse_model(MODEL)
    for node, name in zip(model.graph.node, ("product", "active", "gate", "turned"), strict=True):
        node.name = name
    path = tmp_path / "out.onnx"
    onnx.save(model, path)
    known = [kernel for kernel in kernels() if kernel.type != "SomethingNew"]
    profile = write(tmp_path / "op_summary.csv", known, cost_model("ascend", {"fixed_vector_us": 9.0}))
    cells = profile.read_text().splitlines()[2].replace("gate", "odd").replace("Sigmoid", "SomethingNew")
    profile.write_text(f"{profile.read_text()}{cells}\n")
    return profile, path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["check-profile", *map(str, arguments)])


def test_predicted_and_measured_are_matched_by_name(files: tuple[Path, Path]) -> None:
    found = json.loads(run(*files, "--dim", "n=4", "--json").stdout)
    by_type = {kernel["type"]: kernel for kernel in found["kernels"]}
    assert by_type["MatMulV2"]["nodes"] == ["product", "active"]
    assert by_type["MatMulV2"]["predicted"] == pytest.approx(by_type["MatMulV2"]["measured"], rel=1e-3)
    gate = by_type["Sigmoid"]
    assert gate["nodes"] == ["gate"]
    assert gate["measured"] - gate["predicted"] == pytest.approx(7.0, rel=1e-3)
    assert by_type["TransData"]["nodes"] == []
    assert by_type["TransData"]["predicted"] == pytest.approx(by_type["TransData"]["measured"], rel=1e-3)
    assert by_type["SomethingNew"]["predicted"] is None
    assert by_type["SomethingNew"]["remark"] == "unknown type SomethingNew"
    assert found["silent"] == ["turned"]
    assert found["unpriced"] == pytest.approx(by_type["SomethingNew"]["measured"])
    priced = [kernel["measured"] for kernel in found["kernels"] if kernel["predicted"] is not None]
    assert found["measured"] == pytest.approx(sum(priced))


def test_what_differs_most_comes_first_in_80_columns(files: tuple[Path, Path]) -> None:
    lines = run(*files, "--dim", "n=4", "--most", "2").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    header = next(k for k, line in enumerate(lines) if line.endswith("kernel and nodes"))
    assert lines[header + 1].endswith("Sigmoid: gate")
    assert "2 more" in " ".join(lines)
    assert any(line.endswith("all that are priced, in us") for line in lines)


def test_a_profile_of_another_model_or_without_kernels_is_an_error(files: tuple[Path, Path]) -> None:
    profile, model = files
    others = [replace(kernel, name=f"other_{k}") for k, kernel in enumerate(kernels()[:2])]
    wrong = write(profile.with_name("other.csv"), others, cost_model("ascend"))
    failed = run(wrong, model)
    assert failed.exit_code == 2
    assert "no kernel has the name of a node" in failed.stderr
    sums = profile.with_name("op_statistic.csv")
    sums.write_text("Device_id,OP Type,Core Type,Count,Avg Time(us)\n0,Relu,AI_CORE,1,2.0\n")
    assert "no kernels with names" in run(sums, model).stderr
    assert run(profile, model, "--dim", "n=x").exit_code == 2
