"""Concat, Slice, Gather and Split together, end to end: fewest nodes, operands in order."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, parser

from egraph_opt import optimize
from egraph_opt.pipeline import Result


def _model(signature: str, body: str, opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g {signature} {{ {body} }}')


def _optimized(model: onnx.ModelProto) -> Result:
    """Optimised for the fewest nodes; a wrong output raises."""
    result = optimize(model, cost="nodes", strict=True)
    assert result.report.verification.status == "passed"
    return result


def _operators(result: Result) -> dict[str, int]:
    return dict(Counter(n.op_type for n in result.model.graph.node if n.op_type != "Constant"))


def _run(model: onnx.ModelProto, *feeds: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: f for i, f in zip(session.get_inputs(), feeds, strict=True)})


@pytest.mark.parametrize("opset", [9, 11, 13, 18])
def test_slices_of_a_fused_projection_become_one_split(opset: int) -> None:
    nodes, outputs = [], []
    for k, name in enumerate("qkv"):
        start, end = [4 * k], [4 * k + 4]
        if opset < 10:
            nodes.append(helper.make_node("Slice", ["y"], [name + "s"], axes=[2], starts=start, ends=end))
        else:
            for suffix, value in (("a", start), ("b", end), ("c", [-1])):
                tensor = helper.make_tensor("", TensorProto.INT64, [1], value)
                nodes.append(helper.make_node("Constant", [], [name + suffix], value=tensor))
            nodes.append(helper.make_node("Slice", ["y", name + "a", name + "b", name + "c"], [name + "s"]))
        nodes.append(helper.make_node(("Sin", "Cos", "Tan")[k], [name + "s"], [name]))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "L", 4]))
    weight = np.random.default_rng(0).standard_normal((8, 12)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), *nodes],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "L", 8])],
        outputs,
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    assert _operators(_optimized(model)) == {"MatMul": 1, "Split": 1, "Sin": 1, "Cos": 1, "Tan": 1}


def test_gathers_of_consecutive_indices_become_one_split() -> None:
    model = _model(
        "(float[N,6,4] x) => (float[N,2,4] a, float[N,3,4] b, float[N,1,4] c)",
        """i = Constant <value_ints: ints = [0, 1]> ()
           j = Constant <value_ints: ints = [-4, -3, -2]> ()
           k = Constant <value_ints: ints = [5]> ()
           p = Gather <axis = 1> (x, i)
           q = Gather <axis = -2> (x, j)
           r = Gather <axis = 1> (x, k)
           a = Sin (p)
           b = Cos (q)
           c = Tan (r)""",
    )
    assert _operators(_optimized(model)) == {"Split": 1, "Sin": 1, "Cos": 1, "Tan": 1}


def test_parts_that_nobody_takes_are_named_in_the_split() -> None:
    model = _model(
        "(float[N,9] x) => (float[N,2] a, float[N,3] b)",
        """one = Constant <value_ints: ints = [1]> ()
           three = Constant <value_ints: ints = [3]> ()
           five = Constant <value_ints: ints = [5]> ()
           eight = Constant <value_ints: ints = [8]> ()
           p = Slice (x, one, three, one)
           q = Slice (x, five, eight, one)
           a = Sin (p)
           b = Cos (q)""",
    )
    result = _optimized(model)
    (split,) = [n for n in result.model.graph.node if n.op_type == "Split"]
    assert len(split.output) == 5
    assert all(split.output)


def test_slices_that_overlap_become_several_splits() -> None:
    bounds = ((0, 4), (4, 8), (2, 6), (6, 10))
    lines = [f"c{k} = Constant <value_ints: ints = [{k}]> ()" for k in range(0, 11, 2)]
    lines += [f"s{k} = Slice (x, c{a}, c{b}, one)" for k, (a, b) in enumerate(bounds)]
    lines += [f"y{k} = {op} (s{k})" for k, op in enumerate(("Sin", "Cos", "Tan", "Exp"))]
    model = _model(
        "(float[N,10] x) => (float[N,4] y0, float[N,4] y1, float[N,4] y2, float[N,4] y3)",
        "one = Constant <value_ints: ints = [1]> ()\n" + "\n".join(lines),
    )
    assert _operators(_optimized(model))["Split"] == 2


def test_a_split_joined_again_in_order_is_nothing() -> None:
    model = _model(
        "(float[N,6] x) => (float[N,6] y)",
        "a, b, c = Split <axis = -1> (x)\n z = Concat <axis = 1> (a, b, c)\n y = Relu (z)",
    )
    assert _operators(_optimized(model)) == {"Relu": 1}


def test_a_split_joined_in_another_order_is_gathered() -> None:
    model = _model(
        "(float[N,6] x) => (float[N,6] y)",
        "a, b, c = Split <axis = -1> (x)\n z = Concat <axis = 1> (c, a, b)\n y = Relu (z)",
    )
    result = _optimized(model)
    assert _operators(result) == {"Gather": 1, "Relu": 1}
    feed = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(_run(result.model, feed)[0], feed[:, [4, 5, 0, 1, 2, 3]])


def test_a_split_of_a_split_is_one_split() -> None:
    model = _model(
        "(float[N,12] x) => (float[N,6] y0, float[N,3] y1, float[N,3] y2)",
        """a, b = Split <axis = 1> (x)
           c, d = Split <axis = 1> (b)
           y0 = Sin (a)
           y1 = Cos (c)
           y2 = Tan (d)""",
    )
    assert _operators(_optimized(model)) == {"Split": 1, "Sin": 1, "Cos": 1, "Tan": 1}


def test_a_split_into_one_is_nothing() -> None:
    model = _model("(float[N,6] x) => (float[N,6] y)", "a = Split <axis = 1> (x)\n y = Relu (a)")
    assert _operators(_optimized(model)) == {"Relu": 1}


def test_nested_concats_flatten_with_operands_used_twice_and_in_order() -> None:
    model = _model(
        "(float[N,1] x, float[N,2] y) => (float[N,14] z)",
        """zero = Constant <value_ints: ints = [0]> ()
           end = Constant <value_ints: ints = [14]> ()
           one = Constant <value_ints: ints = [1]> ()
           a = Concat <axis = 1> (y, x)
           b = Concat <axis = -1> (a, x, a)
           c = Concat <axis = 1> (x, b, b, a)
           d = Slice (c, zero, end, one)
           z = Relu (d)""",
    )
    result = _optimized(model)
    assert _operators(result) == {"Concat": 1, "Relu": 1}
    (joined,) = [n for n in result.model.graph.node if n.op_type == "Concat"]
    assert list(joined.input) == list("xyxxyxyxxy")


def test_a_chain_of_concats_is_one_and_grows_no_more_than_it_is_long() -> None:
    links = 30
    lines = [f"c{k} = Concat <axis = 1> ({'x' if k == 0 else f'c{k - 1}'}, y)" for k in range(links)]
    model = _model(
        f"(float[N,2] x, float[N,1] y) => (float[N,{links + 2}] z)",
        "\n".join([*lines, f"z = Relu (c{links - 1})"]),
    )
    result = _optimized(model)
    assert _operators(result) == {"Concat": 1, "Relu": 1}
    assert result.report.saturation.nodes < 8 * links


def test_many_nested_concats_in_one_do_not_multiply() -> None:
    lines = [f"c{k} = Concat <axis = 1> (x, y, {'x, ' * (k % 3)}y)" for k in range(12)]
    lines.append(f"c = Concat <axis = 1> ({', '.join(f'c{k}' for k in range(12))})")
    model = _model("(float[N,2] x, float[N,1] y) => (float[N,K] z)", "\n".join([*lines, "z = Relu (c)"]))
    result = _optimized(model)
    assert _operators(result) == {"Concat": 1, "Relu": 1}
    assert result.report.saturation.nodes < 60


def test_an_inner_concat_that_is_an_output_stays_and_keeps_its_name() -> None:
    model = _model(
        "(float[N,2] x, float[N,1] y) => (float[N,3] inner, float[N,5] outer)",
        "inner = Concat <axis = 1> (x, y)\n outer = Concat <axis = 1> (inner, x)",
    )
    result = _optimized(model)
    assert _operators(result) == {"Concat": 2}
    assert [o.name for o in result.model.graph.output] == ["inner", "outer"]


def test_slices_find_their_part_behind_functions_of_a_concat() -> None:
    model = _model(
        "(float[N,3] x, float[N,4] y) => (float[N,3] a, float[N,4] b)",
        """zero = Constant <value_ints: ints = [0]> ()
           three = Constant <value_ints: ints = [3]> ()
           seven = Constant <value_ints: ints = [7]> ()
           one = Constant <value_ints: ints = [1]> ()
           c = Concat <axis = 1> (x, y)
           s = Sigmoid (c)
           a = Slice (s, zero, three, one)
           b = Slice (s, three, seven, one)""",
    )
    assert _operators(_optimized(model)) == {"Sigmoid": 2}


def test_the_same_function_of_all_operands_is_applied_once() -> None:
    model = _model(
        "(float[N,3] x, float[N,L] y) => (float[N,K] z)",
        "a = Relu (x)\n b = Relu (y)\n c = Concat <axis = 1> (a, b, a)\n z = Sin (c)",
    )
    assert _operators(_optimized(model)) == {"Concat": 1, "Relu": 1, "Sin": 1}


def test_slices_of_slices_compose_along_dims_that_are_not_known() -> None:
    model = _model(
        "(float[N,L,8] x) => (float[N,K,4] z)",
        """one = Constant <value_ints: ints = [1]> ()
           two = Constant <value_ints: ints = [2]> ()
           last = Constant <value_ints: ints = [-1]> ()
           far = Constant <value_ints: ints = [9223372036854775807]> ()
           a = Slice (x, one, far, one)
           b = Slice (a, one, last, one)
           zero = Constant <value_ints: ints = [0]> ()
           eight = Constant <value_ints: ints = [8]> ()
           c = Slice (b, zero, eight, two, two)
           z = Relu (c)""",
    )
    assert _operators(_optimized(model)) == {"Slice": 1, "Relu": 1}


def test_one_element_taken_and_its_axis_dropped_is_one_gather() -> None:
    model = _model(
        "(float[N,5,8] x) => (float[N,8] z)",
        """four = Constant <value_ints: ints = [4]> ()
           five = Constant <value_ints: ints = [5]> ()
           one = Constant <value_ints: ints = [1]> ()
           a = Slice (x, four, five, one)
           b = Squeeze (a, one)
           z = Relu (b)""",
    )
    assert _operators(_optimized(model)) == {"Gather": 1, "Relu": 1}


def test_tiles_that_share_a_cut_become_a_slice_and_a_split() -> None:
    lines = [f"c{k} = Constant <value_ints: ints = [{k}]> ()" for k in (2, 4, 6)]
    lines += [f"a{k} = Constant <value_ints: ints = [{k}, 1]> ()" for k in (0, 2, 4)]
    lines += [f"b{k} = Constant <value_ints: ints = [{k}, 3]> ()" for k in (2, 4, 6)]
    lines += [f"s{k} = Slice (x, a{k}, b{k + 2}, axes)" for k in (0, 2, 4)]
    lines += [f"y{k} = {op} (s{2 * k})" for k, op in enumerate(("Sin", "Cos", "Tan"))]
    model = _model(
        "(float[N,6,5] x) => (float[N,2,2] y0, float[N,2,2] y1, float[N,2,2] y2)",
        "axes = Constant <value_ints: ints = [1, 2]> ()\n" + "\n".join(lines),
    )
    assert _operators(_optimized(model)) == {"Slice": 1, "Split": 1, "Sin": 1, "Cos": 1, "Tan": 1}


def test_empty_operands_leave_a_concat() -> None:
    model = _model(
        "(float[N,3] x, float[N,4] y) => (float[N,4] z)",
        """three = Constant <value_ints: ints = [3]> ()
           far = Constant <value_ints: ints = [100]> ()
           one = Constant <value_ints: ints = [1]> ()
           a = Slice (x, three, far, one)
           b = Concat <axis = 1> (a, y, a)
           z = Relu (b)""",
    )
    assert _operators(_optimized(model)) == {"Relu": 1}


# --- random programs ------------------------------------------------------------------------------------

_STEPS = st.lists(
    st.tuples(st.sampled_from(["Slice", "Concat", "Gather", "Split", "Relu"]), st.integers(0, 10**6)),
    min_size=2,
    max_size=8,
)


class _Program:
    """A random graph of pieces of x: [N, 8], each of known width."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.widths = {"x": 8}

    def constant(self, values: list[int]) -> str:
        name = f"i{len(self.nodes)}"
        tensor = helper.make_tensor("", TensorProto.INT64, [len(values)], values)
        self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add(self, op: str, inputs: list[str], widths: list[int], **attributes: Any) -> None:
        outputs = [f"v{len(self.widths) + k}" for k in range(len(widths))]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        self.widths.update(zip(outputs, widths, strict=True))

    def step(self, op: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        names = list(self.widths)
        x = names[int(rng.integers(len(names)))]
        width = self.widths[x]
        if op == "Slice":
            step = int(rng.choice([1, 1, 2, -1]))
            start, end = sorted(int(k) for k in rng.integers(0, width + 1, 2))
            if step < 0:
                start, end = end, start
            inputs = [x, *(self.constant([v]) for v in (start, end, 1, step))]
            taken = range(width)[start : end if step > 0 or end < width else None : step]
            if len(taken):
                self.add(op, inputs, [len(taken)])
        elif op == "Concat":
            others = [x, *(names[int(k)] for k in rng.integers(0, len(names), int(rng.integers(1, 4))))]
            self.add(op, others, [sum(self.widths[o] for o in others)], axis=1)
        elif op == "Gather":
            start = int(rng.integers(width))
            indices = (
                list(range(start, width)) if rng.integers(2) else rng.integers(-width, width, 3).tolist()
            )
            self.add(op, [x, self.constant(indices)], [len(indices)], axis=1)
        elif op == "Split" and width >= 2:
            at = int(rng.integers(1, width))
            self.add(op, [x, self.constant([at, width - at])], [at, width - at], axis=1)
        elif op == "Relu":
            self.add(op, [x], [width])

    def model(self) -> onnx.ModelProto:
        outputs = list(self.widths)[-2:]
        nodes = [*self.nodes, *(helper.make_node("Identity", [o], [f"y{k}"]) for k, o in enumerate(outputs))]
        infos = [
            helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, ["N", self.widths[o]])
            for k, o in enumerate(outputs)
        ]
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])], infos
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@given(steps=_STEPS)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_programs_of_pieces_compute_the_same_with_no_more_nodes(steps: list[tuple[str, int]]) -> None:
    program = _Program()
    for op, seed in steps:
        program.step(op, seed)
    model = program.model()
    result = optimize(model, cost="nodes", strict=True, verify=False)
    feed = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    for a, b in zip(_run(model, feed), _run(result.model, feed), strict=True):
        np.testing.assert_array_equal(a, b)
    assert result.report.nodes.runtime_after <= result.report.nodes.runtime_before
    assert result.report.saturation.stop == "saturated"
