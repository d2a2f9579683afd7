"""Kernels as nodes: what follows from shapes, what the model adds, and what is left out."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from egraph_opt.cost.model import KERNEL_DOMAIN, NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import ProfileError
from egraph_opt.facts.fact import Fact
from egraph_opt.lab.calibration.kernels import UnusableError, view_of
from egraph_opt.lab.calibration.model_nodes import ModelNodes, matched, read_nodes
from egraph_opt.lab.calibration.observations import observe
from egraph_opt.lab.calibration.profiles import Profile, ProfileRow, read_profile

from .made_profiles import Kernel, varied, write

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N, 3, 32, 32] x) => (float[N, 8, 15, 15] y)
{
    c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
    r = Relu (c)
    p = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (r)
    q = Transpose <perm = [0, 1, 3, 2]> (p)
    y = Tanh (q)
}
"""

NAMES = ("stem/Conv", "stem/Relu", "pool1", "pool12", "last")


@pytest.fixture
def nodes(tmp_path: Path) -> ModelNodes:
    model = parser.parse_model(MODEL)
    for node, name in zip(model.graph.node, NAMES, strict=True):
        node.name = name
    for name, shape in (("w", (8, 3, 3, 3)), ("b", (8,))):
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.float32), name))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    return read_nodes(path, {"N": 2})


def seen(kernel: Kernel) -> NodeView:
    return view_of(kernel.row())


def test_the_transposed_operand_of_a_product_is_found() -> None:
    plain = seen(Kernel("MatMulV2", "64,256;256,96", "64,96"))
    for inputs in ("256,64;256,96", "64,256;96,256", "256,64;96,256"):
        assert seen(Kernel("MatMul", inputs, "64,96")) == plain


def test_a_product_in_tiles_is_the_product_of_its_matrices() -> None:
    formats = ("ND;FRACTAL_NZ", "FRACTAL_NZ")
    view = seen(Kernel("MatMulV2", "60,256;6,16,16,16", "6,4,16,16", formats))
    assert [fact.shape for fact in view.inputs if fact] == [(64, 256), (256, 96)]
    assert view.inputs[1] is not None
    assert view.inputs[1].const


def test_operands_of_a_product_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnusableError, match="do not fit together"):
        seen(Kernel("MatMulV2", "64,256;512,96", "64,96"))


def test_the_permutation_of_a_transpose_follows_from_its_shapes() -> None:
    assert seen(Kernel("Transpose", "2,3,4;3", "4,2,3")).attributes == {"perm": (2, 0, 1)}


@pytest.mark.parametrize(("before", "after"), [("4,4,4", "4,4,4"), ("2,3", "3,4")])
def test_a_permutation_that_does_not_follow_is_not_guessed(before: str, after: str) -> None:
    with pytest.raises(UnusableError, match="permutation"):
        seen(Kernel("Transpose", before, after))


def test_a_convolution_in_blocks_has_the_window_of_its_weights() -> None:
    formats = ("NC1HWC0;FRACTAL_Z", "NC1HWC0")
    view = seen(Kernel("Conv2D", "1,4,56,56,16;36,8,16,16", "1,8,28,28,16", formats))
    assert view.attributes == {"strides": (2, 2), "kernel_shape": (3, 3), "group": 1}
    assert [fact.shape for fact in (*view.inputs, *view.outputs) if fact] == [
        (1, 64, 56, 56),
        (128, 64, 3, 3),
        (1, 128, 28, 28),
    ]


def test_a_convolution_of_few_channels_has_no_groups() -> None:
    view = seen(Kernel("Conv2D", "1,1,224,224,16;64,3,7,7", "1,4,112,112,16", ("NC1HWC0;NCHW", "NC1HWC0")))
    assert view.attributes["group"] == 1


def test_a_depthwise_convolution_has_a_group_for_each_channel() -> None:
    formats = ("NC1HWC0;FRACTAL_Z", "NC1HWC0")
    view = seen(Kernel("DepthwiseConv2D", "1,4,56,56,16;36,1,16,16", "1,4,56,56,16", formats))
    assert view.attributes["group"] == 64
    assert view.inputs[1] is not None
    assert view.inputs[1].shape == (64, 1, 3, 3)


def test_the_axis_of_a_gather_follows_from_its_shapes() -> None:
    assert seen(Kernel("GatherV2", "6400,512;4,10;1", "4,10,512")).attributes == {"axis": 0}


def test_pools_need_the_model(nodes: ModelNodes) -> None:
    kernel = Kernel("MaxPool", "2,1,32,32,16", "2,1,15,15,16", ("NC1HWC0", "NC1HWC0"), name="pool1")
    with pytest.raises(UnusableError, match="give the model"):
        seen(kernel)
    assert matched(kernel.row(), nodes).attributes["kernel_shape"] == (3, 3)


def test_a_conversion_is_a_kernel_of_its_own() -> None:
    there = seen(Kernel("TransData", "1,3,8,8", "1,1,8,8,16", ("NCHW", "NC1HWC0")))
    back = seen(Kernel("TransData", "1,1,8,8,16", "1,3,8,8", ("NC1HWC0", "NCHW")))
    assert there == back
    assert there.domain == KERNEL_DOMAIN


