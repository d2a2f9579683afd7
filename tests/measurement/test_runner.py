"""Models timed by a command: what it may answer, what goes wrong with it, and what that decides."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from pathlib import Path

import onnx
import pytest
from onnx import parser
from typer.testing import CliRunner

from egraph_opt import Runner, optimize
from egraph_opt.cli import app
from egraph_opt.errors import ArgumentError, TimingError
from egraph_opt.measurement.device_call import CallError, DeviceAnswer, _together
from egraph_opt.measurement.times_journal import latencies_on

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
example (float[8, 8] x) => (float[8, 8] y) { a = Neg (x) b = Neg (a) y = Relu (b) }
"""

PER_NODE = """
    import json, sys, onnx
    print("a line that is no answer")
    print(json.dumps([{"micros": 10 * len(onnx.load(f).graph.node), "device": "d"} for f in sys.argv[1:]]))
"""
"""A device that takes ten microseconds a node."""


def command(folder: Path, code: str, files: str = "{models}") -> str:
    script = folder / "device.py"
    script.write_text(textwrap.dedent(code))
    return f"{sys.executable} {script} {files}"


@pytest.fixture
def model() -> onnx.ModelProto:
    return parser.parse_model(MODEL)


@pytest.fixture
def files(tmp_path: Path, model: onnx.ModelProto) -> list[Path]:
    found = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    for k, path in enumerate(found):
        model.graph.name = f"g{k}"
        onnx.save(model, path)
    return found


def test_the_command_decides(tmp_path: Path, model: onnx.ModelProto) -> None:
    result = optimize(model, measure=Runner(command(tmp_path, PER_NODE)))
    latency = result.report.latency
    assert result.report.status == "optimized"
    assert latency is not None
    assert (latency.before, latency.after, latency.speedup) == (30.0, 10.0, 3.0)
    assert "device.py" in latency.runtime


def test_what_is_slower_there_is_not_handed_out(tmp_path: Path, model: onnx.ModelProto) -> None:
    backwards = PER_NODE.replace("10 * len(onnx.load(f).graph.node)", "1 / len(onnx.load(f).graph.node)")
    result = optimize(model, cost="ascend", measure=Runner(command(tmp_path, backwards)))
    assert result.report.status != "optimized"
    assert "slower" in str(result.report)
    assert len(onnx.load_from_string(result.to_bytes()).graph.node) == 3


def test_a_result_that_the_device_refuses_is_not_handed_out(tmp_path: Path, model: onnx.ModelProto) -> None:
    code = """
        import json, sys, onnx
        many = [len(onnx.load(f).graph.node) > 1 for f in sys.argv[1:]]
        print(json.dumps([{"micros": 5} if ok else {"error": "no such kernel"} for ok in many]))
    """
    result = optimize(model, measure=Runner(command(tmp_path, code)))
    assert len(onnx.load_from_string(result.to_bytes()).graph.node) == 3


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no board')", "failed with 1: no board"),
        ("print('hello')", "printed no JSON: 'hello'"),
        ("print('[]')", "answered for 0 of 1 models"),
        ("print('[3]')", "no object: 3"),
        ("""print('{"micros": -1}')""", "`micros` is -1"),
        ("""print('{"micros": true}')""", "`micros` is True"),
        ("""print('{"error": "no memory"}')""", "no memory"),
        ("import os; os.abort()", "failed with -6"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(
    tmp_path: Path, files: list[Path], code: str, said: str
) -> None:
    asked = Runner(command(tmp_path, code, "{model}"), timeout=0.5 if "sleep" in code else 60, retries=0)
    begun = time.monotonic()
    (answer,) = asked.time(files[:1])
    assert said in answer.error
    assert time.monotonic() - begun < 30
    with pytest.raises(TimingError, match="the original"):
        latencies_on(asked, files)


@pytest.mark.parametrize(
    "of", ["file", "os.path.basename(file)", "'/on/the/board/' + os.path.basename(file)"]
)
def test_answers_of_a_list_are_of_the_files_that_they_name(
    tmp_path: Path, files: list[Path], of: str
) -> None:
    code = f"""
        import json, os, sys, onnx
        names = {{file: onnx.load(file).graph.name for file in sys.argv[1:]}}
        answers = [{{"model": {of}, "micros": 1 + int(name[1:])}} for file, name in names.items()]
        print(json.dumps(answers[::-1]))
    """
    answers = Runner(command(tmp_path, code)).time(files)
    assert [answer.micros for answer in answers] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("models", "numbers"),
    [
        (["", ""], [0, 1]),
        (["resnet", "vgg"], [0, 1]),
        (["a/x.onnx", ""], [0, 1]),
        (["b/x.onnx", "a/x.onnx"], [1, 0]),
        (["b/x.onnx", ""], None),
        (["a/x.onnx", "a/x.onnx"], None),
    ],
)
def test_names_and_order_of_answers_do_not_contradict_each_other(
    models: list[str], numbers: list[int] | None
) -> None:
    lines = [json.dumps([{"model": model, "micros": k + 1.0} for k, model in enumerate(models)])]
    if numbers is None:
        with pytest.raises(CallError, match="and others are in order"):
            _together(lines, ["a/x.onnx", "b/x.onnx"])
    else:
        found = _together(lines, ["a/x.onnx", "b/x.onnx"])
        assert [found[number].micros for number in numbers] == [1.0, 2.0]


def test_a_model_keeps_its_result_where_nothing_can_be_timed(tmp_path: Path, model: onnx.ModelProto) -> None:
    result = optimize(model, measure=Runner("/no/such/command {model}", retries=0))
    assert result.report.status == "optimized"
    assert result.report.latency is not None
    assert "cannot be started" in result.report.latency.reason


