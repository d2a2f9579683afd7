"""Cost models that are classes in files and modules: `my_costs.py:Launches`, `my_package.costs:Launches`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from egraph_opt import cost_model
from egraph_opt.cost.registry import parameters_of
from egraph_opt.errors import CostModelError, LimitsError, ParameterError, UnknownCostModelError

GOOD = '''\
from egraph_opt import CostModel, NodeView, parameter


class Launches(CostModel):
    """A device that takes a while to start anything."""

    name = "launches"
    unit = "us"
    launch_us = parameter(5.0, "us per kernel", most=100.0, source="a guess")

    def cost(self, node: NodeView) -> float:
        return self.launch_us + node.body_cost


class Chips(Launches):
    """A device of which there are several."""

    def __init__(self, chip: str = "small", **parameters: float) -> None:
        super().__init__(**parameters)
        self.chip = chip

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return ("small", "large")


class Failing(Launches):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Greedy(Launches):
    def __init__(self, needed) -> None:
        pass


class Abstract(CostModel):
    name = "abstract"
    unit = "us"


class Nameless(CostModel):
    unit = "us"

    def cost(self, node: NodeView) -> float:
        return 1.0


class Limited(Launches):
    def __init__(self) -> None:
        from egraph_opt.errors import LimitsError

        raise LimitsError("no time left")


class Other:
    pass


launches = 3
'''


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.py"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package on the path whose module `costs` has the classes."""
    folder = tmp_path / "egraph_opt_tests_vendor"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "costs.py").write_text(GOOD, encoding="utf-8")
    (folder / "broken.py").write_text("\nraise OSError('no device')\n")
    (folder / "typo.py").write_text("x = 1\ny = = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_a_class_in_a_file_and_nothing_is_left_beside_it(costs: Path) -> None:
    made: Any = cost_model(f"{costs}:Launches")
    assert (made.name, made.launch_us) == ("launches", 5.0)
    assert os.listdir(costs.parent) == ["costs.py"]


def test_a_file_that_is_changed_is_another_one(costs: Path) -> None:
    before: Any = cost_model(f"{costs}:Launches")
    stamp = costs.stat().st_mtime_ns
    costs.write_text(GOOD.replace("5.0", "6.0"), encoding="utf-8")
    os.utime(costs, ns=(stamp, stamp))
    after: Any = cost_model(f"{costs}:Launches")
    assert (before.launch_us, after.launch_us) == (5.0, 6.0)


def test_a_class_in_a_module(package: str) -> None:
    made: Any = cost_model(f"{package}.costs:Chips:large", {"launch_us": 2})
    assert (made.chip, made.launch_us) == ("large", 2.0)


def test_variants_and_files_of_parameters_follow_a_class(costs: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "large"\nlaunch_us = 7\n')
    made: Any = cost_model(f"{costs}:Chips:{mine}")
    assert (made.chip, made.launch_us) == ("large", 7.0)
    assert parameters_of(f"{costs}:Launches:{mine}".replace("Launches", "Chips"))["launch_us"].value == 7.0
    with pytest.raises(UnknownCostModelError, match=r"mine\.toml:1: .*known are .*Launches"):
        cost_model(f"{costs}:Launches:{mine}")
    with pytest.raises(UnknownCostModelError, match=r"did you mean '.*:Chips:large'"):
        cost_model(f"{costs}:Chips:larg")
    with pytest.raises(ParameterError, match=r"launch_us = 101\.0: must be 0 to 100"):
        cost_model(f"{costs}:Chips", {"launch_us": 101.0})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Failing", "{file}:{line}: {file}:Failing cannot be made: RuntimeError: no licence"),
        ("Greedy", "{file}:{line}: {file}:Greedy cannot be made: TypeError: Greedy.__init__() missing 1"),
        ("Abstract", "{file}:{line}: {file}:Abstract cannot be made: TypeError: Can't instantiate abstract"),
        ("Nameless", "{file}:{line}: {file}:Nameless has no text as `name`"),
        ("Other", "{file}:{line}: Other is no cost model, which is a subclass of egraph_opt.CostModel"),
        ("launches", "{file}: launches is no cost model"),
    ],
)
def test_a_class_that_is_none_or_fails_is_told_with_its_line(costs: Path, name: str, told: str) -> None:
    wanted = 'raise RuntimeError("no licence")' if name == "Failing" else f"class {name}"
    line = next((k for k, text in enumerate(GOOD.splitlines(), 1) if wanted in text), 0)
    with pytest.raises(CostModelError) as caught:
        cost_model(f"{costs}:{name}")
    assert str(caught.value).startswith(told.format(file=costs, line=line))


def test_errors_of_ours_go_through(costs: Path) -> None:
    with pytest.raises(LimitsError, match="no time left"):
        cost_model(f"{costs}:Limited")


@pytest.mark.parametrize("kind", ["file", "module"])
def test_a_misspelt_class_is_answered_with_the_nearest(costs: Path, package: str, kind: str) -> None:
    name = f"{costs}:Lunches" if kind == "file" else f"{package}.costs:Lunches"
    with pytest.raises(UnknownCostModelError, match=r"costs\.py: .*'Lunches': did you mean 'Launches'"):
        cost_model(name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = = 1\n", "costs.py:1: SyntaxError: invalid syntax"),
        ("\n\nx = 1 / 0\n", "costs.py:3: ZeroDivisionError: division by zero"),
        ("import nowhere_to_be_found\n", "costs.py:1: ModuleNotFoundError: No module named"),
        (
            "from egraph_opt import parameter\nx = parameter(-1.0, 'us')\n",
            "costs.py:2: the default -1.0: must be",
        ),
        ("import sys\nsys.exit(3)\n", "costs.py:2: SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_run_is_told_with_its_line(costs: Path, text: str, told: str) -> None:
    costs.write_text(text)
    with pytest.raises(CostModelError) as caught:
        cost_model(f"{costs}:Launches")
    assert str(caught.value).startswith(str(costs.parent / told))


def test_a_file_or_module_that_is_not_there_is_named(package: str, tmp_path: Path) -> None:
    with pytest.raises(CostModelError, match=r"none\.py: cannot be read: No such file"):
        cost_model(f"{tmp_path / 'none.py'}:Launches")
    with pytest.raises(CostModelError, match=rf"there is no module '{package}\.none'"):
        cost_model(f"{package}.none:Launches")
    with pytest.raises(UnknownCostModelError, match="did you mean 'ascend'"):
        cost_model("ascned:Launches")


def test_a_module_that_cannot_be_imported_is_told_with_its_line(package: str) -> None:
    with pytest.raises(CostModelError, match=r"broken\.py:2: OSError: no device"):
        cost_model(f"{package}.broken:Launches")
    with pytest.raises(CostModelError, match=r"typo\.py:2: SyntaxError"):
        cost_model(f"{package}.typo:Launches")


@pytest.mark.parametrize("name", [3, None, Path])
def test_what_is_neither_a_model_nor_a_name_is_refused(name: Any) -> None:
    with pytest.raises(CostModelError, match="neither a cost model nor the name of one"):
        cost_model(name)