def test_names_say_which_node_a_kernel_is(nodes: ModelNodes) -> None:
    def names(text: str) -> list[str]:
        return [view.op_type for view in nodes.within(text)]

    assert names("stem/Conv") == ["Conv"]
    assert names("stem/Convstem/Relu") == names("stem/Conv+stem/Relu") == ["Conv", "Relu"]
    assert names("pool12") == ["Transpose"]
    assert names("pool1_0") == ["MaxPool"]
    assert names("pool13") == names("trans_TransData_5") == []


def test_shapes_that_a_profile_lacks_are_those_of_the_model(nodes: ModelNodes) -> None:
    row = Kernel("Conv2D", "N/A", "N/A", name="stem/Convstem/Relu").row()
    view = matched(row, nodes)
    assert view.inputs[0] == Fact(0, (2, 3, 32, 32))
    assert view.attributes["pads"] == (1, 1, 1, 1)
    assert view.inputs[1] is not None
    assert view.inputs[1].const


def test_another_batch_than_the_model_s_is_taken_from_the_profile(nodes: ModelNodes) -> None:
    formats = ("NC1HWC0;FRACTAL_Z", "NC1HWC0")
    row = Kernel("Conv2D", "7,1,32,32,16;9,1,16,16", "7,1,32,32,16", formats, name="stem/Conv").row()
    view = matched(row, nodes)
    assert view.outputs[0].shape == (7, 16, 32, 32)
    assert view.attributes["pads"] == (1, 1, 1, 1)


def test_a_kernel_that_no_node_has_the_name_of_says_so(nodes: ModelNodes) -> None:
    with pytest.raises(UnusableError, match=r"no shapes, and no Tanh of net.onnx has its name"):
        matched(Kernel("Tanh", "N/A", "N/A", name="other").row(), nodes)


def test_a_sum_of_kernels_is_compared_with_all_nodes_of_the_type(nodes: ModelNodes) -> None:
    rows = tuple(ProfileRow(1, kind, kind, "", 5.0, 20, total=True) for kind in ("Conv2D", "Relu", "MatMul"))
    found = observe(Profile("statistic.csv", rows), nodes)
    assert [entry.operator for entry in found.used] == ["Conv", "Relu"]
    assert found.left_out == {"the kernels of a type are not as many as its nodes in net.onnx": 1}
    assert observe(Profile("statistic.csv", rows)).left_out == {
        "the sum of all kernels of a type: give the model that ran": 3
    }


# ---- what a kernel costs by itself


def test_an_element_wise_kernel_costs_what_the_operator_costs_alone() -> None:
    view = seen(Kernel("Add", "512,512;512,512", "512,512"))
    assert Ascend().kernel_cost(view, "AI_VECTOR_CORE") == Ascend().cost(view)


def test_the_kernel_of_a_product_pays_for_no_conversion() -> None:
    view = seen(Kernel("BatchMatMul", "2,50,30;2,30,70", "2,50,70"))
    whole, alone = Ascend().cost(view), Ascend().kernel_cost(view, "AI_CORE")
    assert alone < whole - 3 * Ascend().soc.fixed_transdata_us + 1e-9
    assert alone > Ascend().soc.fixed_cube_us


def test_wider_floats_take_longer_where_the_profile_says_so() -> None:
    half = seen(Kernel("Add", f"{2**24};{2**24}", f"{2**24}"))
    single = seen(Kernel("Add", f"{2**24};{2**24}", f"{2**24}", types=("FLOAT", "FLOAT")))
    launch = Ascend().soc.fixed_vector_us
    times = [Ascend().kernel_cost(view, "AI_VECTOR_CORE") - launch for view in (half, single)]
    assert times[1] > 1.9 * times[0]


def test_what_ran_on_the_ai_cpu_is_priced_there() -> None:
    view = seen(Kernel("Cast", "64", "64"))
    assert Ascend().kernel_cost(view, "AI_CPU") > Ascend().soc.fixed_aicpu_us
    assert Ascend().kernel_cost(view, "AI_VECTOR_CORE") < 2 * Ascend().soc.fixed_vector_us


def test_without_a_core_the_rules_of_the_model_say_where_it_ran() -> None:
    view = seen(Kernel("Cast", "64", "64", types=("DOUBLE", "FLOAT")))
    assert Ascend().kernel_cost(view) > Ascend().soc.fixed_aicpu_us


# ---- whatever a file says


ODD = ["N/A", "", "0", "-1", "nan", '"', '"""', "9" * 30, "FRACTAL_Z", "NC1HWC0", "0,0", "Conv2D", "Muls"]


@pytest.mark.parametrize("seed", range(8))
def test_damaged_rows_are_read_or_left_out(tmp_path: Path, seed: int) -> None:
    draw, model = random.Random(seed), Ascend()
    path = write(tmp_path / "profile.csv", varied(2), model)
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    for _ in range(150):
        k = draw.randrange(len(lines))
        cells = lines[k].split(",")
        place = draw.randrange(len(cells))
        cells[place] = draw.choice([*ODD, cells[place].replace(";", draw.choice(ODD))])
        lines[k] = ",".join(cells)
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    try:
        found = observe(read_profile(path))
    except ProfileError:
        return
    assert found.rows + sum(found.left_out.values()) <= len(lines)
    prices = [model.kernel_cost(view, entry.core) for entry in found.used for view in entry.views]
    assert all(0 <= price < math.inf for price in prices)
