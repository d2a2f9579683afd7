"""Facts of the models in the wheels that the tests install, against what onnxruntime computes."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from egraph_opt.facts import symbolic

from .observed import all_disagreements, all_values, bindings_of, facts_by_name

WHEELS = ("rapidocr_onnxruntime", "silero_vad", "swift_f0", "magika", "onnx.backend.test.data.light")


def models() -> list[Path]:
    found = []
    for wheel in WHEELS:
        package, _, inside = wheel.partition(".")
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            found += sorted((Path(spec.origin).parent / inside.replace(".", "/")).rglob("*.onnx"))
    return found


# Lengths by file, rank and dim of an input, where a model does not take any.
LENGTHS = {
    "cls_infer": {(4, 2): 48, (4, 3): 192},
    "rec_infer": {(4, 2): 48, (4, 3): 160},
    "det_infer": {(4, 2): 96, (4, 3): 64},
    "silero": {(2, 0): 1, (2, 1): 512, (3, 1): 1},
    "swift": {(2, 0): 1, (2, 1): 3001},
}


def feeds_of(path: Path, facts, inputs) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    lengths = next((given for part, given in LENGTHS.items() if part in str(path)), {})
    numbers: dict[str, int] = {}
    feeds = {}
    for value in inputs:
        fact = facts[value.name]
        shape = []
        for k, dim in enumerate(fact.shape):
            for name in symbolic.symbols(dim):
                numbers.setdefault(name, lengths.get((len(fact.shape), k), 3))
            shape.append(symbolic.evaluate(dim, numbers))
        dtype = helper.tensor_dtype_to_np_dtype(fact.dtype)
        if np.issubdtype(dtype, np.integer):
            feeds[value.name] = np.full(shape, 16000 if value.name == "sr" else 1, dtype)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(dtype)
    return feeds


@pytest.mark.parametrize("path", models(), ids=lambda path: path.stem)
def test_what_is_inferred_of_a_trained_model_is_what_it_computes(path):
    model = onnx.load(path)
    warnings: list[str] = []
    facts = facts_by_name(model, warnings)
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds = feeds_of(path, facts, [v for v in model.graph.input if v.name not in constants])
    values = all_values(model, feeds)
    assert warnings == []
    assert all_disagreements(facts, values, bindings_of(facts, feeds)) == []
    assert len(values) > 3
