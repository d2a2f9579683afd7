"""A choice for several sizes: priced at their mean, timed at each, and slower than the original at none."""

from __future__ import annotations

import json
import sys
import textwrap
from math import prod
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import Runner, optimize, saturate
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.cli import app
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.errors import InputShapeError
from egraph_opt.measurement.whole import Latency
from egraph_opt.pipeline.fastest import best_of, mean_latency

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,8] x, float[N,M] z) => (float[N,8] y, float[N,M] w) { y = Softmax <axis = -1> (x) w = Neg (z) }
"""

PRIMITIVES = ("default", "composites.primitives")


class Board(CostModel):
    """A Softmax that takes as long as it has elements, and other kernels that take ten whatever they have."""

    name = "board"
    unit = "us"
    elsewhere = True

    def cost(self, node: NodeView) -> float:
        return float(prod(node.outputs[0].shape or ())) if node.op_type == "Softmax" else 10.0  # type: ignore[arg-type]


DEVICE = """
    import json, math, sys, onnx

    for file in sys.argv[1:]:
        graph = onnx.load(file).graph
        n = graph.input[0].type.tensor_type.shape.dim[0].dim_value
        whole = any(node.op_type == "Softmax" for node in graph.node)
        print(json.dumps({"model": file, "micros": 10 + 8 * n if whole else SPELLED, "device": "d"}))
"""


def device(folder: Path, spelled: float) -> Runner:
    script = folder / "device.py"
    script.write_text(textwrap.dedent(DEVICE).replace("SPELLED", str(spelled)))
    return Runner(f"{sys.executable} {script} {{models}}", graphs=1, rounds=1)


@pytest.fixture
def model() -> onnx.ModelProto:
    return parser.parse_model(MODEL)


def operators(proto: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in proto.graph.node}


@pytest.mark.parametrize(
    ("sizes", "before", "whole"),
    [
        ([{"N": 1}], 18.0, True),
        ([{"N": 100}], 810.0, False),
        ([{"N": 1}, {"N": 100}], 10 + (8 + 800) / 2, False),
        ([({"N": 1}, 99.0), {"N": 100}], 10 + 0.99 * 8 + 0.01 * 800, True),
        ({"x": "1,100@0.5"}, 10 + (2 * 8 + 800) / 3, False),
        ({"z": "1x4@99,100x4", "x": "1,100"}, 10 + 0.99 * 8 + 0.01 * 800, True),
    ],
)
def test_the_mean_decides(model: onnx.ModelProto, sizes: object, before: float, whole: bool) -> None:
    result = optimize(model, Board(), rewrites=PRIMITIVES, sizes=sizes)  # type: ignore[arg-type]
    assert result.report.cost.before == pytest.approx(before)
    assert ("Softmax" in operators(result.model)) == whole
    assert result.report.cost.after <= before + 1e-9
    assert len(result.report.cost.sizes) == (0 if len(sizes) == 1 and isinstance(sizes, list) else 2)  # type: ignore[arg-type]


def test_a_result_that_is_slower_at_one_size_is_not_handed_out(
    tmp_path: Path, model: onnx.ModelProto
) -> None:
    """Spelled out it takes a quarter in the mean, and twice as long as the original at N=1."""
    sizes = [{"N": 1}, {"N": 100}]
    asked = {"rewrites": PRIMITIVES, "sizes": sizes}
    report = optimize(model, Board(), measure=device(tmp_path, 36.0), **asked).report  # type: ignore[arg-type]
    assert report.status == "unchanged"
    assert "100.0 % slower" in report.reason and report.reason.endswith("at N=1")
    assert report.latency is not None
    assert [(at.dims, at.before, at.after) for at in report.latency.sizes] == [
        ({"N": 1}, 18.0, 36.0),
        ({"N": 100}, 810.0, 36.0),
    ]
    good = optimize(model, Board(), measure=device(tmp_path, 18.0), **asked).report  # type: ignore[arg-type]
    assert good.status == "optimized" and good.latency is not None
    assert (good.latency.before, good.latency.after, good.latency.speedup) == (414.0, 18.0, 23.0)


@pytest.mark.parametrize(("sizes", "n"), [(None, 1), ([{"N": 100}], 100)])
def test_a_device_gets_one_size_written_in_and_the_sizes_of_prices_where_none_is_said(
    tmp_path: Path, sizes: list[dict[str, int]] | None, n: int
) -> None:
    """Also where it profiles: it is told no sizes of dims."""
    runner = device(tmp_path, 18.0)
    script = tmp_path / "device.py"
    script.write_text(script.read_text() + LOGGED)
    thrice = parser.parse_model(MODEL.replace("w = Neg (z)", "a = Neg (z) b = Neg (a) w = Neg (b)"))
    latency = optimize(thrice, Board(), rewrites=PRIMITIVES, sizes=sizes, measure=runner).report.latency
    assert latency is not None
    assert latency.before == 10 + 8 * n
    assert set((tmp_path / "log").read_text().split()) == {str(n)}


LOGGED = """
with open(__file__.replace("device.py", "log"), "a") as log:
    for file in sys.argv[1:]:
        print(onnx.load(file).graph.input[0].type.tensor_type.shape.dim[0].dim_value, file=log)
