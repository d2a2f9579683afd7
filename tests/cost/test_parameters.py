"""Parameters: declared once in a class or a file, and every value that is given is checked in one place."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from egraph_opt import CostModel, NodeView, cost_model, parameter
from egraph_opt.cost.parameter_files import TomlFile, read_declarations
from egraph_opt.cost.parameters import Parameter
from egraph_opt.cost.registry import parameters_of
from egraph_opt.errors import CostModelError, ParameterError, UnknownParameterError


class Device(CostModel):
    """A parameter of each kind."""

    name = "device"
    unit = "us"
    launch_us = parameter(5.0, "us per kernel", most=100.0, confidence="M", source="a profile")
    lanes = parameter(8, "lanes", least=1, most=64)
    mode = parameter("slow", "rule", choices=["slow", "fast"])
    fused: tuple[str, ...] = parameter(("Relu",), "operators", choices=["Relu", "Tanh"])
    cycles = parameter({"Add": 1.0, "Mul": 2.0}, "cycles", most=10.0)

    def cost(self, node: NodeView) -> float:
        return self.launch_us + self.cycles.get(node.op_type, 0.0) / self.lanes + node.body_cost


class Faster(Device):
    """The same with one default changed, and one parameter more."""

    launch_us = parameter(1.0, "us per kernel", most=2.0)
    extra = parameter(0.0, "us")


VIEW = NodeView("Add", "", {}, (), ())


def test_an_object_has_the_default_or_what_it_is_given() -> None:
    assert (Device().launch_us, Device().lanes, Device().mode, Device().fused) == (5.0, 8, "slow", ("Relu",))
    made = Device(launch_us=2, mode="fast", fused=["Tanh", "Relu"], cycles={"Add": 4})
    assert (made.launch_us, made.mode, made.fused) == (2.0, "fast", ("Tanh", "Relu"))
    assert made.cycles == {"Add": 4.0, "Mul": 2.0}
    assert made.cost(VIEW) == 2.5
    assert Device().cost(VIEW) == 5.125


def test_parameters_are_inherited_and_replaced() -> None:
    assert list(Faster.declared_parameters()) == [*Device.declared_parameters(), "extra"]
    assert Faster().cost(VIEW) == 1.125
    with pytest.raises(ParameterError, match="launch_us = 3: must be 0 to 2"):
        Faster(launch_us=3)


def test_a_declaration_is_all_that_is_known_of_a_parameter() -> None:
    entry = Device.declared_parameters()["launch_us"]
    assert (entry.name, entry.value, entry.unit) == ("launch_us", 5.0, "us per kernel")
    assert (str(entry.domain), entry.confidence, entry.source) == ("0 to 100", "M", "a profile")
    ranges = {name: str(entry.domain) for name, entry in Faster.declared_parameters().items()}
    assert ranges == {
        "launch_us": "0 to 2",
        "lanes": "1 to 64, whole",
        "mode": "slow, fast",
        "fused": "list of Relu, Tanh",
        "cycles": "each 0 to 10",
        "extra": "0 or more",
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"launch_us": -1}, "launch_us = -1: must be 0 to 100"),
        ({"launch_us": 101}, "launch_us = 101: must be 0 to 100"),
        ({"launch_us": "5"}, "launch_us = '5': must be a number"),
        ({"launch_us": True}, "launch_us = True: must be a number"),
        ({"launch_us": None}, "launch_us = None: must be a number"),
        ({"launch_us": math.nan}, "launch_us = nan: must be finite"),
        ({"launch_us": math.inf}, "launch_us = inf: must be finite"),
        ({"lanes": 1.5}, "lanes = 1.5: must be a whole number"),
        ({"lanes": 0}, "lanes = 0: must be 1 to 64"),
        ({"lanes": 10**400}, f"lanes = 1{'0' * 79}...: must be finite"),
        ({"lanes": 10**5000}, "lanes = an integer too long to show: must be finite"),
        ({"mode": "fasst"}, "mode = 'fasst': is not one of slow, fast: did you mean 'fast'?"),
        ({"mode": 3}, "mode = 3: must be one of slow, fast"),
        ({"fused": "Relu"}, "fused = 'Relu': must be a list of names"),
        ({"fused": ["Relu", "Tahn"]}, "fused.1 = 'Tahn': is not one of Relu, Tanh: did you mean 'Tanh'?"),
        ({"fused": {"Tahn", "Relu", 3}}, "fused.0 = 3: must be one of Relu, Tanh"),
        ({"cycles": 3}, "cycles = 3: must be a table"),
        ({"cycles": {3: 3}}, "cycles.3 = 3: must be one of Add, Mul"),
        ({"cycles": {"Add": -2}}, "cycles.Add = -2: must be 0 to 10"),
        ({"cycles.Mul": 11}, "cycles.Mul = 11: must be 0 to 10"),
    ],
)
def test_a_value_that_cannot_be_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Device(**given)
    assert str(caught.value) == told


def test_a_list_is_read_once_and_has_to_be_there() -> None:
    with pytest.raises(ParameterError, match=r"fused = <generator .*: must be a list of names"):
        Device(fused=(name for name in ("Relu",)))


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("lanch_us", "launch_us"),
        ("cycles.Ad", "cycles.Add"),
        ("lanes.Add", "lanes"),
        ("Cycles.Add", "cycles"),
        ("zzz", None),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(name: str, right: str | None) -> None:
    with pytest.raises(UnknownParameterError) as caught:
        Device(**{name: 1})
    assert caught.value.nearest == right
    assert str(caught.value).startswith(f"unknown parameter {name!r} of device: ")
    assert str(caught.value).endswith("see `egraph-opt costs device --parameters`")


def test_a_misspelt_entry_of_a_table_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownParameterError, match=r"'cycles\.Mull' of device: did you mean 'cycles\.Mul'"):
        Device(cycles={"Mull": 1.0})


def test_numbers_of_numpy_are_numbers() -> None:
    made = Device(launch_us=np.float32(2.5), lanes=np.int64(4))
    assert (made.launch_us, made.lanes) == (2.5, 4)
    assert type(made.lanes) is int


def test_errors_and_models_may_be_sent_to_another_process() -> None:
    for wrong in ({"lanch_us": 1}, {"launch_us": -1}):
        with pytest.raises(ParameterError) as caught:
            Device(**wrong)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert pickle.loads(pickle.dumps(Device(lanes=4))).lanes == 4


@pytest.mark.parametrize(
    ("declaration", "told"),
    [
        ({"default": 5.0, "most": 1.0}, "must be 0 to 1"),
        ({"default": -5.0}, "must be 0 or more"),
        ({"default": math.nan}, "must be finite"),
        ({"default": object()}, "is no number, name, list of names or table"),
        ({"default": {}}, "is no number, name, list of names or table"),
        ({"default": "slow", "choices": ["fast"]}, "is not one of fast"),
        ({"default": 1.0, "confidence": "X"}, "confidence 'X' is not one of D, M, I, U"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(declaration: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        parameter(declaration.pop("default"), "us", **declaration)


def test_parameters_go_with_a_name() -> None:
    made: Any = cost_model("ascend:910b4", {"l2_share": 0.6, "vector_cycles.Add": 0.02})
    assert (made.soc.l2_share, made.soc.vector_cycles["Add"], made.soc.cores) == (0.6, 0.02, 20)
    with pytest.raises(UnknownParameterError, match="'l2_share' of nodes: it declares none"):
        cost_model("nodes", {"l2_share": 0.6})
    with pytest.raises(CostModelError, match="'device' is made already"):
        cost_model(Device(), {"lanes": 4})


def test_all_parameters_are_told_as_they_are_afterwards() -> None:
    found = parameters_of("ascend:310")
    assert (found["cores"].value, found["cores"].confidence) == (2, "D")
    assert parameters_of("nodes") == {}


def test_a_table_of_declarations_is_checked_as_values_are() -> None:
    text = '[a]\nvalue = 2.0\nunit = "us"\nrange = [0, 1]\nconfidence = "D"\nsource = "it"\n'
    with pytest.raises(ParameterError, match=r"declared\.toml:2: a: must be 0 to 1"):
        read_declarations(TomlFile("declared.toml", text), {})
    entry = read_declarations(TomlFile("declared.toml", text.replace("1]", "3]")), {})["a"]
    assert entry == Parameter("a", 2.0, "us", entry.domain, "D", "it")
