"""What is inferred of random nodes is what onnxruntime computes; random nonsense raises nothing."""

import random

import pytest
from onnx import defs
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.inference import infer_node

from .observed import all_disagreements, all_values, facts_by_name
from .random_nodes import FAMILIES

REFUSALS = (
    runtime.Fail,
    runtime.InvalidArgument,
    runtime.InvalidGraph,
    runtime.NotImplemented,
    runtime.RuntimeException,
)


@pytest.mark.parametrize("named", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_what_is_inferred_of_a_node_is_what_it_computes(family, named):
    rng = random.Random(family.__name__)
    ran = 0
    for _ in range(120):
        case = family(rng)
        model = case.model(rng.choice((13, 18, 21)), named)
        warnings: list[str] = []
        facts = facts_by_name(model, warnings)
        try:
            values = all_values(model, case.fed)
        except REFUSALS:
            continue
        ran += 1
        numbers = {f"{name}.{k}": n for name, a in case.fed.items() for k, n in enumerate(a.shape)}
        assert all_disagreements(facts, values, numbers) == [], case
        assert warnings == [], case
    assert ran > 60


def any_fact(rng: random.Random, dtype: int) -> Fact | None:
    if rng.random() < 0.1:
        return rng.choice((None, Fact(), Fact(dtype)))
    shape = tuple(rng.choice((0, 1, 2, 3, "N", "M", "N//2", None)) for _ in range(rng.choice((0, 1, 2, 4))))
    if len(shape) == 1 and dtype == 7:
        items = tuple(rng.choice((-2, -1, 0, 1, 3, "N", "M - 1", 2**62)) for _ in range(rng.randint(0, 4)))
        return Fact(7, (len(items),), rng.random() < 0.3, items, None, items)
    return Fact(dtype, shape, rng.random() < 0.3, None, rng.choice((None, None, 1)))


def any_attribute(rng: random.Random, kind: defs.OpSchema.AttrType):
    kinds = defs.OpSchema.AttrType
    if kind == kinds.INT:
        return rng.choice((-1, 0, 1, 2, 3))
    if kind == kinds.FLOAT:
        return rng.choice((0.0, 1.0, -1.0, 0.5))
    if kind == kinds.INTS:
        return tuple(rng.choice((0, 1, 2, 3, -1)) for _ in range(rng.choice((1, 2, 4))))
    if kind == kinds.STRING:
        return rng.choice(("NOTSET", "SAME_UPPER", "VALID", "nearest", "constant", "nonsense"))
    return None


@pytest.mark.parametrize("seed", range(4))
def test_no_operands_or_attributes_make_inference_raise(seed):
    rng = random.Random(seed)
    schemas = [s for s in defs.get_all_schemas() if s.domain == ""]
    clashes = 0
    for _ in range(1500):
        schema = rng.choice(schemas)
        given = {
            name: any_attribute(rng, a.type)
            for name, a in schema.attributes.items()
            if a.required or rng.random() < 0.4
        }
        attributes = tuple(sorted((name, value) for name, value in given.items() if value is not None))
        dtype = rng.choice((1, 1, 7, 9, 10))
        count = rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 3))
        inputs = tuple(any_fact(rng, dtype) for _ in range(count))
        n_outputs = max(1, min(schema.max_output, rng.randint(1, 3)))
        facts = infer_node(schema.name, "", attributes, inputs, n_outputs, opset=schema.since_version)
        assert len(facts) == n_outputs
        clashes += facts[0] == CLASH
    assert 0 < clashes < 1500
