"""A wrong law never makes a wrong model: verification sees it, and the law is named and left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from egraph_opt import optimize
from egraph_opt.laws.law import registered
from egraph_opt.laws.loading import load_laws
from egraph_opt.laws.selection import all_laws

from .wrong_laws import WRONG, Wrong


@pytest.fixture(autouse=True)
def _laws_of_this_test() -> Iterator[None]:
    all_laws()
    before = dict(registered)
    yield
    registered.clear()
    registered.update(before)


def _outputs(model: onnx.ModelProto, wrong: Wrong) -> list[np.ndarray]:  # type: ignore[type-arg]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return list(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, wrong.witness))


def _bits(arrays: list[np.ndarray]) -> list[object]:  # type: ignore[type-arg]
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
    assert _bits(_outputs(unseen.model, wrong)) != expected, "the law does no harm to this model"
    result = optimize(wrong.model, **options)  # type: ignore[arg-type]
    assert _bits(_outputs(result.model, wrong)) == expected
    told = [text for text in result.report.warnings if "mine.wrong makes the outputs wrong" in text]
    assert told, (result.report.status, result.report.verification, result.report.warnings)
