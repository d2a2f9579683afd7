"""What the compiler of Ascend does to a model by itself is no gain: the original is priced with it."""

from __future__ import annotations

import math

import pytest
from onnx import parser

from egraph_opt import Limits, optimize, saturate
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_compiler import PASSES
from egraph_opt.laws.selection import all_laws
from egraph_opt.report.figures import CostReport

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


def numbers(count: int, value: float) -> str:
    return "{" + ", ".join([str(value)] * count) + "}"


CHANNELS = f"float[32] s = {numbers(32, 1.5)}, float[32] m = {numbers(32, 0.25)}"
WEIGHT = "w = ConstantOfShape <value = float[1] {0.01}> (d)"
OTHER = "v = ConstantOfShape <value = float[1] {0.02}> (d)"

BY_COMPILER = {
    "a BatchNormalization behind a convolution": f"""
        g (float[1,32,28,28] x) => (float[1,32,28,28] y) <int64[4] d = {{32, 32, 3, 3}}, {CHANNELS}>
        {{
            {WEIGHT}
            p = Conv <pads = [1, 1, 1, 1]> (x, w)
            b = BatchNormalization (p, s, m, m, s)
            y = Relu (b)
        }}""",
    "a BatchNormalization behind a transposed one": f"""
        g (float[1,32,28,28] x) => (float[1,32,56,56] y) <int64[4] d = {{32, 32, 2, 2}}, {CHANNELS}>
        {{
            {WEIGHT}
            p = ConvTranspose <strides = [2, 2]> (x, w)
            b = BatchNormalization (p, s, m, m, s)
            y = Relu (b)
        }}""",
    "a scale and a shift behind both": f"""
        g (float[1,32,28,28] x) => (float[1,32,28,28] y)
        <int64[4] d = {{32, 32, 1, 1}}, {CHANNELS}, float[1,32,1,1] k = {numbers(32, 0.75)}>
        {{
            {WEIGHT}
            p = Conv (x, w)
            b = BatchNormalization (p, s, m, m, s)
            c = Mul (b, k)
            y = Add (c, k)
        }}""",
    "a Pad in front of a convolution": f"""
        g (float[1,32,28,28] x) => (float[1,32,28,28] y)
        <int64[4] d = {{32, 32, 3, 3}}, int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}>
        {{ {WEIGHT} q = Pad (x, p) r = Conv (q, w) y = Relu (r) }}""",
    "a Slice of everything": """
        g (float[1,64,28,28] x) => (float[1,64,28,28] y)
        <int64[1] a = {0}, int64[1] b = {64}, int64[1] c = {1}>
        { s = Slice (x, a, b, c) y = Relu (s) }""",
    "a Transpose of axes of one element": """
        g (float[1,64,1,28] x) => (float[1,1,64,28] y)
        { r = Sigmoid (x) y = Transpose <perm = [0, 2, 1, 3]> (r) }""",
    "a bias of zeros behind a product": """
        g (float[64,64] x) => (float[64,64] y) <int64[2] d = {64, 64}, int64[1] e = {64}>
        {
            w = ConstantOfShape <value = float[1] {0.01}> (d)
            z = ConstantOfShape (e)
            p = MatMul (x, w)
            y = Add (p, z)
        }""",
    "convolutions of one image": f"""
        g (float[1,64,28,28] x) => (float[1,64,28,28] y, float[1,64,28,28] z) <int64[4] d = {{64, 64, 1, 1}}>
        {{ {WEIGHT} {OTHER} p = Conv (x, w) y = Relu (p) q = Conv (x, v) z = Relu (q) }}""",
    "convolutions of parts and their Concat": f"""
        g (float[1,64,28,28] x) => (float[1,64,28,28] y)
        <int64[4] d = {{32, 32, 1, 1}}, int64[2] n = {{32, 32}}>
        {{
            {WEIGHT} {OTHER}
            a, b = Split <axis = 1> (x, n)
            p = Conv (a, w)
            q = Conv (b, v)
            y = Concat <axis = 1> (p, q)
        }}""",
    "a Concat of convolutions": f"""
        g (float[1,64,28,28] x, float[1,64,56,56] z) => (float[1,128,28,28] y) <int64[4] d = {{64, 64, 3, 3}}>
        {{
            {WEIGHT} {OTHER}
            p = Conv <pads = [1, 1, 1, 1]> (x, w)
            a = Relu (p)
            q = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (z, v)
            b = Relu (q)
            y = Concat <axis = 1> (a, b)
        }}""",
    "a Concat in a Concat": """
        g (float[8,16] x, float[8,16] y) => (float[8,64] z)
        { a = Concat <axis = 1> (x, y) z = Concat <axis = 1> (a, a) }""",
}


def cost(text: str, rewrites: list[str] | None = None, model: str | Ascend = "ascend") -> CostReport:
    return optimize(parser.parse_model(HEADER + text), model, rewrites=rewrites, verify=False).report.cost


@pytest.mark.parametrize("name", BY_COMPILER)
def test_what_the_compiler_does_is_no_gain(name: str) -> None:
    """Three figures: the file, after the compiler, after us."""
    found = cost(BY_COMPILER[name])
    assert found.after == pytest.approx(found.before)
    assert found.before < found.written


@pytest.mark.parametrize("name", BY_COMPILER)
def test_without_our_laws_the_same_is_priced(name: str) -> None:
    assert cost(BY_COMPILER[name], []).before == pytest.approx(cost(BY_COMPILER[name]).before)


def test_a_compiler_without_passes_leaves_the_gain_to_us() -> None:
    name = "a BatchNormalization behind a convolution"
    found = cost(BY_COMPILER[name], model=Ascend(compiler_passes=[]))
    assert found.after < 0.8 * found.before
    assert found.after == pytest.approx(cost(BY_COMPILER[name]).after)


