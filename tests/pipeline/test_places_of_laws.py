"""Laws that do not fit one place, by its types or by what a runtime makes of it, are as good elsewhere."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper, parser
from onnxruntime import InferenceSession

from egraph_opt import optimize, saturate
from egraph_opt.inference.kernels import has_kernel, takes_types
from egraph_opt.laws.exactness import Exactness
from egraph_opt.pipeline.result import Result

ELSEWHERE = "t = Transpose <perm = [1, 0]> (y1) u = Transpose <perm = [1, 0]> (t) y = Relu (u)"
"""Two nodes that go whatever is the matter in front of them."""


def model(body: str, head: str = "float[2, 3] x", *, opset: int = 19, more: str = "") -> onnx.ModelProto:
    """y = Relu of what is called y1 in the body."""
    begin = f'<ir_version: 9, opset_import: ["" : {opset}]> g ({head}) => (float[?, ?] y)'
    text = f"{begin} <{more}> {{ {body} {ELSEWHERE} }}"
    return parser.parse_model(text.replace(" <>", ""))


def checked(given: onnx.ModelProto, cost: str = "nodes", exactness: Exactness = "real") -> Result:
    """What comes of a model, in which no law was left out, and the Transposes are gone."""
    result = optimize(given, cost, exactness=exactness)
    assert result.report.verification.status == "passed", result.report.verification
    assert not result.report.warnings and result.report.status == "optimized"
    return result


ROUND = "a = Cast <to = {kind}> ({x}) {y} = Cast <to = 1> (a)"

PLACES = {
    "Transpose": "b = Transpose <perm = [1, 0]> (x) " + ROUND.format(kind="KIND", x="b", y="y1"),
    "Expand": ROUND.format(kind="KIND", x="x", y="b")
    + " c = Unsqueeze (b, zero) d = Expand (c, s) y1 = Reshape (d, rows)",
    "Concat": ROUND.format(kind="KIND", x="x", y="b")
    + " d = Neg (x) c = Cast <to = KIND> (d) e = Cast <to = 1> (c) y1 = Concat <axis = 0> (b, e)",
    "Slice": ROUND.format(kind="KIND", x="x", y="b") + " y1 = Slice (b, zero, one)",
    "Gather": ROUND.format(kind="KIND", x="x", y="b") + " y1 = Gather (b, one)",
    "Pad": ROUND.format(kind="KIND", x="x", y="b") + " y1 = Pad (b, pads)",
    "Relu": "b = Relu (x) " + ROUND.format(kind="KIND", x="b", y="y1"),
}
MORE = (
    "int64[1] zero = {0}, int64[1] one = {1}, int64[3] s = {2, 2, 3}, int64[2] rows = {-1, 3},"
    " int64[4] pads = {1, 0, 0, 0}"
)


@pytest.mark.parametrize(
    ("place", "kind", "cost"),
    [
        *((place, T.FLOAT8E4M3FN, "nodes") for place in PLACES),
        *((place, T.BFLOAT16, "bytes") for place in PLACES),
        ("Expand", T.FLOAT8E5M2FNUZ, "bytes"),
        ("Concat", T.FLOAT8E5M2, "flops"),
    ],
)
def test_what_no_kernel_computes_is_not_written(place: str, kind: int, cost: str) -> None:
    checked(model(PLACES[place].replace("KIND", str(int(kind))), more=MORE), cost)


def test_types_are_those_of_the_opset_and_of_kernels() -> None:
    assert not takes_types("Transpose", "", (T.FLOAT8E4M3FN,), 20)
    assert takes_types("Transpose", "", (T.FLOAT8E4M3FN,), 21)
    assert not takes_types("Concat", "", (T.FLOAT8E4M3FN,) * 2, 21)
    assert takes_types("Attention", "com.microsoft", (T.BFLOAT16,), 21)
    assert has_kernel("Cast", (T.FLOAT,), (T.BFLOAT16,), 17)
    assert not has_kernel("Expand", (T.BFLOAT16, T.INT64), (T.BFLOAT16,), 17)


def test_a_model_that_the_runtime_has_no_kernels_for_is_optimized_all_the_same() -> None:
    given = model(
        "a = Cast <to = 16> (x) b = Expand (a, s) c = Neg (b) d = Neg (c) y1 = Cast <to = 1> (d)",
        more="int64[2] s = {2, 3}",
    )
    report = optimize(given, "nodes").report
    assert report.verification.status == "not_comparable" and report.nodes.runtime_after < 6


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (2, 2**63 - 1, 6),
        (-1, 2**31 - 1, 6),
        (2**63 - 1, 2**63 - 1, 6),
        (-1, 2**63 - 1, "N"),
        (2, 2**31 - 1, "N"),
    ],
)
def test_a_slice_downwards_from_the_end_of_all_is_what_the_runtime_makes_of_it(
    start: int, end: int, rows: object
) -> None:
    bounds = (
        f"int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] axes = {{0}}, int64[1] down = {{-2}}"
    )
    checked(model("y1 = Slice (x, s, e, axes, down)", f"float[{rows}, 2] x", more=bounds))


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("ReduceMean", T.INT32),
        ("ReduceMean", T.INT64),
        ("ReduceLogSum", T.INT64),
        ("ReduceLogSumExp", T.INT32),
    ],
)
@pytest.mark.parametrize("numbers", [[], [700, 2, 7]], ids=["none", "some"])
def test_reductions_of_known_integers_are_those_of_the_runtime(
    operator: str, kind: int, numbers: list[int]
) -> None:
    given = model(f"r = {operator} <keepdims = 1> (k) f = Cast <to = 1> (r) y1 = Add (x, f)", opset=17)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    given.graph.initializer.append(numpy_helper.from_array(np.array(numbers, dtype), "k"))
    checked(given)


def test_known_dims_are_reduced_as_the_runtime_does() -> None:
    checked(
        model(
            "s = Shape (x) r = ReduceLogSumExp <keepdims = 1> (s) f = Cast <to = 1> (r) y1 = Add (x, f)",
            opset=17,
        )
    )


@pytest.mark.parametrize("exactness", ["real", "bitwise"])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceProd", "ReduceMean"])
def test_integers_beyond_floats_are_reduced_as_the_runtime_does(operator: str, exactness: Exactness) -> None:
    body = f"r = {operator} <keepdims = 1> (n) q = Sub (r, n) c = Cast <to = 1> (q) y1 = Mul (c, x)"
    given = model(body, "float[1, 1] x, int64[1, 1] n", opset=12)
    checked(given, exactness=exactness)


@pytest.mark.parametrize("numbers", [[1, 2, 3], [-5, 300, 7]])
def test_integers_are_rounded_to_few_bits_and_back_by_value(numbers: list[int]) -> None:
    body = "a = Cast <to = 17> (k) b = Cast <to = 7> (a) c = Cast <to = 1> (b) y1 = Add (x, c)"
    given = model(body, more=f"int64[3] k = {{{', '.join(map(str, numbers))}}}")
    checked(given)


@pytest.mark.parametrize("declared", ["2, 3", "4, 3"])
def test_a_shape_that_fits_one_branch_is_no_contradiction(declared: str) -> None:
    branches = """then_branch = t () => (float[2, 3] p) { p = Neg (x) },
        else_branch = e () => (float[4, 3] q) { q = Concat <axis = 0> (x, x) }"""
    given = model(f"r = If (c) <{branches}> y1 = Neg (r)", "float[2, 3] x, bool c")
    given.graph.value_info.append(
        helper.make_tensor_value_info("r", T.FLOAT, [int(dim) for dim in declared.split(",")])
    )
    checked(given)


@pytest.mark.parametrize("given", ["float[2, 3] r", "float r", "float[6] r"])
def test_no_size_is_taken_from_a_shape_that_fits_one_branch(given: str) -> None:
    branches = """then_branch = t () => (float p) { p = ReduceMax <keepdims = 0> (x) },
        else_branch = e () => (float[?, ?] q) { q = Concat <axis = 0> (x, x) }"""
    body = f"r = If (c) <{branches}> s = Shape (r) n = Size (s) y = ReduceProd <keepdims = 0> (s)"
    text = f"g (float[2, 3] x, bool c) => (int64 n, int64 y) <{given}> {{ {body} }}"
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    if given == "float r":
        made.graph.value_info[0].type.tensor_type.shape.SetInParent()
    assert optimize(made, "nodes").report.verification.status == "passed"


def test_an_empty_constant_is_joined_to_nothing() -> None:
    given = model("a = Concat <axis = 0> (x, k) y1 = Concat <axis = 0> (k, a, k)", "float[N, 3] x")
    given.graph.initializer.append(numpy_helper.from_array(np.zeros((0, 3), np.float32), "k"))
    assert checked(given).report.nodes.runtime_after == 1


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("first", [True, False])
def test_what_is_empty_says_nothing_of_the_other_dims(rows: int, first: bool) -> None:
    """The standard asks for N = 3, and onnxruntime leaves the empty constant out whatever N is."""
    operands = "k, x" if first else "x, k, x"
    given = model(f"y1 = Concat <axis = 0> ({operands})", "float[2, N] x")
    given.graph.initializer.append(numpy_helper.from_array(np.zeros((0, 3), np.float32), "k"))
    found = checked(given)
    feeds = {"x": np.random.default_rng(0).normal(size=(2, rows)).astype(np.float32)}
    made, came = (InferenceSession(m.SerializeToString()).run(None, feeds) for m in (found.model, given))
    np.testing.assert_array_equal(made[0], came[0])


@pytest.mark.parametrize(("x", "slope"), [((), (2,)), ((1,), (3,)), ((1, 3), (2, 3))])
def test_a_slope_that_widens_x_is_left_to_the_runtime(x: tuple[int, ...], slope: tuple[int, ...]) -> None:
    """The standard rules it out, and onnxruntime broadcasts both."""
    dims = ", ".join(map(str, x))
    text = f"g (float[{dims}] x) => (float y) {{ s = Exp (x) y = PRelu (s, c) }}"
    given = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 16]> {text}')
    given.graph.output[0].type.tensor_type.ClearField("shape")
    if not x:
        given.graph.input[0].type.tensor_type.shape.SetInParent()
    given.graph.initializer.append(numpy_helper.from_array(np.full(slope, 0.5, np.float32), "c"))
    result = optimize(given, "nodes")
    assert result.report.verification.status == "passed"
    assert not any("left out" in text for text in result.report.warnings)
    assert [node.op_type for node in result.model.graph.node] == ["Exp", "PRelu"]


def test_the_largest_integers_are_cast_to_few_bits() -> None:
    body = "b = Cast <to = 16> (k) c = Cast <to = 1> (b) y1 = Mul (x, c)"
    given = model(body, "float[2, 3] x")
    given.graph.initializer.append(numpy_helper.from_array(np.full((3,), 2**64 - 1, np.uint64), "k"))
    checked(given)


@pytest.mark.parametrize(
    "body",
    [
        "y1 = DepthToSpace <blocksize = 1> (x)",
        "y1 = SpaceToDepth <blocksize = 1> (x)",
        "y1 = Where (c, x, x)",
    ],
)
@pytest.mark.parametrize("dims", ["2, A, 2, B", "N, C, H, W"])
def test_what_changes_nothing_is_nothing_at_once(body: str, dims: str) -> None:
    """Laws moved units past the one, and views past the other, again and again."""
    text = f"g (float[{dims}] x, bool c) => (float[?, ?, ?, ?] y) {{ {body} y = Neg (y1) }}"
    saturated = saturate(parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {text}'))
    assert saturated.region is not None and saturated.region.saturation.stop == "saturated"
    assert saturated.region.snapshot.n_nodes <= 6


def test_branches_of_other_sizes_run_below_opset_11() -> None:
    """Both have to be of one shape there, which ONNX does not see where it counts no axis from the end."""
    branches = """then_branch = t () => (float[2, 3] p) { p = Hardmax <axis = 1> (x) },
        else_branch = e () => (float[?, ?] q) {
            a = Cast <to = 13> (x) b = Concat <axis = -2> (a, a) q = Cast <to = 1> (b)
        }"""
    given = model(f"r = If (c) <{branches}> y1 = Neg (r)", "float[2, 3] x, bool c", opset=9)
    checked(given)
