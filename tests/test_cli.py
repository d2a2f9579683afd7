"""The command line: exit codes, one line for an error, tables, and files that are written or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner, Result

import egraph_opt.verification
from egraph_opt import errors
from egraph_opt.cli import app, exit_code, parse_assumption
from egraph_opt.cost_models.flops import Flops
from egraph_opt.facts.assumption import Assumption
from egraph_opt.laws.selection import all_laws
from egraph_opt.pipeline import stages, verified_graph
from egraph_opt.pipeline.limits import Limits


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_line(result: Result) -> str:
    """The one line on stderr; nothing else may be there."""
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """x: float[N, 3, 4] through two transposes that cancel out, and a Relu."""
    graph = helper.make_graph(
        [
            helper.make_node("Transpose", ["x"], ["a"], perm=[0, 2, 1], name="there"),
            helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1], name="back"),
            helper.make_node("Relu", ["b"], ["y"], name="relu"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3, 4])],
    )
    path = tmp_path / "in.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


def outputs_of(path: Path) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    return onnxruntime.InferenceSession(path).run(None, {"x": x})[0]


def test_a_model_is_optimized_and_written(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    result = run("optimize", model, target, "--cost", "nodes", "-v")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [node.op_type for node in onnx.load(target).graph.node] == ["Relu"]
    np.testing.assert_array_equal(outputs_of(target), outputs_of(model))
    rows = {line.split("  ")[0]: line.split() for line in result.stdout.splitlines()}
    assert rows["run-time nodes"][2:4] == ["3", "1"]
    assert rows["Transpose"][1:3] == ["2", "0"]
    assert "\x1b" not in result.stdout


def test_pages_may_go_into_one_stream_and_not_into_one_file(model: Path, tmp_path: Path) -> None:
    target, page = tmp_path / "out.onnx", tmp_path / "page"
    arguments = ("optimize", model, target, "--cost", "nodes", "--no-verify", "-q")
    streams = ("--report", "/dev/null", "--html", "/dev/null")
    assert run(*arguments, *streams).exit_code == 0
    assert run(*arguments[:2], "/dev/null", *arguments[3:], *streams).exit_code == 0
    target.unlink()
    for one, other in (("--report", "--html"), ("--html", "--certificate")):
        refused = run(*arguments, one, page, other, page)
        assert refused.exit_code == 2
        assert error_line(refused).endswith(
            "page: two things would be written there: name another file for one"
        )
    assert sorted(tmp_path.iterdir()) == [model]


def piped(*arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "egraph_opt.cli", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, check=False)


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_a_model_goes_through_pipes(model: Path, target: str) -> None:
    done = piped("optimize", "-", target, "--cost", "nodes", "-q", given=model.read_bytes())
    assert done.returncode == 0, done.stderr
    assert [node.op_type for node in onnx.ModelProto.FromString(done.stdout).graph.node] == ["Relu"]
    assert done.stderr.startswith(b"-: optimized")


def test_one_thing_is_written_to_stdout(model: Path) -> None:
    result = run("optimize", model, "-", "--cost", "nodes", "--report", "-")
    assert result.exit_code != 0
    assert "name another file for the report" in error_line(result)


def test_the_report_is_written_as_json(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = run("optimize", model, tmp_path / "out.onnx", "--cost", "nodes", "--report", report)
    assert result.exit_code == 0
    stored = json.loads(report.read_text())
    assert stored["status"] == "optimized"
    assert stored["nodes"] == {"before": 3, "after": 1, "runtime_before": 3, "runtime_after": 1}
    assert stored["cost"]["model"] == "nodes"
    assert stored["verification"]["status"] == "passed"


def test_options_reach_the_pipeline(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    original = stages.optimize

    def spy(source: object, cost: object, **options: object) -> object:
        seen.update(options, source=source, cost=cost)
        return original(source, cost, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(stages, "optimize", spy)
    rulesets = sorted({law.ruleset for law in all_laws()})[:2]
    result = run(
        *("optimize", model, tmp_path / "out.onnx", "--cost", "flops", "--rewrites", ", ".join(rulesets)),
        *("--limit-nodes", 1000, "--limit-seconds", 9.5, "--assume", "x=-1..2.5", "--assume", "N=2..3"),
        *("--no-verify", "--strict", "--seed", 7, "--memory-limit", "1.5MiB"),
        *("--extractor", "greedy-dag", "--limit-memory", "2GiB", "--fold-quantized"),
    )
    assert result.exit_code == 0, result.output
    assert isinstance(seen["cost"], Flops)
    assert seen["rewrites"] == rulesets
    assert seen["limits"] == Limits(1000, seconds=9.5, memory_bytes=2**31, fold_quantized=True)
    assert seen["assume"] == {"x": Assumption(-1, 2.5), "N": Assumption(2, 3)}
    assert seen["objective"] == ("cost", 3 * 2**19)
    assert seen["extractor"] == "greedy-dag"
    assert (seen["verify"], seen["strict"], seen["seed"]) == (False, True, 7)


def test_nothing_to_do_is_success(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "in.onnx")
    result = run("optimize", tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert result.exit_code == 0
    assert result.stdout.startswith("unchanged")
    assert (tmp_path / "out.onnx").is_file()


def test_an_opset_that_is_too_old_is_handed_on_unchanged(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)]), source)
    result = run("optimize", source, target)
    assert result.exit_code == 0
    assert "opset 6" in result.stdout
    assert target.read_bytes() == source.read_bytes()


def test_the_input_is_replaced_only_in_place(model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    result = run("optimize", model, model)
    assert result.exit_code == 2
    assert "--in-place" in error_line(result)
    assert model.read_bytes() == before
    assert run("optimize", model, model, "--in-place", "--cost", "nodes").exit_code == 0
    assert len(onnx.load(model).graph.node) == 1
    assert os.listdir(tmp_path) == ["in.onnx"]


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "no such file"), (b"", "empty"), (b"no model at all", "not a protobuf")]
)
def test_a_file_that_is_no_model_exits_with_1_and_one_line(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    if content is not None:
        source.write_bytes(content)
    result = run("optimize", source, target)
    assert result.exit_code == 1
    assert problem in error_line(result)
    assert str(source) in error_line(result)
    assert not target.exists()


def test_an_invalid_model_exits_with_1_and_names_the_node(model: Path, tmp_path: Path) -> None:
    broken = onnx.load(model)
    broken.graph.node[2].input[0] = "nowhere"
    model.write_bytes(broken.SerializeToString())
    result = run("optimize", model, tmp_path / "out.onnx")
    assert result.exit_code == 1
    assert "node 'relu' (Relu) uses 'nowhere'" in error_line(result)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--cost", "asend"), "did you mean 'ascend'?"),
        (("--rewrites", "no_such_ruleset"), "unknown ruleset 'no_such_ruleset'"),
        (("--extractor", "exakt"), "did you mean 'exact'?"),
        (("--limit-nodes", "0"), "must be a positive number"),
        (("--limit-seconds", "-1"), "must be a positive number"),
        (("--limit-seconds", "nan"), "must be a positive number"),
        (("--objective", "memroy"), "did you mean 'memory'?"),
        (("--limit-memory", "some"), "'some' is not a number of bytes"),
        (("--memory-limit", "much"), "'much' is not a number of bytes"),
        (("--objective", "memory", "--memory-limit", "1MiB"), "--memory-limit is for --objective cost"),
        (("--report", "no/such/folder.json"), "the report cannot be written there"),
    ],
)
def test_wrong_usage_exits_with_2_and_one_line(
    model: Path, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    result = run("optimize", model, tmp_path / "out.onnx", *options)
    assert result.exit_code == 2
    assert problem in error_line(result)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    "text", ["x", "x=", "x=a..b", "x=2..1", "=1..2", "x=nan..nan", "x=banana", "x=32*..70*"]
)
def test_an_assumption_has_a_name_and_two_numbers_in_order(model: Path, tmp_path: Path, text: str) -> None:
    result = run("optimize", model, tmp_path / "out.onnx", "--assume", text)
    assert result.exit_code == 2
    assert "NAME=LO..HI" in result.stderr


def test_an_exactness_is_kept_and_told(model: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out.onnx", tmp_path / "report.json"
    result = run("optimize", model, out, "--cost", "nodes", "--exactness", "bitwise", "--report", report)
    assert result.exit_code == 0, result.output
    told = json.loads(report.read_text())["exactness"]
    assert told["asked"] == "bitwise" and set(told["matched"]) <= {"bitwise"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--exactness", "bits"], "exactness is 'bits', and not one of bitwise, finite, real"),
        (["--exactness", "finite", "--rewrites", "default,approximate"], "leaves out all of 'approximate'"),
    ],
)
def test_an_exactness_that_cannot_be_kept_exits_with_2(
    model: Path, tmp_path: Path, options: list[str], problem: str
) -> None:
    result = run("optimize", model, tmp_path / "out.onnx", "--cost", "nodes", *options)
    assert result.exit_code == 2
    assert problem in error_line(result)
    assert not list(tmp_path.glob("out*"))


def test_assumptions_are_parsed() -> None:
    assert parse_assumption("x=1..2") == ("x", Assumption(1, 2))
    assert parse_assumption("a=b=-1e3..0.5") == ("a=b", Assumption(-1000.0, 0.5))
    assert parse_assumption("2*L+1=64") == ("2*L+1", Assumption(64, 64))
    assert parse_assumption("H=32*..640*") == ("H", Assumption(32, 640, 32))
    assert all(isinstance(bound, int) for bound in parse_assumption("n=1..2")[1])


def test_missing_arguments_and_unknown_options_exit_with_2(model: Path) -> None:
    assert run("optimize", model).exit_code == 2
    assert run("optimize", model, "out.onnx", "--bogus").exit_code == 2
    assert run("bogus").exit_code == 2


@pytest.fixture
def wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let verification find a difference in whatever it is given."""
    failed = egraph_opt.verification.Verification("failed", 3.0, 1.0, [0], "output 'y' differs by 3")
    monkeypatch.setattr(verified_graph, "check_outputs", lambda *_, **__: failed)


