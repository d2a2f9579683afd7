"""onnxruntime in a process of its own: a kernel that crashes ends that one, and is named."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, parser
from typer.testing import CliRunner

from egraph_opt import imports, optimize
from egraph_opt.cli import app
from egraph_opt.errors import ModelReadError
from egraph_opt.graph import isolation, runtime
from egraph_opt.graph.isolation import AVAILABLE, current_worker, isolated
from egraph_opt.operators.declaration import OnnxForm
from egraph_opt.rebuild.evaluation import evaluate_in_own_types
from egraph_opt.verification import budget, verify
from egraph_opt.verification.budget import RunBudget, RunNeeds
from egraph_opt.verification.execution import RunnableModel, Session
from egraph_opt.verification.isolated import verify_apart

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="processes are not forked here")


def model(nodes: str) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[N, 4] x) => (float[N, 4] y) {{ {nodes} }}'
    return parser.parse_model(text)


LONG = model("[one] a = Neg (x) [two] b = Exp (a) [three] c = Tanh (b) [four] d = Neg (c) [five] y = Neg (d)")
SHORT = model("[one] a = Neg (x) [two] b = Exp (a) [last] y = Tanh (b)")


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes the kernel of an operator crash on some inputs; the processes that are forked inherit it."""
    create, run = Session.__init__, Session._run
    there: dict[Session, set[str]] = {}

    def created(self: Session, given: RunnableModel, **named: Any) -> None:
        there[self] = {node.op_type for node in given.proto.graph.node}
        create(self, given, **named)

    def on(op_type: str, when: Callable[[np.ndarray], bool] = lambda x: True, beside: str = "") -> None:
        def crashes(self: Session, feeds: Any, options: Any) -> list[Any]:
            operators = there[self]
            if op_type in operators and (not beside or beside in operators) and when(feeds["x"]):
                os.kill(os.getpid(), signal.SIGSEGV)
            return run(self, feeds, options)

        monkeypatch.setattr(Session, "_run", crashes)

    monkeypatch.setattr(Session, "__init__", created)
    yield on
    assert current_worker() is None


def test_the_verdict_is_that_of_this_process() -> None:
    expected = verify(LONG, SHORT)
    asked: list[dict[str, int]] = []

    def needs(sizes: Any) -> RunNeeds:
        asked.append(dict(sizes))
        return RunNeeds()

    with isolated():
        assert verify_apart(LONG, SHORT, RunBudget(needs)) == expected
        assert verify_apart(LONG, model("y = Neg (x)"), RunBudget()).status == "failed"
    assert expected.status == "passed" and {"N": 2} in asked


def test_inputs_on_which_the_original_crashes_are_left_out_and_the_node_named(
    crashing: Callable[..., None],
) -> None:
    crashing("Tanh", lambda x: len(x) == 2)
    with isolated():
        found = verify_apart(LONG, SHORT, RunBudget())
    assert found.status == "passed", found
    assert "onnxruntime crashes (SIGSEGV) at node 'three' (Tanh)" in found.detail


def test_an_optimized_model_that_crashes_is_wrong(crashing: Callable[..., None]) -> None:
    after = model("[one] a = Neg (x) [two] b = Exp (a) [last] c = Tanh (b) [more] y = Identity (c)")
    crashing("Identity")
    with isolated():
        found = verify_apart(LONG, after, RunBudget())
    assert found.status == "failed"
    assert "onnxruntime crashes (SIGSEGV) at node 'more' (Identity)" in found.detail


def test_a_model_that_always_crashes_is_not_compared(crashing: Callable[..., None]) -> None:
    crashing("Exp")
    report = optimize(LONG, "nodes", isolate=True).report
    assert report.verification.status == "not_comparable"
    assert "onnxruntime crashes (SIGSEGV) at node 'two' (Exp)" in report.verification.detail


