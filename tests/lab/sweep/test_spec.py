"""What a sweep's file says, and what is told where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from egraph_opt.errors import EgraphOptError, SpecError
from egraph_opt.lab.sweep.planning import plan
from egraph_opt.lab.sweep.spec import read_spec
from egraph_opt.lab.sweep.spec_costs import Axes, Grid, ParameterRange

from .small import write_example

COST = '[[cost]]\nmodel = "costs.py:Trade"\n'
MODELS = 'models = ["small.onnx"]\n'


def test_points_are_the_grid_times_the_samples() -> None:
    grid = (Grid("a", (1, 2)), Grid("b", ("x", "y", "z")))
    axes = Axes(grid, (ParameterRange("c", 0.0, 1.0),), samples=4, seed="7")
    points = list(axes.points())
    assert len(points) == axes.count == 24
    assert axes.names == ("a", "b", "c")
    assert len({point["c"] for point in points}) == 4
    assert points == list(axes.points())


def test_samples_stay_in_their_range() -> None:
    ranges = (
        ParameterRange("u", -1.0, 3.0),
        ParameterRange("l", 0.01, 100.0, log=True),
        ParameterRange("w", 1, 6, whole=True),
    )
    points = list(Axes((), ranges, samples=500).points())
    assert all(-1 <= p["u"] <= 3 and 0.01 <= p["l"] <= 100 and p["w"] in range(1, 7) for p in points)
    assert 200 < sum(p["l"] < 1 for p in points) < 300
    assert {p["w"] for p in points} == set(range(1, 7))


def test_models_and_files_are_found_beside_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_example(tmp_path, 'models = ["*.onnx", "small.onnx"]\n' + COST)
    monkeypatch.chdir(Path(__file__).parent)
    spec = read_spec(path)
    assert [model.label for model in spec.models] == ["small.onnx"]
    assert plan(spec).spec.count == 1


def test_entries_of_tables_are_named_with_quotes_or_without(tmp_path: Path) -> None:
    text = f'{MODELS}{COST}grid = {{ "by_type.Add" = [1, 2], by_type.Neg = [3.0] }}\n'
    spec = read_spec(write_example(tmp_path, text))
    assert list(spec.costs[0].axes.points()) == [
        {"by_type.Add": 1.0, "by_type.Neg": 3.0},
        {"by_type.Add": 2.0, "by_type.Neg": 3.0},
    ]


def test_a_huge_grid_is_counted_without_making_it(tmp_path: Path) -> None:
    values = ", ".join(f"{k / 1000}" for k in range(10, 2010))
    entries = ", ".join(
        f"{name} = [{values}]" for name in ("sub_us", "idle_us", "by_type.Add", "by_type.Neg")
    )
    assert read_spec(write_example(tmp_path, f"{MODELS}{COST}grid = {{ {entries} }}\n")).count == 2000**4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("modles = []\n" + COST, "spec.toml:1: unknown key 'modles': did you mean 'models'?"),
        (COST, "models must be a list of names"),
        (
            'models = ["smal.onnx"]\n' + COST,
            "spec.toml:1: unknown model 'smal.onnx': did you mean 'small.onnx'?",
        ),
        ('models = ["*.onx"]\n' + COST, "spec.toml:1: no file is like '*.onx'"),
        (MODELS, "there is no cost model: add [[cost]]"),
        (MODELS + "[cost]\n", "spec.toml:2: cost models are a list"),
        (MODELS + "[[cost]]\n", "spec.toml:2: a cost model has a name"),
        (
            MODELS + '[[cost]]\nmodel = "ascned"\n',
            "spec.toml:3: unknown cost model 'ascned': did you mean 'ascend'",
        ),
        (MODELS + '[[cost]]\nmodel = "costs.py:Trad"\n', "unknown cost model 'Trad': did you mean 'Trade'?"),
        (MODELS + COST + "grids = {}\n", "spec.toml:4: unknown key 'grids': did you mean 'grid'?"),
        (MODELS + COST + "set = { sub = 1.0 }\n", "spec.toml:4: unknown parameter 'sub' of"),
        (MODELS + COST + "set = { sub_us = -1.0 }\n", "spec.toml:4: sub_us = -1.0: must be 0.01 to 100"),
        (
            MODELS + COST + "\n[cost.grid]\nsub_us = [1.0]\nidle = [1]\n",
            "spec.toml:7: unknown parameter 'idle'",
        ),
        (MODELS + COST + "grid = { sub_us = 1.0 }\n", "spec.toml:4: sub_us must be a list of values"),
        (MODELS + COST + "grid = { sub_us = [] }\n", "spec.toml:4: sub_us must be a list of values"),
        (
            MODELS + COST + "grid = { sub_us = [\n1.0,\n200.0\n] }\n",
            "spec.toml:4: sub_us = 200.0: must be 0.01 to",
        ),
        (MODELS + COST + "grid = { sub_us = [1, 1.0] }\n", "spec.toml:4: sub_us = 1.0 is there twice"),
        (MODELS + COST + "grid = { mode = ['plane'] }\n", "did you mean 'plain'?"),
        (MODELS + COST + "grid = { by_type.Ad = [1.0] }\n", "unknown parameter 'by_type.Ad' of"),
        (MODELS + COST + "range = { sub_us = [1, 2] }\n", "add `samples = 100`"),
        (MODELS + COST + "samples = 3\n", "samples of what?"),
        (
            MODELS + COST + "samples = 0\nrange = { sub_us = [1, 2] }\n",
            "samples = 0: must be a whole number, 1",
        ),
        (MODELS + COST + "samples = 2\nrange = { sub_us = [2, 1] }\n", "2 to 1 is no range"),
        (MODELS + COST + "samples = 2\nrange = { sub_us = [1, nan] }\n", "sub_us = nan: must be finite"),
        (
            MODELS + COST + "samples = 2\nrange = { mode = ['plain', 'odd'] }\n",
            "is no number: list its values",
        ),
        (
            MODELS + COST + "samples = 2\nrange = { idle_us = { least = 0, most = 1, scale = 'log' } }\n",
            "above 0 where the scale is log",
        ),
        (
            MODELS + COST + "samples = 2\nrange = { sub_us = { least = 1, most = 2, scale = 'ln' } }\n",
            "scale = 'ln'",
        ),
        (MODELS + COST + "samples = 2\nrange = { sub_us = 3 }\n", "must be [least, most]"),
        (
            MODELS + COST + "samples = 2\ngrid = { sub_us = [1] }\nrange = { sub_us = [1, 2] }\n",
            "sub_us is in the grid, too",
        ),
        (
            MODELS + "rewrites = [['defalt']]\n" + COST,
            "spec.toml:2: unknown ruleset 'defalt': did you mean 'default'?",
        ),
        (MODELS + "rewrites = ['default']\n" + COST, "rewrites are lists of rulesets in a list"),
        (
            MODELS + "extractors = ['exat']\n" + COST,
            "spec.toml:2: unknown extractor 'exat': did you mean 'exact'?",
        ),
        (MODELS + "limits = { node = 3 }\n" + COST, "spec.toml:2: unknown key 'node': did you mean 'nodes'?"),
        (
            MODELS + "limits = { nodes = -3 }\n" + COST,
            "spec.toml:2: Limits(nodes=-3): must be a positive number",
        ),
        (MODELS + "most = 'many'\n" + COST, "spec.toml:2: most = 'many': must be a whole number"),
        (MODELS + "models = [\n", "spec.toml:2: is no TOML"),
    ],
)
def test_what_a_spec_cannot_say_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(EgraphOptError) as caught:
        read_spec(write_example(tmp_path, text))
    assert told in str(caught.value)


def test_a_spec_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "none.toml")
