"""Facts of ONNX's own node tests: as they are, with symbolic inputs, and with constant ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from node_cases import loaded_cases
from onnx import numpy_helper

from .observed import disagreements, facts_by_name, with_constants, with_symbols

# ONNX's inference of this one refuses a batch that is not known to be 1.
REFUSED = {"test_strnormalizer_export_monday_insensintive_upper_twodim"}


@pytest.fixture(scope="module")
def cases():
    return list(loaded_cases())[::2]


def arrays(values) -> Iterator[np.ndarray | np.generic | None]:
    for value in values:
        if isinstance(value, onnx.TensorProto):
            yield numpy_helper.to_array(value)
        else:
            yield value if isinstance(value, np.ndarray | np.generic) else None


def inputs_of(model, data) -> dict[str, Any]:
    given = zip(model.graph.input, arrays(data[0][0]), strict=False)
    return {value.name: array for value, array in given if array is not None}


@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
def test_what_is_inferred_is_what_the_case_expects(cases, symbolic, constant):
    wrong = []
    for name, model, data in cases:
        inputs = inputs_of(model, data)
        numbers = {f"{given}_{k}": n for given, a in inputs.items() for k, n in enumerate(a.shape)}
        if symbolic:
            model = with_symbols(model)
        if constant:
            small = {
                n: a for n, a in inputs.items() if a.size <= 8 or (a.dtype.kind in "iub" and a.ndim <= 1)
            }
            model = with_constants(model, small)
        said: list[str] = []
        facts = facts_by_name(model, said)
        if name not in REFUSED:
            wrong += [f"{name}: {text}" for text in said]
        for value, seen in zip(model.graph.output, arrays(data[0][1]), strict=False):
            if seen is not None:
                found = disagreements(facts[value.name], np.asarray(seen), numbers if symbolic else {})
                wrong += [f"{name}: {value.name}: {text}" for text in found]
    assert wrong == []
