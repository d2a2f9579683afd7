"""Facts of ONNX's own node tests: as they are, with symbolic inputs, and with constant ones."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from .observed import disagreements, facts_by_name, with_constants, with_symbols

# ONNX's inference of this one refuses a batch that is not known to be 1.
REFUSED = {"test_strnormalizer_export_monday_insensintive_upper_twodim"}


@pytest.fixture(scope="module")
def cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model_tests(kind="node")[::2]


def arrays(values) -> Iterator[np.ndarray | np.generic | None]:
    for value in values:
        if isinstance(value, onnx.TensorProto):
            yield numpy_helper.to_array(value)
        else:
            yield value if isinstance(value, np.ndarray | np.generic) else None


def inputs_of(case) -> dict[str, Any]:
    given = zip(case.model.graph.input, arrays(case.data_sets[0][0]), strict=False)
    return {value.name: array for value, array in given if array is not None}


@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
def test_what_is_inferred_is_what_the_case_expects(cases, symbolic, constant):
    wrong = []
    for case in cases:
        inputs, model = inputs_of(case), case.model
        numbers = {f"{name}_{k}": n for name, a in inputs.items() for k, n in enumerate(a.shape)}
        if symbolic:
            model = with_symbols(model)
        if constant:
            small = {
                n: a for n, a in inputs.items() if a.size <= 8 or (a.dtype.kind in "iub" and a.ndim <= 1)
            }
            model = with_constants(model, small)
        said: list[str] = []
        facts = facts_by_name(model, said)
        if case.name not in REFUSED:
            wrong += [f"{case.name}: {text}" for text in said]
        for value, seen in zip(model.graph.output, arrays(case.data_sets[0][1]), strict=False):
            if seen is not None:
                found = disagreements(facts[value.name], np.asarray(seen), numbers if symbolic else {})
                wrong += [f"{case.name}: {value.name}: {text}" for text in found]
    assert wrong == []
