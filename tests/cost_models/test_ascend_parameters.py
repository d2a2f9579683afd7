"""Every number that the Ascend model uses says its unit, its source, and how far it can be trusted."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib.resources import files
from typing import Any

import onnx.defs
import pytest

from egraph_opt.cost_models import ascend_soc
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import UnknownCostModelError

TABLES = {
    entry.name: tomllib.loads(entry.read_text(encoding="utf-8"))
    for entry in files("egraph_opt.cost_models").iterdir()
    if entry.name.endswith(".toml")
}
QUANTITIES = [(name, key) for name, table in sorted(TABLES.items()) for key in table if key != "aicpu_rules"]
CONFIDENCES = {"D", "M", "I", "U"}


@pytest.mark.parametrize(("file", "key"), QUANTITIES)
def test_every_quantity_has_value_unit_confidence_and_source(file: str, key: str) -> None:
    entry = TABLES[file][key]
    assert set(entry) == {"value", "unit", "confidence", "source"}
    assert entry["unit"]
    assert entry["confidence"] in CONFIDENCES
    assert len(entry["source"]) > 10


def test_every_rule_has_a_source_and_names_operators_and_types_that_exist() -> None:
    operators = {schema.name for schema in onnx.defs.get_all_schemas()} | {"*"}
    types = {name.lower() for name, _ in onnx.TensorProto.DataType.items()} | {"*"}
    for rule in TABLES["ascend.toml"]["aicpu_rules"]:
        assert set(rule) == {"ops", "dtypes", "confidence", "source"}
        assert set(rule["ops"]) <= operators
        assert set(rule["dtypes"]) <= types
        assert rule["confidence"] in CONFIDENCES
        assert rule["source"]


def test_steps_are_of_onnx_operators_and_take_instructions_of_known_cost() -> None:
    table = TABLES["ascend.toml"]
    operators = {schema.name for schema in onnx.defs.get_all_schemas()}
    assert set(table["vector_steps"]["value"]) <= operators
    used = {step for steps in table["vector_steps"]["value"].values() for step in steps}
    assert used <= set(table["vector_cycles"]["value"])


@pytest.mark.parametrize("name", ascend_soc.socs())
def test_a_chip_has_every_parameter_with_the_type_it_is_declared_with(name: str) -> None:
    soc = ascend_soc.load(name)
    numeric: dict[str, Any] = {"int": int, "float": (int, float), "str": str}
    for field in fields(soc):
        value = getattr(soc, field.name)
        if str(field.type) in numeric:
            assert isinstance(value, numeric[str(field.type)]), field.name
        if isinstance(value, (int, float)):
            assert value > 0 or field.name == "l2_bytes", field.name
    assert soc.matmul_nd in {"aligned", "inner"}


def test_no_file_sets_a_parameter_that_does_not_exist() -> None:
    for table in TABLES.values():
        assert set(table) <= set(ascend_soc.parameters())


@pytest.mark.parametrize(
    ("name", "tflops"), [("310p3", 70), ("910b2", 353.9), ("910b4", 245.8), ("910a", 256)]
)
def test_cores_and_clock_give_the_published_peak(name: str, tflops: float) -> None:
    soc = ascend_soc.load(name)
    peak = soc.cores * soc.clock_ghz * 2 * soc.cube_side**3 / 1e3
    assert peak == pytest.approx(tflops, rel=0.03)


def test_the_default_is_310p3_and_names_may_be_written_as_the_toolchain_does() -> None:
    assert Ascend().soc == Ascend(soc="Ascend310P3").soc == ascend_soc.load("310p3")


def test_an_unknown_chip_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCostModelError, match="ascend:310p3"):
        Ascend("310p")


def test_a_parameter_can_be_replaced_and_a_mistyped_one_is_refused() -> None:
    assert Ascend(fixed_cube_us=7.0).soc.fixed_cube_us == 7.0
    assert Ascend(pool_kernel=100).limits["pool_kernel"] == 100
    with pytest.raises(TypeError, match="fixed_cube"):
        Ascend(fixed_cube=7.0)


def test_the_limits_that_laws_ask_for_are_published() -> None:
    limits = Ascend().limits
    assert limits["pool_kernel"] == limits["conv_kernel"] == 255
    assert limits["pool_stride"] == limits["conv_stride"] == 63
