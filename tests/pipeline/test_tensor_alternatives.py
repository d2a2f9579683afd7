"""What else could compute a tensor, in words, and at what cost."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto
from typer.testing import CliRunner

from egraph_opt import saturate
from egraph_opt.cli import app
from egraph_opt.errors import UnknownTensorError
from egraph_opt.pipeline.tensor_alternatives import TensorAlternative

from ..cost.test_repricing import Priced, branching


def only(ways: list[TensorAlternative], text: str) -> TensorAlternative:
    (way,) = [way for way in ways if str(way) == text]
    return way


def test_what_it_would_cost_not_to_merge_products(heads: ModelProto) -> None:
    saturated = saturate(heads)
    merged = saturated.extract("nodes")
    before, after = merged.report.cost.before, merged.report.cost.after
    ways = saturated.alternatives("nodes", "q")
    assert [way.chosen for way in ways] == [True] + [False] * (len(ways) - 1)
    assert str(ways[0]).startswith("output 0 of Split(q.matmul")
    assert (ways[0].cost, ways[0].difference) == (after, 0.0)
    apart = only(ways, "MatMul(x, wq)")
    assert (apart.law, apart.cost, apart.difference) == ("original", before, before - after)
    assert all(way.proved for way in ways)
    assert [way.difference for way in ways] == sorted(way.difference for way in ways)
    pair = only(ways, "output 0 of Split(MatMul(x, Concat(wq, wk)), (16, 16), axis=2)")
    assert pair.law == "split.outputs"


def test_nodes_and_new_tensors_have_names_too(heads: ModelProto) -> None:
    saturated = saturate(heads)
    new = saturated.extract("nodes").model.graph.node[0].output[0]
    assert saturated.alternatives("nodes", "query") == saturated.alternatives("nodes", "q")
    product, without = saturated.alternatives("nodes", new)
    assert (str(product), product.law) == ("MatMul(x, Concat(wq, wk, wv))", "horizontal.three_products")
    assert (str(without), without.difference) == ("not computed", 1.0)


def test_what_has_no_alternative_is_one_way(heads: ModelProto) -> None:
    (leaf,) = saturate(heads).alternatives("nodes", "x")
    assert leaf.chosen


def test_tensors_of_bodies_are_found() -> None:
    saturated = saturate(branching())
    ways = saturated.alternatives(Priced(Transpose=4.0), "Relub")
    assert (ways[0].cost, ways[0].chosen) == (1.0, True)
    assert all(way.proved for way in ways)


def test_a_tensor_that_is_not_there(heads: ModelProto) -> None:
    with pytest.raises(UnknownTensorError, match="no tensor or node 'qq' in the model: did you mean 'q'"):
        saturate(heads).alternatives("nodes", "qq")


def test_the_command_prints_a_table(heads: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "heads.onnx"
    onnx.save(heads, path)
    done = CliRunner().invoke(app, ["alternatives", str(path), "q", "--cost", "nodes"])
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[:2] == [["nodes", "more", "law"], ["computed", "by"]]
    assert (rows[2][:2], rows[2][-1]) == (["6", "+0"], "(chosen)")
    assert ["7", "+1", "original"] in rows and ["MatMul(x,", "wq)"] in rows
    listed = CliRunner().invoke(app, ["alternatives", str(path), "q", "--cost", "nodes", "--json"])
    assert json.loads(listed.stdout)[0]["chosen"]
    wrong = CliRunner().invoke(app, ["alternatives", str(path), "nothing", "--cost", "nodes"])
    assert wrong.exit_code == 2
    assert "no tensor or node 'nothing'" in wrong.stderr
