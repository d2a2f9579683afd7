"""Operators that only a target has: priced by its cost model, expanded when the graph is rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import Limits, optimize, saturate
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost.registry import cost_model
from egraph_opt.errors import TargetMismatchError
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.walks import same_graph
from egraph_opt.laws import Settings, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.model.reading import read_model
from egraph_opt.operators import OnnxForm, matmul, operator, unary
from egraph_opt.operators.declaration import PSEUDO_DOMAIN, Earlier, Step
from egraph_opt.operators.terms import Tensor
from egraph_opt.pipeline import Saturated

# --- a target that fuses a product with Relu, and computes sines in a layout of its own ---------------------


def _form(op_type: str, operands: int) -> Any:
    def form(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> OnnxForm:
        return OnnxForm(op_type, tuple(range(operands)), (), PSEUDO_DOMAIN)

    return form


def _expand_product(attributes: tuple[()]) -> tuple[Step, ...]:
    return (Step("matmul", (), (0, 1)), Step("unary", ("Relu", ()), (Earlier(0),)))


@operator(form=_form("MatMulRelu", 2), expand=_expand_product)
def matmul_relu(x: Tensor, y: Tensor) -> Tensor:
    """Relu(x @ y) as one kernel; its type follows from its steps."""


def _infer_blocked(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> Fact:
    assert facts[0].shape is not None
    return Fact(facts[0].dtype, (*facts[0].shape, 1))


def _infer_plain(opset: int, attributes: tuple[()], facts: tuple[Fact, ...]) -> Fact:
    assert facts[0].shape is not None
    return Fact(facts[0].dtype, facts[0].shape[:-1])


@operator(form=_form("ToBlocked", 1), infer=_infer_blocked, expand=lambda attributes: ())
def to_blocked(x: Tensor) -> Tensor:
    """x in the layout, which has an axis more."""


@operator(form=_form("FromBlocked", 1), infer=_infer_plain, expand=lambda attributes: ())
def from_blocked(x: Tensor) -> Tensor:
    """x in the plain layout again."""


@operator(form=_form("SinBlocked", 1), expand=lambda attributes: (Step("unary", ("Sin", ()), (0,)),))
def sin_blocked(x: Tensor) -> Tensor:
    """Sin in the layout."""


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    product = matmul(g.input(("N", 3)), g.random(3, 4))
    yield g.fires(unary("Relu", (), product))
    yield g.near_miss(unary("Tanh", (), product), why="only Relu is fused")


@law("tests.target", numerics="bitwise", examples=_product_examples)
def fuse_relu(x: Tensor, y: Tensor) -> Iterator[Any]:
    """Relu(MatMul(x, y)) = MatMulRelu(x, y)"""
    yield rewrite(
        unary("Relu", (), matmul(x, y)),
        matmul_relu(x, y),
        because="the kernel stands for the nodes that it matches",
    )


def _layout_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((2, 3))
    yield g.fires(unary("Sin", (), x))
    yield g.near_miss(unary("Cos", (), x), why="only Sin has a kernel in the layout")


@law("tests.target", numerics="bitwise", examples=_layout_examples)
def block_sines(x: Tensor, s: Settings) -> Iterator[Any]:
    """Sin(x) = From(SinBlocked(To(x))), and To(From(x)) = x"""
    yield rewrite(
        unary("Sin", s, x),
        from_blocked(sin_blocked(to_blocked(x))),
        because="the kernel stands for the nodes that it matches",
    )
    yield rewrite(to_blocked(from_blocked(x)), x, because="the kernel stands for the nodes that it matches")


class Target(CostModel):
    """Prices by operator."""

    name = "tests"
    unit = "coins"
    rulesets = ("tests.target",)
    pseudo_operators = frozenset(("matmul_relu", "to_blocked", "from_blocked", "sin_blocked"))

    def __init__(self, **prices: float) -> None:
        self.prices = {
            "MatMul": 10.0,
            "Relu": 5.0,
            "MatMulRelu": 11.0,
            "Sin": 9.0,
            "SinBlocked": 1.0,
        } | prices
        self.seen: list[NodeView] = []

    def cost(self, node: NodeView) -> float:
        self.seen.append(node)
        return self.prices.get(node.op_type, 2.0)


def model(body: str, signature: str, weights: str = "") -> onnx.ModelProto:
    header = '<ir_version: 8, opset_import: ["" : 17]>'
    made = parser.parse_model(f"{header} g ({signature}) {weights} {{ {body} }}")
    onnx.checker.check_model(made, full_check=True)
    return made


def kinds(made: onnx.ModelProto) -> list[str]:
    assert {node.domain for node in made.graph.node} <= {""}
    return sorted(node.op_type for node in made.graph.node)


RELU = model("m = MatMul(x, w)  y = Relu(m)", "float[N, 2] x, float[2, 3] w) => (float[N, 3] y")


# --- choosing ----------------------------------------------------------------------------------------------


def test_a_pseudo_operator_is_chosen_where_it_is_cheaper_and_is_erased() -> None:
    result = optimize(RELU, cost=Target(), strict=True)
    assert result.report.cost.after == 11
    assert result.report.verification.status == "passed"
    assert kinds(result.model) == ["MatMul", "Relu"]


def test_it_is_not_chosen_where_it_is_more_expensive() -> None:
    result = optimize(RELU, cost=Target(MatMulRelu=16.0), strict=True)
    assert result.report.cost.after == 15
    assert not any(rule.used for rule in result.report.rewrites)


def test_the_original_is_compiled_by_the_same_target_so_that_fusing_is_no_gain() -> None:
    report = optimize(RELU, cost=Target(), strict=True).report
    assert (report.cost.before, report.cost.after) == (11, 11)
    assert report.status == "unchanged"
    assert [rule.name for rule in report.rewrites if rule.used] == ["fuse_relu"]


def test_what_is_left_of_an_erased_operator_keeps_the_names_of_the_original() -> None:
    result = optimize(RELU, cost=Target(), strict=True)
    assert same_graph(read_model(RELU).model.graph, read_model(result.model).model.graph)


def test_the_cost_model_sees_one_node_with_the_outer_operands() -> None:
    target = Target()
    optimize(RELU, cost=target)
    fused = next(view for view in target.seen if view.op_type == "MatMulRelu")
    assert fused.domain == PSEUDO_DOMAIN
    assert [fact.shape for fact in (*fused.inputs, *fused.outputs) if fact] == [(1, 2), (2, 3), (1, 3)]


# --- a second consumer -------------------------------------------------------------------------------------

SHARED = model(
    "m = MatMul(x, w)  y = Relu(m)  z = Tanh(m)",
    "float[4, 2] x, float[2, 3] w) => (float[4, 3] y, float[4, 3] z",
)


def test_a_second_consumer_of_the_inner_value_pays_for_it_again() -> None:
    apart = optimize(SHARED, cost=Target(), strict=True)
    assert apart.report.cost.after == 10 + 5 + 2
    again = optimize(SHARED, cost=Target(MatMulRelu=4.0), strict=True)
    assert again.report.cost.after == 10 + 4 + 2


def test_an_inner_value_that_two_need_is_written_once() -> None:
    result = optimize(SHARED, cost=Target(MatMulRelu=4.0), strict=True)
    assert kinds(result.model) == ["MatMul", "Relu", "Tanh"]
    assert result.report.status == "unchanged"


def test_an_inner_value_that_is_an_output_keeps_its_name() -> None:
    outputs = "float[4, 2] x, float[2, 3] w) => (float[4, 3] m, float[4, 3] y"
    shared = model("m = MatMul(x, w)  y = Relu(m)", outputs)
    result = optimize(shared, cost=Target(MatMulRelu=4.0), strict=True)
    assert [value.name for value in result.model.graph.output] == ["m", "y"]
    assert kinds(result.model) == ["MatMul", "Relu"]


# --- operators that stand for nothing ----------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["4", "N"])
def test_conversions_of_layouts_are_paid_once_at_each_end_and_vanish(rows: str) -> None:
    chain = model(
        "a = Sin(x)  b = Sin(a)  c = Sin(b)  y = Cos(c)", f"float[{rows}, 2] x) => (float[{rows}, 2] y"
    )
    result = optimize(chain, cost=Target(), strict=True)
    assert result.report.cost.after == 2 + 3 * 1 + 2 + 2
    assert kinds(result.model) == ["Cos", "Sin", "Sin", "Sin"]
    assert result.report.verification.status == "passed"
    types = [value.type.tensor_type for value in result.model.graph.value_info]
    assert {len(type_.shape.dim) for type_ in types if type_.HasField("shape")} <= {2}


def test_a_value_in_a_layout_may_be_an_output() -> None:
    ends = model("a = Sin(x)  y = Sin(a)", "float[4, 2] x) => (float[4, 2] a, float[4, 2] y")
    result = optimize(ends, cost=Target(Sin=20.0), strict=True)
    assert result.report.verification.status == "passed"
    assert [value.name for value in result.model.graph.output] == ["a", "y"]
    assert kinds(result.model).count("Sin") == 2


# --- other cost models, constants, files ------------------------------------------------------------------


def test_a_cost_model_that_does_not_know_a_pseudo_operator_does_not_choose_it() -> None:
    saturated = saturate(RELU, target=Target())
    assert saturated.region is not None
    assert "matmul_relu" in saturated.region.snapshot.operator
    report = saturated.extract("nodes").report
    assert (report.status, report.cost.before, report.cost.after) == ("unchanged", 2, 2)
    assert saturated.extract(cost_model("flops")).report.status == "unchanged"


def test_an_e_graph_without_the_laws_of_a_pseudo_operator_is_not_priced_with_it() -> None:
    with pytest.raises(TargetMismatchError, match=r"without the ruleset tests\.target"):
        saturate(RELU).extract(Target())


def test_constants_are_computed_by_what_a_pseudo_operator_stands_for() -> None:
    weights = "<float[2, 2] a = {1.0, -2.0, 3.0, 4.0}, float[2, 2] b = {1.0, 0.0, 0.0, 1.0}>"
    constant = model(
        "m = MatMul(a, b)  r = Relu(m)  y = Add(x, r)", "float[2, 2] x) => (float[2, 2] y", weights
    )
    result = optimize(constant, cost=Target(), strict=True, limits=Limits(fold_bytes=1))
    assert result.report.verification.status == "passed"
    assert kinds(result.model) == ["Add"]


def test_a_saturated_model_with_pseudo_operators_is_saved_and_read(tmp_path: Path) -> None:
    path = saturate(RELU, target=Target()).save(tmp_path / "model.npz")
    report = Saturated.load(path).extract(Target(), strict=True).report
    assert (report.status, report.cost.after) == ("unchanged", 11)
