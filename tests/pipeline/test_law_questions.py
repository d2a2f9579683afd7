"""Why a law did nothing: the condition that failed, with what it saw, or the price, or the opset."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import parser

from egraph_opt import Saturated, saturate
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.questions import ask, steps_of
from egraph_opt.egraph.saturation import run_rounds
from egraph_opt.errors import UnknownLawError, UnknownTensorError
from egraph_opt.laws.selection import all_laws, select
from egraph_opt.report.law_answer import LawAnswer

HEAD = '<ir_version: 8, opset_import: ["" : {}]>\n'


def saturated(text: str, target: str = "nodes", opset: int = 17, **options: Any) -> Saturated:
    return saturate(parser.parse_model(HEAD.format(opset) + text), target=target, **options)


def asked(law: str, text: str, at: str | None = None, target: str = "nodes", **options: Any) -> LawAnswer:
    return saturated(text, target, **options).explain_law(law, target, at)


POOLS = """g (float[1,2,{size},8] x) => (float[1,2,a,b] y) {{
    y = AveragePool<kernel_shape = [{kernel}, 2], strides = [{kernel}, 2], ceil_mode = {ceil}>(x) }}"""
CONV = "g (float[1,1,4,4] x, float[1,1,3,3] w) => (float[1,1,2,2] y) <float k = {2}>"
TURNED = """g (float[2,3,4] x) => (float[a,b,c] y) {
    t = Transpose<perm = [0, 2, 1]>(x) y = Softmax<axis = 2>(t) }"""
SWISH = (
    "g (float[2,3] x) => (float[2,3] y) { s = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, s) }"
)
RELU = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"


@pytest.mark.parametrize(
    ("law", "text", "options", "reason"),
    [
        (  # an attribute, with all that it has
            "pooling.cascade_of_pools",
            POOLS.format(size=8, kernel=2, ceil=1),
            {"target": "ascend"},
            "kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = 1",
        ),
        (  # a limit that is kept to
            "pooling.cascade_of_pools",
            POOLS.format(size=512, kernel=16, ceil=0),
            {"target": "ascend"},
            "side: 255",
        ),
        (  # a limit that there is not
            "pooling.cascade_of_pools",
            POOLS.format(size=512, kernel=256, ceil=0),
            {},
            "the target publishes no limit 'pool_kernel'",
        ),
        (  # an answer of a host function, on a permutation
            "transpose.drop_identity",
            TURNED,
            {"at": "t"},
            "is_identity(p: [0, 2, 1]) answers False",
        ),
        (  # a weight that is none
            "convolution.scale_after_conv",
            CONV + "{ c = Conv(x, w) y = Mul(c, k) }",
            {"at": "y"},
            "w: w float32[1, 1, 3, 3], c: k float32[] constant of 2.0",
        ),
        (  # another operator
            "reshape.compose_reshapes",
            RELU,
            {"at": "y"},
            "y float32[2, 3] is computed by Relu, and not by reshape",
        ),
        (  # another name of an operator
            "pooling.pads_apart",
            "g (float[1,1,4,4] x) => (float[1,1,2,2] y)"
            "{ y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }",
            {},
            "kind = MaxPool, and not AveragePool",
        ),
        (  # an operand that is another one
            "softmax.level_shift",
            "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1>(x) }",
            {"at": "y"},
            "x float32[2, 3] is computed by an input or a constant, and not by Sub",
        ),
    ],
)
def test_a_law_that_did_not_match_says_what_failed(
    law: str, text: str, options: dict[str, Any], reason: str
) -> None:
    answer = asked(law, text, **options)
    assert answer.verdict == "no match"
    assert any(reason in step.reason for step in answer.failed), str(answer)
    assert all(len(line) <= 80 for line in answer.lines())


@pytest.mark.parametrize(
    ("law", "text", "options", "verdict", "reason"),
    [
        ("activations.hard_swish", SWISH, {"opset": 13}, "unwritable", "opset 13 has no HardSwish"),
        ("activations.hard_swish", SWISH, {"opset": 14}, "used", "y: used"),
        ("approximate.double_in_float", RELU, {}, "no part", "changes values"),
        ("ascend.fusion.unary_stage", RELU, {}, "no part", "under cost models that ask for it"),
        ("transpose.through_unary", RELU, {"rewrites": "-transpose"}, "no part", "left out by name"),
        ("matmul.scale_after_product", RELU, {"exactness": "bitwise"}, "no part", "does not let in"),
        ("transpose.compose_transposes", RELU, {}, "no match", "none of the operators"),
    ],
)
def test_what_became_of_a_law_in_other_cases(
    law: str, text: str, options: dict[str, Any], verdict: str, reason: str
) -> None:
    answer = asked(law, text, **options)
    assert (answer.verdict, reason in " ".join(str(answer).split())) == (verdict, True), str(answer)


INVERSE = "g (float[2] x) => (float[2] y) { a = Neg(x) p = Neg(a) y = Exp(p) }"
INVERSE_INSIDE = """g (float[2] x, bool c) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] p) { a = Neg(x) p = Neg(a) },
                else_branch = e () => (float[2] q) { q = Exp(x) }> }"""


@pytest.mark.parametrize("text", [INVERSE, INVERSE_INSIDE])
@pytest.mark.parametrize("at", [None, "p", "a"])
def test_a_law_that_only_joined_is_used_where_the_result_rests_on_it(text: str, at: str | None) -> None:
    answer = asked("elementwise.involution", text, at)
    assert answer.verdict == "used"
    assert [place.tensor for place in answer.places] == ["p"]


def test_names_of_the_result_are_places_as_well() -> None:
    of = saturated(
        CONV.replace("w)", "x2)").replace("<", "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, ")
        + "{ c = Conv(x, w) y = Mul(c, k) }"
    )
    for name in ("y.conv", "w.folded", "c"):
        assert of.explain(node=name).differences
    for name in ("y.conv", "w.folded", "y"):
        assert of.explain_law("convolution.scale_after_conv", at=name).verdict == "used"


def test_a_ruleset_is_answered_with_its_laws() -> None:
    with pytest.raises(UnknownLawError, match=r"'transpose' is a ruleset: say one of its laws: transpose\."):
        saturated(RELU).explain_law("transpose")


def test_where_the_price_declined_it_says_by_how_much() -> None:
    text = """g (float[1,3,8,8] x) => (float[1,4,8,8] y) <float[4,3,1,1] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
        t = Transpose<perm = [0, 2, 3, 1]>(x) r = Relu(t) u = Transpose<perm = [0, 3, 1, 2]>(r)
        y = Conv(u, w) }"""
    of = saturated(text, "ascend")
    answer = of.explain_law("transpose.through_unary", "ascend", at="r")
    (way,) = [way for way in of.alternatives("ascend", "r") if way.law == "transpose.through_unary"]
    assert answer.verdict == "declined"
    assert answer.places[0].difference == way.difference > 0
    assert "r: declined, +10.0" in str(answer)
    assert of.explain_law("transpose.through_unary", "ascend").verdict == "used"


def test_names_that_there_are_not_are_errors() -> None:
    of = saturated(RELU)
    with pytest.raises(UnknownLawError, match=r"did you mean 'transpose\.drop_identity'"):
        of.explain_law("transpose.drop_identities")
    with pytest.raises(UnknownTensorError):
        of.explain_law("transpose.drop_identity", at="nowhere")


def test_the_steps_of_a_rule_find_together_what_the_rule_finds() -> None:
    """They are another writing of its conditions, which the engine judges as it does those."""
    text = """g (float[1,3,8,8] x) => (float[1,2,8,8] y)
    <float[2,3,1,1] w = {1,2,3,4,5,6}, float k = {2}, float[2,1,1] b = {1, 2}> {
        t = Transpose<perm = [0, 2, 3, 1]>(x) r = Relu(t) u = Transpose<perm = [0, 3, 1, 2]>(r)
        c = Conv(u, w) m = Mul(c, k) y = Add(m, b) }"""
    of = saturated(text)
    assert of.region is not None
    names = ("transpose", "convolution", "constants", "reshape")
    laws = tuple(law for law in select(names) if not law.last)
    engine = Engine(laws)
    engine.load(of.region.lowered, {})
    report = run_rounds(engine, lambda rule: True, nodes=10_000, rounds=20, seconds=20)
    assert report.stop == "saturated"
    matched = {rule for rule, count in report.rule_matches.items() if count}
    steps = [rule for law in all_laws() if law in laws for rule in steps_of(law)]
    answers = {found.rule.name: len(found.rows[-1]) for found in ask(engine, steps)}
    joined = {name for name, count in answers.items() if count}
    assert matched <= joined  # and of what joins the last laws to run, nothing is asked any more
    assert joined - matched == set()
