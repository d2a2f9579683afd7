"""The report says of each costly node of the original why it costs, and what is computed there now."""

from __future__ import annotations

import subprocess
from pathlib import Path

from onnx import ModelProto, parser
from typer.testing import CliRunner

from egraph_opt import Report, optimize
from egraph_opt.cli import app
from egraph_opt.report.figures import CostlyNode

LONG_POOL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 16, 1024] x) => (float[1, 16, 1] y) {
   r = Relu (x)
   p = AveragePool <kernel_shape = [1024], strides = [1024]> (r)
   y = Sigmoid (p)
}"""


def model(text: str) -> ModelProto:
    return parser.parse_model(text)


def costly(text: str, cost: str = "ascend") -> tuple[CostlyNode, ...]:
    return tuple(optimize(model(text), cost, verify=False).report.cost.costly)


def test_a_pool_beyond_the_limits_is_named_with_what_came_instead() -> None:
    found = costly(LONG_POOL)
    pool = found[0]
    assert (pool.operator, pool.name) == ("AveragePool", "p")
    assert pool.why == "kernel 1024 above 255 (pool_kernel) runs on the AI CPU"
    assert pool.came == {"ReduceMean": 1}
    assert pool.after < pool.cost / 10 < pool.cost <= pool.before


def test_a_node_that_stays_is_bound_by_something_and_costs_the_same() -> None:
    (relu,) = costly(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[9] x) => (float[9] y) { y = Relu (x) }'
    )
    assert relu.why.startswith("bound by launch")
    assert (relu.came, relu.kept, relu.before) == ({}, True, relu.after)


def test_what_the_result_does_not_compute_has_nothing_instead() -> None:
    identity = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 9, 9] x) => (float[1, 9, 9] y) {
       t = Transpose <perm = [0, 2, 1]> (x)
       u = Transpose <perm = [0, 2, 1]> (t)
       y = Relu (u)
    }"""
    for entry in costly(identity):
        assert entry.came == {}
        assert entry.kept == (entry.operator == "Relu")
    assert {entry.operator for entry in costly(identity)} == {"Transpose", "Relu"}


def test_a_place_in_a_row_of_convolutions_is_that_of_one_kernel() -> None:
    inputs = ["x", "y0", "y1", "y2"]
    rows = [
        f"c{k} = Conv <pads = [1, 1, 1, 1]> ({x}, w) m{k} = Mul (c{k}, s) y{k} = Relu (m{k})"
        for k, x in enumerate(inputs)
    ]
    weights = ", ".join(["0.01"] * 16 * 16 * 9)
    convolutions = [
        entry
        for entry in costly(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 16, 20, 20] x) => (float[1, 16, 20, 20] y3)
        <float s = {{2}}, float[16, 16, 3, 3] w = {{{weights}}}> {{ {" ".join(rows)} }}""")
        if entry.operator == "Conv"
    ]
    assert len(convolutions) == 4
    for entry in convolutions:
        assert (entry.came, entry.went, entry.kept) == ({}, {"Mul": 1}, True)
        assert entry.cost < entry.before < 2 * entry.cost
        assert 0 < entry.after < entry.before


def test_nothing_is_costly_where_a_cost_model_gives_no_reason() -> None:
    assert not costly(LONG_POOL, "nodes")


def test_types_and_convolutions_beyond_the_limits_say_so() -> None:
    (product,) = costly("""<ir_version: 8, opset_import: ["" : 17]>
    g (int64[64, 64] x, int64[64, 64] z) => (int64[64, 64] y) { y = MatMul (x, z) }""")
    assert product.why == "MatMul of int64 runs on the AI CPU"
    (conv, *_) = costly("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3, 70, 70] x, float[4, 3, 3, 3] w) => (float[1, 4, 1, 1] y)
    { y = Conv <strides = [70, 70]> (x, w) }""")
    assert conv.why == "stride 70 above 63 (conv_stride): 10 times as slow"


def test_the_report_shows_reasons_and_the_command_that_builds_the_result(tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(model(LONG_POOL).SerializeToString())
    done = CliRunner().invoke(
        app, ["optimize", str(source), str(target), "--cost", "ascend", "-v", "--no-verify"]
    )
    text = " ".join(done.stdout.split())
    assert "costly in the original" in text
    assert "build with: atc" in text
    assert "--soc_version=Ascend310P3" in text
    pasted = subprocess.run(
        ["sh", "-c", 'atc() { printf "%s\\n" "$@"; }\n' + done.stdout.partition("build with:\n")[2]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert pasted.stdout.splitlines() == [
        f"--model={target}",
        "--framework=5",
        f"--output={target.with_suffix('')}",
        "--soc_version=Ascend310P3",
        "--input_shape=x:1,16,1024",
        "--precision_mode_v2=fp16",
    ]


def test_sizes_of_the_command_are_those_of_prices() -> None:
    text = LONG_POOL.replace("1, 16, 1024] x", "batch, 16, 1024] x").replace(
        "[1, 16, 1] y", "[batch, 16, 1] y"
    )
    report: Report = optimize(model(text), "ascend:910b1", verify=False, assume={"batch": 4}).report
    assert report.inputs == {"x": (4, 16, 1024)}
    assert "--soc_version=Ascend910B1 --input_shape=x:4,16,1024" in report.command
    assert report.to_dict()["command"] == report.command
    assert optimize(model(text), verify=False).report.command == ""