@pytest.mark.usefixtures("wrong_result")
def test_a_wrong_result_falls_back_to_the_original_with_a_warning(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    result = run("optimize", model, target)
    assert result.exit_code == 0
    assert "the original was written" in error_line(result)
    assert "output 'y' differs by 3" in error_line(result)
    assert result.stdout.startswith("fallback")
    assert target.read_bytes() == model.read_bytes()


@pytest.mark.usefixtures("wrong_result")
def test_a_wrong_result_under_strict_exits_with_3_and_writes_nothing(model: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = run("optimize", model, tmp_path / "out.onnx", "--strict", "--report", report)
    assert result.exit_code == 3
    assert "output 'y' differs by 3" in error_line(result)
    assert os.listdir(tmp_path) == ["in.onnx"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ModelReadError("x"), 1),
        (errors.InvalidModelError("x"), 1),
        (errors.ExternalDataError("x"), 1),
        (errors.LimitsError("x"), 2),
        (errors.UnknownCostModelError("x", []), 2),
        (errors.UnknownRulesetError("x", []), 2),
        (errors.OutputError("x"), 2),
        (errors.VerificationError("x"), 3),
        (errors.UnsoundLawError("x"), 3),
    ],
)
def test_every_error_has_its_exit_code(error: errors.EgraphOptError, code: int) -> None:
    assert exit_code(error) == code


