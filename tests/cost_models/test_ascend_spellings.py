"""The same work costs the same under `ascend`, however it is spelled and without any law of ours."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.report.figures import CostReport

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
ROWS = "float[8,128,256] x"
SAME = "float[8,128,256] y"


def constants(value: float) -> str:
    return "{" + ", ".join([str(value)] * 256) + "}"


AFFINE = f"float[256] s = {constants(1.5)}, float[256] b = {constants(0.5)}"
WEIGHT = "w = ConstantOfShape <value = float[1] {0.01}> (d)"


def rows(body: str, given: str = "float one = {1.0}") -> str:
    return f"g ({ROWS}) => ({SAME}) <{given}> {{ {body} }}"


def product(body: str) -> str:
    return f"g (float[512,256] x) => (float[512,256] y) <int64[2] d = {{256, 256}}> {{ {WEIGHT} {body} }}"


def heads(body: str) -> str:
    return f"g (float[2,4,128,64] x) => (float[2,4,128,128] y) {{ {body} }}"


def image(body: str, given: str = "float one = {1.0}") -> str:
    return f"g (float[1,64,32,32] x) => (float[1,64,1,1] y) <{given}> {{ {body} }}"


def blocks(body: str) -> str:
    given = "int64[6] a = {1, 2, 2, 16, 64, 64}, int64[4] b = {1, 16, 128, 128}"
    return f"g (float[1,64,64,64] x) => (float[1,16,128,128] y) <{given}> {{ {body} }}"


PAIRS = {
    "LayerNormalization": (
        rows("y = LayerNormalization <axis = -1, epsilon = 1e-5> (x, s, b)", AFFINE),
        rows(
            """m = ReduceMean <axes = [-1]> (x) d = Sub (x, m)
            p = Pow (d, two) v = ReduceMean <axes = [-1]> (p)
            e = Add (v, eps) q = Sqrt (e) n = Div (d, q) z = Mul (n, s) y = Add (z, b)""",
            f"{AFFINE}, float two = {{2.0}}, float eps = {{1e-5}}",
        ),
    ),
    "square": (rows("y = Mul (x, x)"), rows("y = Pow (x, two)", "float two = {2.0}")),
    "root": (rows("y = Sqrt (x)"), rows("y = Pow (x, half)", "float half = {0.5}")),
    "product": (product("y = MatMul (x, w)"), product("y = Gemm (x, w)")),
    "product with a weight that is turned": (
        product("y = MatMul (x, w)"),
        product("y = Gemm <transB = 1> (x, w)"),
    ),
    "product by Einsum": (
        product("y = MatMul (x, w)"),
        product('y = Einsum <equation = "ij, jk -> ik"> (x, w)'),
    ),
    "product by Einsum without its result": (
        product("y = MatMul (x, w)"),
        product('y = Einsum <equation = "ij,jk"> (x, w)'),
    ),
    "product by Einsum of an ellipsis and a matrix": (
        product("y = MatMul (x, w)"),
        product('y = Einsum <equation = "...j,jk->...k"> (x, w)'),
    ),
    "product by Einsum with an ellipsis": (
        heads('y = Einsum <equation = "bhik,bhjk->bhij"> (x, x)'),
        heads('y = Einsum <equation = "...ik,...jk->...ij"> (x, x)'),
    ),
    "product by Einsum with an ellipsis and no result": (
        heads('y = Einsum <equation = "bhik,bhjk->bhij"> (x, x)'),
        heads('y = Einsum <equation = "... ik, ...jk"> (x, x)'),
    ),
    "product with an operand that is turned, by Einsum": (
        heads("t = Transpose <perm = [0, 1, 3, 2]> (x) y = MatMul (x, t)"),
        heads('y = Einsum <equation = "bhik,bhjk->bhij"> (x, x)'),
    ),
    "sigmoid": (rows("y = Sigmoid (x)"), rows("n = Neg (x) e = Exp (n) d = Add (e, one) y = Div (one, d)")),
    "swish": (
        rows("n = Neg (x) e = Exp (n) d = Add (e, one) y = Div (x, d)"),
        rows("s = Sigmoid (x) y = Mul (x, s)"),
    ),
    "blocks of pixels": (
        blocks("y = DepthToSpace <blocksize = 2> (x)"),
        blocks("r = Reshape (x, a) t = Transpose <perm = [0, 3, 4, 1, 5, 2]> (r) y = Reshape (t, b)"),
    ),
    "mean of an image": (image("y = GlobalAveragePool (x)"), image("y = ReduceMean <axes = [2, 3]> (x)")),
}
"""Each pair is the same work; the second is how exporters spell it."""


def cost(text: str, rewrites: list[str] | None) -> CostReport:
    return optimize(
        parser.parse_model(HEADER + text), cost="ascend", rewrites=rewrites, verify=False
    ).report.cost


@pytest.mark.parametrize("name", PAIRS)
def test_spellings_cost_the_same_before_after_and_without_laws(name: str) -> None:
    operator, spelled = (cost(text, []) for text in PAIRS[name])
    assert spelled.after == pytest.approx(operator.after, rel=0.01)
    with_laws = [cost(text, None) for text in PAIRS[name]]
    assert with_laws[0].after == pytest.approx(with_laws[1].after, rel=0.01)
    assert with_laws[1].before == pytest.approx(spelled.before, rel=0.01)


def test_a_logarithm_more_is_no_less() -> None:
    softmax, logarithm = (
        cost(rows(f"y = {op} <axis = -1> (x)"), []).after for op in ("Softmax", "LogSoftmax")
    )
    assert softmax <= logarithm <= 1.1 * softmax


def test_additions_in_a_row_are_one_sum() -> None:
    """Three Adds were 40.9 us where a Sum of four is 21.4."""
    head = "g (float[8,128,768] x, float[8,128,768] a, float[8,128,768] b, float[8,128,768] c)"
    chain = f"{head} => (float[8,128,768] y) {{ p = Add (x, a) q = Add (p, b) y = Add (q, c) }}"
    whole = f"{head} => (float[8,128,768] y) {{ y = Sum (x, a, b, c) }}"
    assert cost(chain, None).after == pytest.approx(cost(whole, None).after)
    assert cost(chain, None).after < 0.6 * cost(chain, None).before


def test_whole_blocks_of_single_pixels_are_converted_for_nothing() -> None:
    """[M, K, 1, 1] is in one order in ND and NC1HWC0 where K fills blocks: a Linear spelled as a Conv."""
    pixels = "g (float[512,256,1,1] x) => (float[512,256,1,1] y) <int64[4] d = {256, 256, 1, 1}>"
    body = f"{{ {WEIGHT} y = Conv (x, w) }}"
    assert cost(pixels + body, []).after == pytest.approx(
        cost(product("y = MatMul (x, w)"), []).after, rel=0.15
    )
    odd = f"{pixels}{body}".replace("256", "250")
    assert cost(odd, []).after > 1.5 * cost(pixels + body, []).after
