"""Which laws take part: the default ones, those asked for by name, and those that a target brings."""

import pytest
from onnx import TensorProto, helper

from egraph_opt import optimize
from egraph_opt.errors import UnknownRulesetError
from egraph_opt.laws.selection import LEGALIZE, OPT_IN, opt_in, rulesets, select


def names(*wanted: str) -> set[str]:
    return {entry.ruleset for entry in select(wanted)}


def test_default_is_the_name_of_what_is_taken_without_names() -> None:
    assert select(["default"]) == select(None)
    assert not {name for name in names("default") if opt_in(name)}


def test_default_can_be_added_to() -> None:
    assert names("default", "approximate") == names("default") | {"approximate"}
    assert names("approximate") == {"approximate"}
    assert select(["approximate", "default", "default"]) == select(["default", "approximate"])


def test_every_law_that_changes_values_is_asked_for_by_name() -> None:
    assert all(entry.exact for entry in select(None))
    assert {entry.ruleset for entry in select(list(rulesets())) if not entry.exact} <= set(OPT_IN)
    assert not select((), ["approximate"])  # a target cannot name it for the user


def test_legalize_is_a_known_name_of_no_law() -> None:
    assert select([LEGALIZE]) == ()
    assert select(["default", LEGALIZE]) == select(None)


@pytest.mark.parametrize(
    ("wrong", "right"), [("defualt", "default"), ("legalise", "legalize"), ("casts", "cast")]
)
def test_an_unknown_name_gets_a_suggestion(wrong: str, right: str) -> None:
    with pytest.raises(UnknownRulesetError, match=right):
        select(["default", wrong])


def test_values_have_to_agree_where_no_law_that_changes_them_matched() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result = optimize(model, "nodes", rewrites=["default", "approximate"], strict=True)
    assert result.report.verification.status == "passed"
    assert result.report.warnings == ()