def test_the_installed_command_knows_its_version() -> None:
    command = Path(sys.executable).with_name("egraph-opt")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "egraph-opt"


def test_weights_in_files_stay_in_files(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1000])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1000])],
        [numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w")],
    )
    source = tmp_path / "in.onnx"
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(proto, source, save_as_external_data=True, location="in.data", size_threshold=0)
    assert run("optimize", source, tmp_path / "out.onnx").exit_code == 0
    assert sorted(os.listdir(tmp_path)) == ["in.data", "in.onnx", "out.onnx", "out.onnx.data"]


def test_a_dry_run_writes_no_model(model: Path, tmp_path: Path) -> None:
    for arguments in ((model,), (model, tmp_path / "out.onnx")):
        result = run("optimize", *arguments, "--cost", "nodes", "--dry-run")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("optimized: 3 -> 1 node")
        assert "no file is written" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["in.onnx"]


def test_the_file_to_write_is_needed_otherwise(model: Path) -> None:
    result = run("optimize", model, "--cost", "nodes")
    assert result.exit_code == 2
    assert "--dry-run writes none" in result.stderr


def test_one_line_is_all_that_a_quiet_run_prints(model: Path, tmp_path: Path) -> None:
    result = run("optimize", model, tmp_path / "out.onnx", "--cost", "nodes", "-q")
    (line,) = result.stdout.splitlines()
    assert line == f"{model}: optimized: 3 -> 1 node (-66.7 %), verified"
    assert (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("option", ["--report", "--json"])
def test_a_report_on_stdout_is_json_and_nothing_else(model: Path, tmp_path: Path, option: str) -> None:
    result = run("optimize", model, tmp_path / "out.onnx", "--cost", "nodes", option, "-")
    assert json.loads(result.stdout)["nodes"]["runtime_after"] == 1
    assert (tmp_path / "out.onnx").exists()
    assert not Path("-").exists()
