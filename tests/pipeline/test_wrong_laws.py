"""A wrong law never makes a wrong model: verification sees it, and the law is named and left out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import CliRunner

from egraph_opt import optimize
from egraph_opt.cli import app
from egraph_opt.laws.loading import load_laws

from .wrong_laws import WRONG, Wrong

pytestmark = pytest.mark.usefixtures("restored_laws")


def _outputs(model: onnx.ModelProto, wrong: Wrong) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, wrong.witness))


def _bits(arrays: list[np.ndarray]) -> list[object]:
    return [(a.shape, np.nan_to_num(a).tobytes(), np.isnan(a).tobytes()) for a in arrays]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_law_is_named_and_left_out(name: str, tmp_path: Path) -> None:
    wrong = WRONG[name]
    expected = _bits(_outputs(wrong.model, wrong))
    file = tmp_path / "laws.py"
    file.write_text(wrong.file, encoding="utf-8")
    load_laws(file)
    options = {"cost": "nodes", "exactness": wrong.exactness}
    unseen = optimize(wrong.model, verify=False, **options)  # type: ignore[arg-type]
    # Some contradict the types of values, and are left out at once.
    seen_at_once = any("mine.wrong" in text for text in unseen.report.warnings)
    assert seen_at_once or _bits(_outputs(unseen.model, wrong)) != expected, "the law does no harm"
    result = optimize(wrong.model, **options)  # type: ignore[arg-type]
    assert _bits(_outputs(result.model, wrong)) == expected
    warned = [text for text in result.report.warnings if "mine.wrong" in text and "left out" in text]
    assert warned, (result.report.status, result.report.verification, result.report.warnings)


def _two(tmp_path: Path) -> tuple[Wrong, Path]:
    """A model that is made wrong by one law in one place, and by another in another."""
    first = WRONG["far below zero"]
    graph = """g (float[4] x) => (float[4] y, float[4] z) {
        s = Add (x, c) y = Abs (s) f = Ceil (x) z = Abs (f)
    }"""
    wrong = replace(first, graph=graph, witness={"x": np.array([-9, -2, 1, 1], np.float32)})
    path = tmp_path / "laws.py"
    second = """
@law('mine', numerics='bitwise')
def other(x: Tensor):
    '''Also wrong'''
    yield rewrite(unary('Abs', (), unary('Ceil', (), x)), unary('Ceil', (), x), because='positive mostly')
"""
    path.write_text(first.file + second, encoding="utf-8")
    return wrong, path


def test_two_wrong_laws_are_both_named_and_left_out(tmp_path: Path) -> None:
    wrong, path = _two(tmp_path)
    load_laws(path)
    result = optimize(wrong.model, "nodes")
    (warning,) = [text for text in result.report.warnings if "make the outputs wrong" in text]
    assert "mine.wrong" in warning and "mine.other" in warning and "were left out" in warning
    assert _bits(_outputs(result.model, wrong)) == _bits(_outputs(wrong.model, wrong))


def test_the_command_line_refuses_wrong_laws_with_file_and_line(tmp_path: Path) -> None:
    wrong, path = _two(tmp_path)
    source, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(wrong.model, source)
    options = ["--cost", "nodes", "--load", str(path)]
    run = CliRunner().invoke(app, ["optimize", str(source), str(out), *options])
    assert run.exit_code == 2 and not out.exists()
    assert re.search(r"laws\.py:\d+: mine\.wrong \(bitwise\) is wrong on", " ".join(run.output.split()))
