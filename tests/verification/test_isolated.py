"""onnxruntime in a process of its own: a kernel that crashes ends that one, and is named."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.errors import ModelReadError
from egraph_opt.graph import runtime
from egraph_opt.graph.isolation import AVAILABLE, CrashError, apart, current_worker, isolated
from egraph_opt.verification import verify
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


def test_a_task_that_ends_its_process_says_how() -> None:
    with isolated():
        with pytest.raises(CrashError, match="SIGABRT"):
            apart(os.abort)
        with pytest.raises(CrashError, match="exit code 7"):
            apart(os._exit, 7)
        assert apart(os.getpid) != os.getpid()
    assert apart(os.getpid) == os.getpid()


def test_the_process_ends_with_the_block() -> None:
    with isolated():
        first = apart(os.getppid)
        with isolated():
            assert apart(os.getppid) == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