@pytest.mark.parametrize(
    ("chip", "gain"), [("310p3", False), ("910a", False), ("310", True), ("910b3", True)]
)
def test_what_only_some_chips_do_is_a_gain_on_others(chip: str, gain: bool) -> None:
    small = BY_COMPILER["convolutions of one image"].replace("28,28", "7,7")
    found = cost(small, model=f"ascend:{chip}")
    assert (found.after < 0.9 * found.before) == gain


def branches(filters: int, function: str = "Relu", also: str = "") -> str:
    """A Concat of two convolutions of different images, with a function behind each."""
    return f"""
        g (float[1,64,28,28] x, float[1,64,56,56] z) => (float[1,{2 * filters},28,28] y{also})
        <int64[4] d = {{{filters}, 64, 3, 3}}>
        {{
            {WEIGHT} {OTHER}
            p = Conv <pads = [1, 1, 1, 1]> (x, w)
            a = {function} (p)
            q = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (z, v)
            b = {function} (q)
            y = Concat <axis = 1> (a, b)
        }}"""


@pytest.mark.parametrize(
    ("text", "free"),
    [
        (branches(64), True),
        (branches(64, "LeakyRelu"), True),
        (branches(56), False),  # half of a block of 16
        (branches(64, "Sigmoid"), False),
        (branches(64, also=", float[1,64,28,28] a"), False),  # somebody else reads one
    ],
)
def test_a_concat_costs_nothing_where_convolutions_write_it_in_place(text: str, free: bool) -> None:
    passes = [name for name in Ascend().soc.passes if name != "concat_in_place"]
    joined = Ascend(compiler_passes=[{"passes": passes, "chips": ["*"]}])
    with_pass, without = cost(text, []).before, cost(text, [], joined).before
    assert (with_pass < without - joined.soc.fixed_vector_us + 0.1) == free
    assert free or with_pass == pytest.approx(without)


@pytest.mark.parametrize(("filters", "gain"), [(48, False), (24, False), (20, True)])
def test_convolutions_of_one_image_are_the_compilers_where_they_fill_blocks(filters: int, gain: bool) -> None:
    text = f"""
        g (float[1,64,28,28] x) => (float[1,{filters},28,28] y, float[1,{filters},28,28] z)
        <int64[4] d = {{{filters}, 64, 1, 1}}>
        {{ {WEIGHT} {OTHER} y = Conv (x, w) z = Conv (x, v) }}"""
    found = cost(text)
    assert (found.after < 0.9 * found.before) == gain


SHAPES = """
    g (float[N,L,256] x) => (float[N,4,L,64] y)
    <int64 a = {0}, int64 b = {1}, int64[1] heads = {4}, int64[1] size = {64}, int64[1] first = {0}>
    {
        s = Shape (x)
        n = Gather (s, a)
        l = Gather (s, b)
        m = Unsqueeze (n, first)
        k = Unsqueeze (l, first)
        t = Concat <axis = 0> (m, k, heads, size)
        r = Reshape (x, t)
        q = Transpose <perm = [0, 2, 1, 3]> (r)
        y = Relu (q)
    }"""


def test_shapes_that_are_known_are_computed_by_the_compiler() -> None:
    """What saves a Shape and what is made of it saves nothing on the chip, but where sizes are free."""
    found = cost(SHAPES)
    assert found.before - found.after < 0.5
    eager = cost(SHAPES, model=Ascend(dispatch="eager"))
    assert eager.after < 0.6 * eager.before


@pytest.mark.parametrize("op", ["RandomNormalLike", "Bernoulli"])
def test_what_is_drawn_is_computed_in_each_run(op: str) -> None:
    text = f"""g (float[64] x) => (float[64] y) <float[64] c = {numbers(64, 0.5)}>
        {{ r = {op} (c) y = Add (r, x) }}"""
    assert cost(text, []).after > Ascend().soc.fixed_aicpu_us


def test_what_no_pass_does_stays_a_gain() -> None:
    """A BatchNormalization in front of a convolution is none of ATC's."""
    text = f"""
        g (float[1,32,28,28] x) => (float[1,32,28,28] y) <int64[4] d = {{32, 32, 1, 1}}, {CHANNELS}>
        {{ {WEIGHT} b = BatchNormalization (x, s, m, m, s) y = Conv (b, w) }}"""
    found = cost(text)
    assert found.after < 0.9 * found.before


def test_passes_are_made_of_laws_that_there_are() -> None:
    keys = {law.key for law in all_laws()}
    assert {law for laws in PASSES.values() for law in laws} <= keys
    assert set(Ascend().soc.passes) == set(PASSES)
    assert "same_input_convolution" not in Ascend("910b3").soc.passes


def test_a_model_that_was_kept_in_a_file_is_priced_alike(tmp_path: object) -> None:
    model = parser.parse_model(HEADER + BY_COMPILER["a bias of zeros behind a product"])
    saturated = saturate(model, target="ascend")
    again = type(saturated).load(saturated.save(f"{tmp_path}/kept.npz"))
    first, second = (part.extract("ascend", verify=False).report.cost for part in (saturated, again))
    assert (first.written, first.before, first.after) == (second.written, second.before, second.after)


def test_where_there_is_no_time_the_figures_are_those_of_the_one_graph() -> None:
    model = parser.parse_model(HEADER + BY_COMPILER["a BatchNormalization behind a convolution"])
    found = optimize(model, limits=Limits(seconds=1e-3), verify=False).report.cost
    assert math.isnan(found.before) or found.after <= found.before