def test_a_constant_whose_kernel_crashes_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    load = runtime.plain_session

    def crashes(given: bytes, *more: Any) -> Any:
        if any(node.op_type == "Erf" for node in onnx.ModelProto.FromString(given).graph.node):
            os.kill(os.getpid(), signal.SIGSEGV)
        return load(given, *more)

    monkeypatch.setattr(runtime, "plain_session", crashes)
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 2] y)
        <float[2] k = {1, 2}, float[2] l = {3, 4}>
        { [bad] e = Erf (k) [good] s = Sin (l) a = Add (x, e) b = Mul (a, s) c = Neg (b) y = Neg (c) }"""
    report = optimize(parser.parse_model(text), "nodes", isolate=True).report
    assert report.verification.status == "passed" and report.nodes.runtime_after == 2
    crash = "node 'bad' (Erf) depends on constants, and is not computed: onnxruntime crashes (SIGSEGV)"
    assert crash in report.warnings


def test_errors_come_back_as_they_are(tmp_path: Path) -> None:
    with isolated(), pytest.raises(ModelReadError, match="none"):
        verify_apart(tmp_path / "none.onnx", SHORT, RunBudget())


def test_a_model_that_does_not_end_is_not_compared(
    monkeypatch: pytest.MonkeyPatch, crashing: Callable[..., None]
) -> None:
    """No kernel can be interrupted, and one alone may take hours."""
    monkeypatch.setattr(budget, "LEAST_SECONDS", 0.1)
    monkeypatch.setattr(isolation, "GRACE", 0.0)

    def never_ends(x: np.ndarray) -> bool:
        while True:
            signal.pause()

    crashing("Tanh", never_ends)
    with isolated():
        found = verify_apart(LONG, SHORT, RunBudget(end=time.monotonic()))
    assert found.status == "not_comparable"
    assert found.detail == "onnxruntime does not end (it was stopped after 0.1 s)"


def test_a_run_takes_no_longer_than_what_is_left_but_as_long_as_one_before() -> None:
    assert RunBudget().seconds({}) == budget.LONGEST_SECONDS
    late = RunBudget(end=time.monotonic())
    assert late.seconds({}) == budget.LEAST_SECONDS
    late.longest = 100.0
    assert late.seconds({}) == 100.0 * budget.SLOWER


@pytest.fixture
def erf_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has an Erf ends a process that runs it, which must not be this one."""
    here, real = os.getpid(), onnxruntime.InferenceSession

    class Crashing(real):  # type: ignore[misc, valid-type]
        def __init__(self, given: bytes | str, *more: Any, **named: Any) -> None:
            content = given if isinstance(given, bytes) else Path(given).read_bytes()
            self.crashes = b"Erf" in content
            super().__init__(given, *more, **named)

        def run(self, *more: Any) -> Any:
            if self.crashes:
                assert os.getpid() != here, "onnxruntime runs in this process"
                os.kill(os.getpid(), signal.SIGSEGV)
            return super().run(*more)

    monkeypatch.setattr(imports.onnxruntime, "InferenceSession", Crashing, raising=False)


ERF = """<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x) => (float[N, 3] y)
    <float[3] k = {1, 2, 3}, int64[1] two = {2}, int64[1] one = {1}>
    { a = Erf (x) n = NonZero (a) s = Shape (n) t = Expand (k, s) u = ReduceSum (t)
      b = Mul (x, k) c = Mul (b, k) d = Neg (c) e = Neg (d) y = Add (e, u) }"""


@pytest.mark.parametrize(
    "command",
    [
        ("optimize", "{}", "--dry-run"),
        ("optimize", "{}", "--dry-run", "--cost", "ascend"),
        ("optimize", "{}", "--dry-run", "--measure"),
        ("optimize", "{}", "--dry-run", "--opset", "18", "--input-shape", "x:N=2", "--exactness", "bitwise"),
        ("explain", "{}", "--cost", "ascend"),
        ("alternatives", "{}", "y", "--cost", "ascend"),
        ("egraph", "{}", "--cost", "ascend"),
        ("sensitivity", "{}", "--cost", "ascend", "--parameters", "cores"),
        ("study", "orders", "{}", "--verify", "--random", "1", "--rewrites", "signs"),
        ("study", "growth", "{}", "--cost", "ascend"),
    ],
    ids=" ".join,
)
def test_commands_survive_what_crashes(command: tuple[str, ...], tmp_path: Path, erf_crashes: None) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(ERF), path)
    result = CliRunner().invoke(app, [text.format(path) for text in command])
    assert result.exit_code == 0, result.output
    if command[0] == "optimize":
        assert "onnxruntime crashes" in result.output


def test_constants_that_laws_wrote_survive_what_crashes(erf_crashes: None) -> None:
    form, operand = OnnxForm("Erf", (0,)), np.array([0.5, 1.0])
    with isolated():
        found = evaluate_in_own_types(form, [operand], [TensorProto.FLOAT], TensorProto.FLOAT, 17)
        again = evaluate_in_own_types(
            OnnxForm("Neg", (0,)), [operand], [TensorProto.FLOAT], TensorProto.FLOAT, 17
        )
    np.testing.assert_allclose(found, [0.5204999, 0.8427008], rtol=1e-6)
    np.testing.assert_array_equal(again, -operand)


def test_a_slice_of_less_than_nothing_aborts_onnx_in_no_process_of_ours() -> None:
    """Of a pool whose window is larger than its image ONNX takes the length to be below 0, and aborts."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 1, 4, 4] x) => (float[1, 1, H, W] z)
    <int64[1] s = {0}, int64[1] e = {3}, int64[1] a = {2}> {
        y = MaxPool <kernel_shape = [6, 6]> (x)
        z = Slice (y, s, e, a)
    }"""
    result = optimize(parser.parse_model(text), isolate=True)
    assert result.report.status == "unchanged"
    assert "onnxruntime crashes" in str(result.report) or "not compared" in str(result.report)