"""


def test_at_each_size_the_runtime_runs_what_is_timed(model: onnx.ModelProto) -> None:
    twice = parser.parse_model(MODEL.replace("w = Neg (z)", "a = Neg (z) b = Neg (a) w = Neg (b)"))
    latency = optimize(twice, "nodes", measure=2, sizes=[{"N": 2, "M": 3}, {"N": 64, "M": 5}]).report.latency
    assert latency is not None
    assert [at.dims for at in latency.sizes] in ([], [{"N": 2, "M": 3}, {"N": 64, "M": 5}])
    assert not latency.reason.startswith("not timed")


def test_the_mean_of_ratios_is_that_of_times() -> None:
    first = [Latency(10.0, 1, 1, 1, 9), Latency(100.0, 1, 1, 1, 9)]
    own = [Latency(5.0, 2.0, 1.9, 2.1, 9), Latency(100.0, 1.0, 0.9, 1.1, 9)]
    mean = mean_latency(own, first, [0.5, 0.5])
    assert mean.micros == 52.5
    assert mean.speedup == pytest.approx(55 / 52.5)
    assert mean.low < mean.speedup < mean.high
    assert mean_latency([own[0], Latency(1.0, 0.0, 0.0, 0.0, 0)], first, [0.5, 0.5]).speedup == 0.0


@pytest.mark.parametrize(
    ("speedups", "slowest", "best"),
    [
        ([1.2, 1.5], [1.1, 0.9], 0),
        ([0.9, 1.5], [0.9, 1.2], 1),
        ([1.2, 1.21], [1.1, 1.1], 0),
        ([1.2, 1.5], [1.1, 1.1], 1),
        ([0.9, 0.95], [0.9, 0.8], 0),
    ],
)
def test_what_is_slower_somewhere_is_never_preferred(
    speedups: list[float], slowest: list[float], best: int
) -> None:
    found = [Latency(1.0, speed, speed - 0.05, speed + 0.05, 9) for speed in speedups]
    assert best_of(found, slowest) == best


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"x": "1x2"}, "has 1 symbolic dims (N), not 2"),
        ({"x": "0"}, "says no sizes"),
        ({"x": ""}, "says no sizes"),
        ({"x": "1@0"}, "says no sizes"),
        ({"x": "1@nan"}, "says no sizes"),
        ({"x": "1;2"}, "says no sizes"),
        ({"xs": "1"}, "no input is named 'xs'"),
        ({"x": "1,2", "z": "1x2"}, "2 of one input and 1 of 'z'"),
        ({"x": "1,2", "z": "1x2,3x2"}, "two inputs say something else"),
        ({"x": 3}, "sizes: {'x': 3} says none"),
        ("x:1", "sizes: 'x:1' says none"),
        ([{"K": 3}], "no input has a dim 'K'"),
        ([{"N": 0}], "says no sizes"),
        ([({"N": 1}, -1)], "says no sizes"),
        ([7], "says no sizes"),
        ([{"N": 9}], "assumed to be 1 to 8, not 9"),
    ],
)
def test_sizes_that_say_nothing_are_refused(model: onnx.ModelProto, sizes: object, said: str) -> None:
    with pytest.raises(InputShapeError) as error:
        optimize(model, assume={"N": "1..8"}, sizes=sizes)  # type: ignore[arg-type]
    assert said in str(error.value)


def test_a_size_at_which_the_model_does_not_run_is_refused() -> None:
    fixed = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N,8] x) => (float[2,M] y) <int64[2] s = {2, 12}> { r = Reshape (x, s) y = Neg (r) }
        """
    )
    with pytest.raises(InputShapeError, match="it does not run at N=5"):
        optimize(fixed, sizes=[{"N": 3}, {"N": 5}])


def test_there_is_no_certificate_of_a_choice_for_several_sizes(model: onnx.ModelProto) -> None:
    result = optimize(model, Board(), rewrites=PRIMITIVES, sizes=[{"N": 1}, {"N": 100}], record=True)
    with pytest.raises(CertificateError, match="several sizes"):
        result.certificate()


def test_one_graph_is_chosen_for_each_question(model: onnx.ModelProto) -> None:
    saturated = saturate(model, rewrites=PRIMITIVES)
    found = [
        saturated.extract(Board(), sizes=[size], measure=False) for size in ({"N": 1}, {"N": 100}, {"N": 1})
    ]
    assert ["Softmax" in operators(result.model) for result in found] == [True, False, True]


def test_the_command_takes_them(tmp_path: Path, model: onnx.ModelProto) -> None:
    onnx.save(model, tmp_path / "in.onnx")
    files = [str(tmp_path / name) for name in ("in.onnx", "out.onnx")]
    report = tmp_path / "report.json"
    tool = CliRunner()
    done = tool.invoke(app, ["optimize", *files, "--sizes", "z:1x4,100x8@3", "--report", str(report)])
    assert done.exit_code == 0, done.output
    sizes = json.loads(report.read_text())["cost"]["sizes"]
    assert sizes == [{"dims": {"N": 1, "M": 4}, "weight": 0.25}, {"dims": {"N": 100, "M": 8}, "weight": 0.75}]
    for wrong, said in (["--sizes", "z:1"], "2 symbolic dims"), (["--sizes", "z:1x4,9x9"] * 2, "twice"):
        bad = tool.invoke(app, ["optimize", *files, *wrong])
        assert bad.exit_code == 2 and said in bad.output
    proof = ["--sizes", "z:1x4,9x9", "--certificate", str(tmp_path / "c")]
    assert "no bound" in tool.invoke(app, ["optimize", *files, *proof]).output


def test_reports_of_a_choice_for_several_sizes_are_whole(model: onnx.ModelProto) -> None:
    result = optimize(model, Board(), rewrites=PRIMITIVES, sizes=[{"N": 1}, {"N": 100}])
    assert "Softmax" in str(result.explain())
    assert result.report.to_html().endswith("</html>")
    assert json.loads(json.dumps(result.report.to_dict()))["cost"]["sizes"][1] == {
        "dims": {"N": 100},
        "weight": 0.5,
    }
