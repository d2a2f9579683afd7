"""The fuzzer itself: it draws the same graphs from the same seed, sees what is wrong, and makes it small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from .examining import Case, Examined, case_of, examine
from .judging import Original
from .keeping import keep, read_case
from .planting import plantable
from .settings import HASH, Setting
from .shrinking import shrunk
from .workers import examine_all

SEED = 20261122


def _model(body: str, inputs: str = "float[N,3] x") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 17]> g ({inputs}) => (float[?,?] y) <float[1] c = {{0.1}}> {{{body}}}'
    )


ORIGINAL = _model("a = Mul(x, c) y = Add(a, a)")


def test_a_few_random_graphs_are_right() -> None:
    seen = Examined()
    for number in range(12):
        case = case_of((SEED, number))
        if case is None:
            seen.cases["refused"] += 1
            continue
        examined = examine(case)
        assert examined.failures == [], f"graph {number} of seed {SEED}"
        seen.add(examined)
    assert seen.cases["refused"] <= 4
    assert seen.cases["optimized"] >= 5
    assert sum(count > 0 for count in seen.laws.values()) >= 40


def test_a_seed_gives_the_same_case_again() -> None:
    """What is drawn depends on the laws that there are, so that any one of a few may be no valid model."""
    first, second = ([case_of((SEED, number)) for number in range(5)] for _ in range(2))
    assert any(first)
    assert first == second


def test_graphs_hold_examples_of_laws() -> None:
    assert len(plantable()) > 200


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("a = Add(c, c) y = Mul(x, a)", "alike"),
        ("a = Add(x, x) y = Mul(c, a)", "alike"),
        ("a = Mul(x, c) y = Sub(a, a)", "outputs"),
        ("a = Mul(x, c) b = Add(a, a) d = Unsqueeze<axes = [0]>(b) y = Identity(b)", "run"),
        ("a = Constant<value = int64[2] {3, -1}>() b = Mul(x, c) d = Add(b, b) y = Reshape(d, a)", "outputs"),
    ],
)
def test_models_are_told_apart_by_what_they_answer(body: str, verdict: str) -> None:
    assert Original(ORIGINAL, 0).judge(_model(body)).verdict == verdict


def test_a_difference_of_rounding_is_none() -> None:
    before = _model("big = Constant<value = float[1] {3e7}>() a = Add(x, big) y = Sub(a, big)")
    assert Original(before, 0).judge(_model("y = Identity(x)")).verdict == "rounding"


def test_what_loses_precision_is_told_from_what_is_rounded() -> None:
    after = _model("big = Constant<value = float[1] {3e7}>() a = Add(x, big) y = Sub(a, big)")
    assert Original(_model("y = Identity(x)"), 0).judge(after).verdict == "imprecise"


def test_a_difference_that_rounding_makes_large_is_none() -> None:
    before = _model("k = Constant<value = float[1] {1e7}>() a = Mul(x, k) y = Sin(a)")
    halves = "h = Constant<value = float[1] {3162.3}>() i = Constant<value = float[1] {3162.2}>()"
    after = _model(f"{halves} a = Mul(x, h) b = Mul(a, i) y = Sin(b)")
    assert Original(before, 0).judge(after).verdict == "unstable"


COST = """
import os
from egraph_opt import CostModel

class Angry(CostModel):
    name = "angry"
    unit = "1"

    def cost(self, node):
        if node.op_type == "Tanh" and node.inputs[0].shape[-1] > 1:
            raise ArithmeticError("no price for Tanh")
        if node.op_type == "Sin":
            os._exit(3)
        return 1.0
"""


def test_what_fails_is_made_small_and_kept(tmp_path: Path) -> None:
    (tmp_path / "angry.py").write_text(COST)
    model = _model("a = Mul(x, c) b = Exp(a) d = Tanh(b) e = Abs(d) z = Softmax(x) y = Add(e, z)")
    setting = Setting(cost=f"{tmp_path / 'angry.py'}:Angry", seed=3, objective="memory")
    task = (model.SerializeToString(), setting, 5, False)
    [(_, examined)] = examine_all(iter([task]), 1, 60)
    assert [finding.kind for finding in examined.failures] == ["crash"]
    found = shrunk(task, examined, 60)
    text = keep(tmp_path, "found", found)
    assert "no price for Tanh" in text or "Tanh" in text
    kept = read_case(tmp_path / "found.onnxtxt")
    assert [node.op_type for node in kept.model.graph.node] == ["Tanh"]
    assert kept.setting == Setting(cost=setting.cost)
    assert kept.seed == 5


def test_a_process_that_ends_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "angry.py").write_text(COST)
    setting = Setting(cost=f"{tmp_path / 'angry.py'}:Angry")
    tasks = [(_model(body).SerializeToString(), setting, 0, False) for body in ("y = Sin(x)", "y = Cos(x)")]
    found = [examined for _, examined in examine_all(iter(tasks), 1, 60)]
    assert [[finding.kind for finding in examined.failures] for examined in found] == [["died"], []]


def test_prices_by_lot_depend_on_their_seed() -> None:
    rng = np.random.default_rng(0)
    case = Case(ORIGINAL, Setting(cost=f"{HASH}{rng.integers(100)}"), 0)
    assert examine(case).failures == []
