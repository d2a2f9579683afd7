"""Every number that the Ascend model uses says its unit, its source, and how far it can be trusted."""

from __future__ import annotations

import math
import tomllib
from dataclasses import fields
from importlib.resources import files
from typing import Any

import onnx.defs
import pytest

from egraph_opt.cost.parameters import CONFIDENCES
from egraph_opt.cost_models import ascend_soc
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import UnknownCostModelError, UnknownParameterError

FILES = {
    entry.name: tomllib.loads(entry.read_text(encoding="utf-8"))
    for entry in files("egraph_opt.cost_models").iterdir()
    if entry.name.endswith(".toml")
}
CHIPS = sorted(set(FILES) - {"ascend.toml"})
QUANTITIES = [(soc, name) for soc in ascend_soc.socs() for name in ascend_soc.declared(soc)]
DECLARATION = {"value", "unit", "confidence", "source", "range", "choices", "keys", "fields", "type"}


@pytest.mark.parametrize(("soc", "name"), QUANTITIES)
def test_every_quantity_has_value_unit_range_confidence_and_source(soc: str, name: str) -> None:
    entry = ascend_soc.declared(soc)[name]
    assert entry.value is not None
    assert entry.unit
    assert str(entry.domain) not in ("", "any")
    assert entry.confidence in CONFIDENCES
    assert len(entry.source) > 10


def test_a_parameter_is_declared_once_and_its_values_are_told_in_full() -> None:
    declared = FILES["ascend.toml"]
    for entry in declared.values():
        assert set(entry) <= DECLARATION
        assert {"unit"} <= set(entry) and ("type" in entry or {"value", "confidence", "source"} <= set(entry))
    for chip in CHIPS:
        assert set(FILES[chip]) <= set(declared)
        assert all(set(entry) == {"value", "confidence", "source"} for entry in FILES[chip].values())


def test_bounds_of_numbers_are_finite() -> None:
    """So that a sweep can sample between them."""
    for entry in ascend_soc.declared("310p3").values():
        numbers = entry.domain.numbers
        assert numbers is None or (math.isfinite(numbers.least) and math.isfinite(numbers.most))


def test_every_rule_has_a_source_and_names_operators_and_types_that_exist() -> None:
    operators = {schema.name for schema in onnx.defs.get_all_schemas()} | {"*"}
    types = {name.lower() for name, _ in onnx.TensorProto.DataType.items()} | {"*"}
    for name, wanted in (
        ("aicpu_rules", {"ops", "dtypes"}),
        ("aicore_types", {"ops", "chips", "dtypes"}),
        ("aicore_casts", {"chips", "from", "to"}),
    ):
        for rule in FILES["ascend.toml"][name]["value"]:
            assert set(rule) == wanted | {"confidence", "source"}
            assert set(rule.get("ops", ())) <= operators
            assert {*rule.get("dtypes", ()), *rule.get("from", ()), *rule.get("to", ())} <= types
            assert rule["confidence"] in CONFIDENCES
            assert rule["source"]


def test_steps_are_of_onnx_operators_and_take_instructions_of_known_cost() -> None:
    table = FILES["ascend.toml"]
    operators = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert set(table["vector_steps"]["value"]) <= operators
    used = {step for steps in table["vector_steps"]["value"].values() for step in steps}
    assert used <= set(table["vector_cycles"]["value"])


@pytest.mark.parametrize("name", ascend_soc.socs())
def test_a_chip_has_every_parameter_with_the_type_it_is_declared_with(name: str) -> None:
    soc = ascend_soc.load_soc(name)
    numeric: dict[str, Any] = {"int": int, "float": (int, float), "str": str}
    for field in fields(soc):
        value = getattr(soc, field.name)
        if str(field.type) in numeric:
            assert isinstance(value, numeric[str(field.type)]), field.name
        if isinstance(value, (int, float)):
            assert value > 0 or field.name == "l2_bytes", field.name
    assert soc.matmul_nd in {"aligned", "inner"}


def test_what_is_declared_and_what_the_model_reads_is_the_same() -> None:
    assert set(ascend_soc.declared("310p3")) == {field.name for field in fields(ascend_soc.Soc)}


@pytest.mark.parametrize(
    ("name", "tflops"), [("310p3", 70), ("910b2", 353.9), ("910b4", 245.8), ("910a", 256)]
)
def test_cores_and_clock_give_the_published_peak(name: str, tflops: float) -> None:
    soc = ascend_soc.load_soc(name)
    peak = soc.cores * soc.clock_ghz * 2 * soc.cube_side**3 / 1e3
    assert peak == pytest.approx(tflops, rel=0.03)


def test_the_default_is_310p3_and_names_may_be_written_as_the_toolchain_does() -> None:
    assert Ascend().soc == Ascend(soc="Ascend310P3").soc == ascend_soc.load_soc("310p3")


def test_an_unknown_chip_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCostModelError, match="ascend:310p3"):
        Ascend("310p")


def test_a_parameter_can_be_replaced_and_a_mistyped_one_is_refused() -> None:
    assert Ascend(fixed_cube_us=7.0).soc.fixed_cube_us == 7.0
    assert Ascend(pool_kernel=100).limits["pool_kernel"] == 100
    with pytest.raises(UnknownParameterError, match="did you mean 'fixed_cube_us'"):
        Ascend(fixed_cube=7.0)


def test_of_a_table_the_entries_that_are_given_are_replaced() -> None:
    plain, changed = Ascend().soc, Ascend(vector_cycles={"Add": 1.0}).soc
    assert changed.vector_cycles == {**plain.vector_cycles, "Add": 1.0}


def test_the_limits_that_laws_ask_for_are_published() -> None:
    limits = Ascend().limits
    assert limits["pool_kernel"] == limits["conv_kernel"] == 255
    assert limits["pool_stride"] == limits["conv_stride"] == 63
