"""What readers and forms of operators that a file declares forget of nodes, the gate finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, defs, helper, parser

from egraph_opt import optimize
from egraph_opt.check import LawRefusedError, check_law
from egraph_opt.check.attributes import attribute_of
from egraph_opt.check.choices import Choices
from egraph_opt.check.declared_operators import check_declared_operators, operators_read_outside
from egraph_opt.check.judging.reference import Reference
from egraph_opt.check.node_changes import changed, changes_of
from egraph_opt.check.schema_values import other_values
from egraph_opt.check.trying import Trying
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.laws.law import Law, registered
from egraph_opt.laws.loading import load_laws
from egraph_opt.operators.declaration import lowerings

LAWS = Path(__file__).parent / "operators_of_files"

REFUSALS = {
    "triangle_twice": (
        r"Trilu\(x0, k = 1, upper=1\) is read as .* written as Trilu\(x0, upper=1\)",
        "has(1)",
    ),
    "joined_products": (r"MatMulInteger\(x0, x1, a_zero_point = 1\) is read as a term", "node.has(2)"),
    "part_of_normalized": (r"as the node LpNormalization\(slice_0, .*axis=-2.*\) is read", "axis % node"),
    "part_of_compressed": (r"as the node Compress\(slice_0, x1, axis=-\d\) is read", "axis % node"),
    "shrunk_in_another_order": (r"Shrink\(.*bias=0.5\) is read as .* Shrink\(.*lambd=0.5\)", "`bias`"),
}
"""What the messages say, and what they advise."""


Find = Callable[[str, str], Law]

_loaded: dict[str, tuple[tuple[Law, ...], dict[str, Any]]] = {}


@pytest.fixture
def law_of() -> Iterator[Find]:
    """A law of one of the files, whose readers go with the test; their operators stay declared."""
    before = dict(lowerings)

    def find(file: str, name: str) -> Law:
        if file not in _loaded:
            laws = load_laws(LAWS / f"{file}.py")
            _loaded[file] = laws, {k: reader for k, reader in lowerings.items() if k not in before}
        laws, readers = _loaded[file]
        lowerings.update(readers)
        registered.update({law.key: law for law in laws})
        (found,) = (law for law in laws if law.name == name)
        return found

    yield find
    lowerings.clear()
    lowerings.update(before)


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_forgotten_of_a_node_is_shown(law_of: Find, name: str) -> None:
    said, advice = REFUSALS[name]
    with pytest.raises(LawRefusedError, match=said) as error:
        check_law(law_of("hasty", name), terms=16, conditions=False, neighbours=False, alone=True)
    last = str(error.value).splitlines()[-1]
    assert advice in last and "(line " in last


@pytest.mark.parametrize(
    "name", ["part_of_normalized", "shrunk_twice", "standardized_in_another_order", "triangle_twice"]
)
def test_a_law_of_operators_that_are_read_with_care_is_accepted(law_of: Find, name: str) -> None:
    report = check_law(law_of("careful", name), terms=24, conditions=False, neighbours=False, alone=True)
    assert report.checks


def test_what_the_gate_shows_of_a_triangle_is_wrong_of_a_model(law_of: Find) -> None:
    """The law is right of terms: the model has an operand that they do not hold."""
    law_of("hasty", "triangle_twice")
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4, 4] x) => (float[4, 4] y) <int64 k = {1}>'
        " { a = Trilu <upper = 1> (x) y = Trilu <upper = 1> (a, k) }"
    )
    model = parser.parse_model(text)
    made = optimize(model, cost="nodes", rewrites=["hasty.triangle_twice"], verify=False).model
    feeds = {"x": np.arange(16, dtype=np.float32).reshape(4, 4)}
    (before,), (after,) = (Reference(each).run(feeds) for each in (model, made))
    assert not np.array_equal(before, after)


def test_what_is_read_by_the_package_is_not_looked_at(law_of: Find) -> None:
    before = operators_read_outside()
    law_of("careful", "shrunk_twice")
    assert operators_read_outside() - before == {
        *("LpNormalization", "MeanVarianceNormalization", "Shrink", "Trilu")
    }


def test_of_operators_that_are_in_no_example_nothing_is_tried(law_of: Find) -> None:
    law = law_of("careful", "shrunk_twice")
    trying = Trying(law)
    check_declared_operators(trying, [])
    assert not trying.tally.made


def test_settings_are_drawn_as_nodes_have_them(law_of: Find) -> None:
    law_of("careful", "shrunk_twice")
    rng, x = Choices(), Fact(TensorProto.FLOAT, (2, 3))
    drawn = [attribute_of(rng, "careful_shrink", "settings", {"opset": 17}, [x]) for _ in range(40)]
    assert all([name for name, _ in settings] == ["bias", "lambd"] for settings in drawn)
    assert len({dict(settings)["bias"] for settings in drawn}) > 2


def test_settings_of_what_no_node_is_read_as_have_no_table(law_of: Find) -> None:
    law_of("careful", "shrunk_twice")
    with pytest.raises(LookupError, match="no node is read as careful_triangle"):  # in an opset without Trilu
        attribute_of(
            Choices(), "careful_triangle", "settings", {"opset": 11}, [Fact(TensorProto.FLOAT, (2, 3))]
        )


def test_a_node_gets_inputs_and_attributes_that_its_schema_has() -> None:
    node = helper.make_node("Trilu", ["x"], ["y"], upper=1)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ("N", 4, 4)) for name in "xy")
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    found = Counter[str]()
    for change in changes_of(model, node):
        made = changed(model, [0], change)
        found["inputs"] += len(made.graph.input) - 1
        found["constants"] += "k" in {tensor.name for tensor in made.graph.initializer}
        found["attributes"] += bool(change.attributes)
        assert not made.graph.output[0].type.tensor_type.shape.dim[0].dim_param
    assert (
        found["inputs"] and found["constants"] and found["attributes"] == 2
    )  # the other side, and by default


def test_axes_are_counted_from_either_end() -> None:
    def values(op_type: str, name: str, current: object) -> list[object]:
        return other_values(defs.get_schema(op_type, 17), name, current, 3)

    assert set(values("LpNormalization", "axis", 2)) == {-3, -2, -1, 0, 1}
    assert {(-3, -2), (0, -2), (2,), (-1,)} <= set(values("MeanVarianceNormalization", "axes", (0, 1)))
    assert values("GridSample", "align_corners", 0) == [1]
    assert set(values("GridSample", "padding_mode", "zeros")) == {"border", "reflection"}


@pytest.mark.parametrize("size", [1, 3])
def test_the_reference_knows_an_lrn_of_more_channels_than_images(size: int) -> None:
    """As onnxruntime computes it, and onnx's own evaluator does not."""
    x = np.random.default_rng(0).standard_normal((1, 4, 2, 2)).astype(np.float32)
    node = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.5)
    value, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy")
    model = helper.make_model(
        helper.make_graph([node], "g", [value], [result]), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    (found,) = Reference(model).run({"x": x})
    (expected,) = plain_session(model.SerializeToString(), plain_options(threads=1)).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5)
