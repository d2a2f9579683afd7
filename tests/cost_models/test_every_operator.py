"""Every operator that onnx defines can be priced by every model, whatever is known of its operands."""

from __future__ import annotations

import itertools
import math

import onnx.defs
import onnx.helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import UNKNOWN, Fact

MODELS = [cost_model(name) for name in ("bytes", "flops", "nodes", *(f"ascend:{soc}" for soc in socs()))]
SCHEMAS = sorted(onnx.defs.get_all_schemas(), key=lambda schema: (schema.domain, schema.name))


def defaults(schema: onnx.defs.OpSchema) -> dict[str, object]:
    found = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value is not None and attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            found[name] = tuple(value) if isinstance(value, list) else value
    return found


def view(schema: onnx.defs.OpSchema, fact: Fact | None) -> NodeView:
    operands = (fact,) * min(schema.max_input, 6)
    results = (fact or UNKNOWN,) * min(schema.max_output, 3)
    return NodeView(schema.name, schema.domain, defaults(schema), operands, results)


def assert_priced(model: CostModel, node: NodeView) -> None:
    price = model.cost(node)
    assert math.isfinite(price), (model.name, node)
    assert price >= 0, (model.name, node)


@pytest.mark.parametrize(
    "fact",
    [
        None,
        UNKNOWN,
        Fact(1, ()),
        Fact(1, (None,) * 4),
        Fact(1, (2, 16, 8, 8)),
        Fact(10, (2, 17, 9)),
        Fact(7, (3,), const=True, value=(1, 2, 3)),
        Fact(1, (0, 16, 0)),
        Fact(1, (2**62,) * 20),
        Fact(8, (4,)),
    ],
    ids=str,
)
def test_every_operator_has_a_finite_price(fact: Fact | None) -> None:
    for schema in SCHEMAS:
        for model in MODELS:
            assert_priced(model, view(schema, fact))


def test_a_node_without_any_operand_has_a_price() -> None:
    for schema in SCHEMAS:
        for model in MODELS:
            assert_priced(model, NodeView(schema.name, schema.domain, {}, (), ()))


DIMS = st.one_of(st.none(), st.integers(0, 5000))
FACTS = st.builds(
    Fact,
    dtype=st.integers(0, 28),
    shape=st.one_of(st.none(), st.lists(DIMS, max_size=5).map(tuple)),
    const=st.booleans(),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["kernel_shape", "strides", "pads", "dilations", "perm", "axis", "group", "transA",
                     "mode", "equation", "size", "layout", "q_num_heads"]),
    st.one_of(
        st.integers(-3, 300), st.lists(st.integers(0, 300), max_size=4).map(tuple), st.text(max_size=5)
    ),
    max_size=4,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    schema=st.sampled_from(SCHEMAS),
    inputs=st.lists(st.one_of(st.none(), FACTS), max_size=6),
    outputs=st.lists(FACTS, max_size=2),
    attributes=ATTRIBUTES,
)
def test_no_facts_and_no_attributes_break_a_model(
    schema: onnx.defs.OpSchema, inputs: list[Fact | None], outputs: list[Fact], attributes: dict[str, object]
) -> None:
    node = NodeView(schema.name, schema.domain, attributes, tuple(inputs), tuple(outputs))
    for model in MODELS:
        assert_priced(model, node)


@pytest.mark.parametrize("place", range(3))
def test_a_transpose_of_nothing_has_a_finite_price(place: int) -> None:
    shape = tuple(0 if axis == place else 4 for axis in range(3))
    for perm in itertools.permutations(range(3)):
        moved = Fact(1, tuple(shape[axis] for axis in perm))
        for model in MODELS:
            assert_priced(model, NodeView("Transpose", "", {"perm": perm}, (Fact(1, shape),), (moved,)))
