"""Targets in files: values, what they extend, and what is wrong with them by file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import parser

from egraph_opt import cost_model, optimize
from egraph_opt.cost.registry import parameters_of
from egraph_opt.errors import CostModelError, ParameterError, UnknownCostModelError, UnknownParameterError


def soc(path: Path) -> Any:
    model: Any = cost_model(f"ascend:{path}")
    return model.soc


def written(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


GOOD = """\
extends = "910b4"
l2_share = 0.6
fused_operators = ["Relu", "Tanh"]
vector_cycles.Add = 0.02

[fixed_vector_us]
value = 1.8
unit = "us per kernel"
confidence = "M"
source = "median of our profile"

[vector_steps]
Selu = ["Exp", "Mul"]

[[aicpu_rules]]
ops = ["Add"]
dtypes = ["int64"]
"""


def test_a_file_replaces_what_it_names_and_keeps_the_rest(tmp_path: Path) -> None:
    plain: Any = cost_model("ascend:910b4")
    found = soc(written(tmp_path, GOOD))
    assert (found.l2_share, found.fixed_vector_us, found.cores) == (0.6, 1.8, 20)
    assert found.fused_operators == {"Relu", "Tanh"}
    assert found.vector_cycles == {**plain.soc.vector_cycles, "Add": 0.02}
    assert found.vector_steps == {**plain.soc.vector_steps, "Selu": ("Exp", "Mul")}
    assert found.aicpu_rules == ((frozenset({"Add"}), frozenset({7})),)


def test_what_a_file_says_of_its_values_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    found = parameters_of(f"ascend:{path}")
    told = {name: (found[name].confidence, found[name].source) for name in ("fixed_vector_us", "l2_share")}
    assert told == {"fixed_vector_us": ("M", "median of our profile"), "l2_share": ("U", str(path))}
    assert found["vector_cycles"].source.startswith(f"Add: {path}; others: hicann/ge")
    assert found["cores"] == parameters_of("ascend:910b4")["cores"]


def test_a_file_extends_another_as_seen_from_where_it_is(tmp_path: Path) -> None:
    written(tmp_path, 'extends = "310"\nl2_share = 0.1\nview_us = 1.0\n', "shared/base.toml")
    written(tmp_path, 'extends = "base.toml"\nview_us = 2.0\nvector_cycles.Add = 1\n', "shared/mid.toml")
    path = written(tmp_path, 'extends = "./shared/mid.toml"\nvector_cycles.Mul = 3\n')
    found = soc(path)
    assert (found.cores, found.l2_share, found.view_us) == (2, 0.1, 2.0)
    assert (found.vector_cycles["Add"], found.vector_cycles["Mul"]) == (1.0, 3.0)


def test_without_extends_it_goes_on_from_the_default(tmp_path: Path) -> None:
    assert soc(written(tmp_path, "cores = 4\n")).clock_ghz == soc(written(tmp_path, "")).clock_ghz == 1.08


def test_further_parameters_come_after_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "l2_share = 0.6\nview_us = 2\n")
    made: Any = cost_model(f"ascend:{path}", {"l2_share": 0.7})
    assert (made.soc.l2_share, made.soc.view_us) == (0.7, 2.0)


def test_a_model_is_optimized_for_a_file(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu (x) }'
    path = written(tmp_path, 'extends = "310p3"\nfixed_vector_us = 100.0\n')
    plain, mine = (optimize(parser.parse_model(text), cost) for cost in ("ascend", f"ascend:{path}"))
    assert mine.report.cost.after > plain.report.cost.after + 10


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("\n\nl2_share 0.6\n", CostModelError, "mine.toml:3: is no TOML: Expected '=' after a key"),
        ("a = 1\na = 2\n", CostModelError, "mine.toml:2: is no TOML: Cannot overwrite a value"),
        ("l2_share = 'x\n", CostModelError, "mine.toml:1: is no TOML"),
        (f"cores = {'9' * 5000}\n", CostModelError, "mine.toml:1: is no TOML: Exceeds the limit"),
        (f"cores = {'[' * 9999}\n", CostModelError, "mine.toml:1: is no TOML"),
        ("cores = 2\n\n# so\nl2_share = -0.5\n", ParameterError, "mine.toml:4: l2_share = -0.5: must be"),
        ("l2_share = nan\n", ParameterError, "mine.toml:1: l2_share = nan: must be finite"),
        ("\nl2_share = inf\n", ParameterError, "mine.toml:2: l2_share = inf: must be finite"),
        ("l2_share = '0.5'\n", ParameterError, "mine.toml:1: l2_share = '0.5': must be a number"),
        ("cores = 2.0\n", ParameterError, "mine.toml:1: cores = 2.0: must be a whole number"),
        ("cores = true\n", ParameterError, "mine.toml:1: cores = True: must be a whole number"),
        ("cores = 1979-05-27\n", ParameterError, "mine.toml:1: cores = datetime"),
        (
            "matmul_nd = 'iner'\n",
            ParameterError,
            "mine.toml:1: matmul_nd = 'iner': is not one of aligned, inner",
        ),
        (
            "cores = 2\nl2_shar = 0.5\n",
            UnknownParameterError,
            "mine.toml:2: unknown parameter 'l2_shar' of ascend: did you mean 'l2_share'?",
        ),
        (
            "[vector_cycles]\nMul = 1\nAd = 2\n",
            UnknownParameterError,
            "mine.toml:3: unknown parameter 'vector_cycles.Ad' of ascend: did you mean 'vector_cycles.Add'?",
        ),
        ("[vector_cycles.value]\nMul = 1\nAdd = -2\n", ParameterError, "mine.toml:3: vector_cycles.Add = -2"),
        ("vector_cycles = { Add = 'x' }\n", ParameterError, "mine.toml:1: vector_cycles.Add = 'x'"),
        (
            "[l2_share]\nvaleu = 0.5\n",
            ParameterError,
            "mine.toml:2: l2_share has no 'valeu': did you mean 'value'?",
        ),
        ("cores = 2\n[l2_share]\nunit = 'x'\n", ParameterError, "mine.toml:2: l2_share has no value"),
        (
            "[view_us]\nvalue = 1\nunit = 'ms'\n",
            ParameterError,
            "mine.toml:3: view_us is in 'us per node', not in 'ms'",
        ),
        (
            "[view_us]\nvalue = 1\nconfidence = 'X'\n",
            ParameterError,
            "mine.toml:3: view_us: confidence 'X' is not one of D, M, I, U",
        ),
        ("[view_us]\nvalue = 1\nsource = 3\n", ParameterError, "mine.toml:3: view_us: source 3 is no text"),
        (
            "cores = 2\nfused_operators = [\n  'Relu',\n  'Tahn',\n]\n",
            ParameterError,
            "mine.toml:2: fused_operators.1 = 'Tahn': is not one of ONNX operators: did you mean 'Tan",
        ),
        (
            "[[aicpu_rules]]\nops = ['Add']\n",
            ParameterError,
            "mine.toml:1: aicpu_rules.0 = {'ops': ['Add']}: lacks `dtypes`",
        ),
        (
            "[[aicpu_rules]]\nops = ['Add']\ndtypes = ['int65']\n",
            ParameterError,
            "mine.toml:3: aicpu_rules.0.dtypes.0 = 'int65': is not one of ONNX data types",
        ),
        (
            "[[aicpu_rules]]\nops = ['Add']\ndtype = ['int64']\n",
            UnknownParameterError,
            "mine.toml:3: unknown parameter 'aicpu_rules.0.dtype' of ascend: did you mean 'aicpu_rules.0.d",
        ),
        ("cores = 2\nextends = 3\n", ParameterError, "mine.toml:2: extends = 3: must be a name or a file"),
        (
            "\nextends = '310p4'\n",
            UnknownCostModelError,
            "mine.toml:2: unknown cost model 'ascend:310p4': did you mean 'ascend:310p3'?",
        ),
        ("extends = 'none.toml'\n", CostModelError, "none.toml: cannot be read: No such file"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    tmp_path: Path, text: str, kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as caught:
        soc(written(tmp_path, text))
    assert type(caught.value) is kind
    assert str(caught.value).startswith(str(tmp_path / told))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CostModelError, match=r"missing\.toml: cannot be read: No such file"):
        soc(tmp_path / "missing.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(CostModelError, match=r"folder\.toml: cannot be read: Is a directory"):
        soc(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(CostModelError, match=r"latin\.toml: is no TOML: it is not text in UTF-8"):
        soc(tmp_path / "latin.toml")


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    first = written(tmp_path, 'extends = "b.toml"\n', "a.toml")
    written(tmp_path, '\nextends = "c.toml"\n', "b.toml")
    third = written(tmp_path, 'extends = "./a.toml"\n', "c.toml")
    with pytest.raises(CostModelError) as caught:
        soc(first)
    assert str(caught.value).startswith(f"{third}:1: extends itself: {first} -> ")
    itself = written(tmp_path, 'extends = "self.toml"\n', "self.toml")
    with pytest.raises(CostModelError, match="extends itself"):
        soc(itself)


def test_a_mistake_in_the_file_that_is_extended_is_told_of_that_file(tmp_path: Path) -> None:
    written(tmp_path, "cores = 2\nl2_share = 2\n", "base.toml")
    with pytest.raises(ParameterError, match=r"base\.toml:2: l2_share = 2: must be 0 to 1"):
        soc(written(tmp_path, 'extends = "base.toml"\nl2_share = 0.5\n'))


def test_a_file_stands_behind_a_cost_model_that_has_parameters(tmp_path: Path) -> None:
    path = written(tmp_path, "cores = 2\n")
    with pytest.raises(
        UnknownParameterError, match=r"mine\.toml:1: unknown parameter 'cores' of flops: it declares"
    ):
        cost_model(f"flops:{path}")
    with pytest.raises(CostModelError, match=r"follows its cost model: ascend:.*mine\.toml"):
        cost_model(str(path))