def test_a_call_that_failed_is_made_again(tmp_path: Path, files: list[Path]) -> None:
    code = """
        import pathlib, sys
        once = pathlib.Path(__file__).with_suffix(".once")
        if not once.exists():
            once.touch()
            sys.exit("busy")
        print('{"micros": 4, "device": "d"}')
    """
    assert Runner(command(tmp_path, code, "{model}")).time(files[:1]) == [DeviceAnswer(4.0, "d")]


def test_a_journal_goes_on_where_a_process_was_killed(tmp_path: Path, files: list[Path]) -> None:
    code = """
        import pathlib, sys
        calls = pathlib.Path(__file__).with_suffix(".calls")
        with calls.open("a") as file:
            print("call", file=file)
        print('{"micros": 4, "device": "d"}')
    """
    journal, calls = tmp_path / "journal", tmp_path / "device.calls"
    asked = Runner(command(tmp_path, code, "{model}"), journal=journal)
    first = latencies_on(asked, files)
    assert len(calls.read_text().split()) == 6
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:4]) + "\n" + lines[4][:20])
    assert latencies_on(asked, files) == first
    assert len(calls.read_text().split()) == 8
    assert latencies_on(asked, files) == first
    assert len(calls.read_text().split()) == 8
    other = [json.dumps({**json.loads(lines[0]), "device": "another"}), *lines[1:]]
    journal.write_text("\n".join(other) + "\n")
    with pytest.raises(TimingError, match="several devices: 'another', 'd'"):
        latencies_on(asked, files)


def test_many_models_are_one_call(tmp_path: Path, model: onnx.ModelProto) -> None:
    code = PER_NODE + '    open(__file__ + ".calls", "a").write("x")\n'
    paths = [tmp_path / f"{k}.onnx" for k in range(200)]
    for path in paths:
        onnx.save(model, path)
    answers = Runner(command(tmp_path, code)).time(paths)
    assert answers == [DeviceAnswer(30.0, "d")] * 200
    assert (tmp_path / "device.py.calls").read_text() == "x"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": "time.sh"}, "{model}"),
        ({"command": "time.sh '{model}"}, "quotation"),
        ({"command": "time.sh {model}", "graphs": 0}, "1 or more"),
        ({"command": "time.sh {model}", "timeout": 0}, "above 0"),
    ],
)
def test_a_runner_that_makes_no_sense_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        Runner(**given)  # type: ignore[arg-type]


def test_the_commands_fit_together(tmp_path: Path, files: list[Path]) -> None:
    """What `runner time` prints is what `--runner` reads, of both runtimes that are here."""
    tool, named = CliRunner(), tmp_path / "named.onnx"
    model = onnx.load(files[0])
    for k, node in enumerate(model.graph.node):
        node.name = f"n{k}"
    onnx.save(model, named)
    for runtime in ("onnxruntime", "openvino"):
        answer = tool.invoke(app, ["runner", "time", "--runtime", runtime, *map(str, files)])
        assert answer.exit_code == 0, answer.output
        entries = [json.loads(line) for line in answer.stdout.splitlines()]
        assert [entry["model"] for entry in entries] == list(map(str, files))
        assert all(entry["micros"] > 0 and entry["device"] for entry in entries)
        shown = tool.invoke(app, ["runner", "time", "--nodes", "--runtime", runtime, str(named)])
        nodes = json.loads(shown.stdout)["nodes"]
        assert nodes and set(nodes) <= {"x", "a", "b", "y", "n0", "n1", "n2"}
    bad = tool.invoke(app, ["runner", "time", str(tmp_path / "none.onnx")])
    assert "error" in json.loads(bad.stdout)
    nameless = json.loads(tool.invoke(app, ["runner", "time", "--nodes", str(files[0])]).stdout)
    assert {"a", "b", "y"} & nameless["nodes"].keys()
    unknown = tool.invoke(app, ["runner", "time", "--runtime", "tensorrt", str(files[0])])
    assert unknown.exit_code == 1
    assert "unknown runtime 'tensorrt'" in unknown.output
    device = command(tmp_path, PER_NODE)
    assert tool.invoke(app, ["runner", "check", device]).stdout == "20 us on d\n"
    assert tool.invoke(app, ["runner", "check", f"{sys.executable} -c 1 {{model}}"]).exit_code == 1
    out = tmp_path / "out.onnx"
    done = tool.invoke(app, ["optimize", str(files[0]), str(out), "--runner", device])
    assert done.exit_code == 0, done.output
    assert "30 -> 10 us" in done.stdout


@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe", b"[" * 200_000, b'{"command": "c", "model": "m", "round": 1e999}', b"[]", b'"x"', b"{}"],
)
def test_lines_of_a_journal_that_are_damaged_are_passed_over(
    tmp_path: Path, files: list[Path], line: bytes
) -> None:
    (tmp_path / "journal").write_bytes(line + b"\n")
    asked = Runner(command(tmp_path, PER_NODE), journal=tmp_path / "journal", rounds=1)
    assert [each.micros for each in latencies_on(asked, files)] == [30.0, 30.0]  # type: ignore[union-attr]
    assert len((tmp_path / "journal").read_bytes().splitlines()) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_journal_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("-"), Path(os.devnull)):
        with pytest.raises(ArgumentError, match="is no file that can be read again"):
            Runner("time {model}", journal=path)


def test_an_answer_that_is_too_deep_is_none(tmp_path: Path, files: list[Path]) -> None:
    with pytest.raises(TimingError, match="printed no JSON"):
        latencies_on(Runner(command(tmp_path, 'print("[" * 200_000)', "{model}"), retries=0), files)
