"""The fit gives back the parameters that a profile was made with, as far as the profile determines them."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from egraph_opt import cost_model
from egraph_opt.cost.parameters import Override
from egraph_opt.cost.registry import parameters_of
from egraph_opt.errors import CalibrationError, ProfileError, UnknownParameterError
from egraph_opt.lab.calibration.calibrating import Calibration, CalibrationRequest, calibrate
from egraph_opt.lab.calibration.model_nodes import read_nodes, typed
from egraph_opt.lab.calibration.writing import write_calibration

from .made_profiles import DETAILS, NEW, OLD, Kernel, Noise, varied, write

TRUTH = {
    "fixed_vector_us": 3.1,
    "fixed_cube_us": 5.5,
    "fixed_transpose_us": 3.0,
    "fixed_aicpu_us": 160.0,
    "memory_efficiency": 0.5,
    "l2_speedup": 3.0,
    "cube_efficiency": 0.45,
    "transdata_efficiency": 0.3,
    "transpose_efficiency": 0.4,
    "vector_cycles.Tanh": 0.5,
    "vector_cycles.Erf": 1.1,
}
"""What the chip is that profiles are made of here."""

UNFITTED = "ascend:910a"
"""A chip whose parameters of memory are those that all chips have."""

UNSEEN = ("fixed_control_us", "view_us", "slow_conv_factor", "pool_efficiency")
"""What none of these kernels says anything of."""


def values(found: Calibration) -> dict[str, float]:
    return {entry.name: entry.value for entry in found.learned}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Times that scatter by 5 %, one in twenty of them far off, and some shapes that are not known."""
    kernels = varied(14)
    path = tmp_path_factory.mktemp("noisy") / "op_summary.csv"
    write(path, kernels, cost_model("ascend", TRUTH), Noise(0.05, 0.05))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines += [
        lines[1].replace("Add_0", "Add_9").replace(f'"""{kernels[0].inputs}"""', "N/A"),
        lines[1].replace("Add_0,Add,", "clean,AtomicAddrClean,"),
        lines[1].replace("Add_0,Add,", "hcom_send_1,hcom_send,"),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return calibrate(CalibrationRequest(path))


@pytest.mark.parametrize("name", TRUTH)
def test_a_noisy_profile_gives_the_parameters_back(noisy: Calibration, name: str) -> None:
    assert values(noisy)[name] == pytest.approx(TRUTH[name], rel=0.1)


def test_the_true_values_lie_within_four_standard_errors(noisy: Calibration) -> None:
    defaults = parameters_of("ascend")
    for entry in noisy.learned:
        table, _, key = entry.name.partition(".")
        default = defaults[table].value[key] if key else defaults[table].value
        truth = TRUTH.get(entry.name, default)
        assert abs(entry.value / truth - 1) < 4 * entry.error + 0.01, entry


@pytest.mark.parametrize("name", UNSEEN)
def test_what_no_kernel_depends_on_keeps_its_default(noisy: Calibration, name: str) -> None:
    assert noisy.kept[name] == "no time here depends on it"


def test_the_data_sheet_is_believed(noisy: Calibration) -> None:
    assert {name for name, reason in noisy.kept.items() if reason == "the data sheet's"} == {
        "clock_ghz",
        "memory_gbs",
    }


def test_errors_fall_for_every_operator_to_about_the_noise(noisy: Calibration) -> None:
    assert noisy.total.before > 1.4
    assert noisy.total.after < 1.06
    assert all(entry.after < 1.12 for entry in noisy.operators), noisy.operators


def test_rows_that_say_nothing_are_counted_with_their_reasons(noisy: Calibration) -> None:
    assert noisy.observations.left_out == {
        "no shapes": 1,
        "unknown type AtomicAddrClean": 1,
        "communication between devices": 1,
    }


def test_the_written_file_is_a_target(noisy: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "my310p.toml"
    write_calibration(noisy, path)
    parameters = parameters_of(f"ascend:{path}")
    for entry in noisy.learned:
        table, _, key = entry.name.partition(".")
        value = parameters[table].value
        assert (value[key] if key else value) == entry.value
        assert "op_summary.csv, fit of" in parameters[table].source
    assert parameters["fixed_vector_us"].confidence == "M"
    assert parameters["slow_conv_factor"] == parameters_of("ascend")["slow_conv_factor"]
    assert "# no time here depends on it: fixed_control_us" in path.read_text(encoding="utf-8")


ADDS = [Kernel("Add", f"{2**k};{2**k}", f"{2**k}", core="AI_VECTOR_CORE") for k in range(4, 24)]


@pytest.mark.parametrize("header", [OLD, NEW, DETAILS], ids=["old", "new", "kernel_details"])
def test_every_header_tells_the_same(tmp_path: Path, header: list[str]) -> None:
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend", TRUTH), header=header)
    found = values(calibrate(CalibrationRequest(path, only=("fixed_vector_us", "memory_efficiency"))))
    assert found["fixed_vector_us"] == pytest.approx(3.1, rel=0.01)


def test_only_a_product_of_two_parameters_is_seen_where_all_fits_in_the_cache(tmp_path: Path) -> None:
    small = [kernel for kernel in ADDS if int(kernel.outputs) <= 2**19]
    path = write(tmp_path / "profile.csv", small, cost_model("ascend", TRUTH))
    found = calibrate(CalibrationRequest(path, only=("fixed_vector_us", "memory_efficiency", "l2_speedup")))
    assert found.kept["l2_speedup"] == "cannot be told apart from memory_efficiency"
    product = values(found)["memory_efficiency"] * 2.2
    assert product == pytest.approx(0.5 * 3.0, rel=0.02)


def test_a_value_that_is_set_stays_and_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend", TRUTH))
    held = (Override("l2_speedup", 3.0), Override("vector_cycles.Add", 0.0103))
    found = calibrate(CalibrationRequest(path, held=held))
    assert found.kept["l2_speedup"] == found.kept["vector_cycles.Add"] == "set by --set"
    assert values(found)["memory_efficiency"] == pytest.approx(0.5, rel=0.02)
    target = tmp_path / "mine.toml"
    write_calibration(found, target)
    assert parameters_of(f"ascend:{target}")["l2_speedup"].value == 3.0


def test_a_calibration_goes_on_from_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/base.toml").write_text('extends = "310b1"\nfixed_cube_us = 4.5\n', encoding="utf-8")
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend:310b1", TRUTH))
    found = calibrate(CalibrationRequest(path, cost="ascend:shared/base.toml", only=("fixed_vector_us",)))
    write_calibration(found, tmp_path / "mine.toml")
    assert 'extends = "shared/base.toml"' in (tmp_path / "mine.toml").read_text(encoding="utf-8")
    parameters = parameters_of("ascend:mine.toml")
    assert parameters["fixed_cube_us"].value == 4.5
    assert parameters["memory_gbs"].value == parameters_of("ascend:310b1")["memory_gbs"].value


def test_a_calibration_of_a_chip_goes_on_from_it(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend:910b4", TRUTH))
    held = (Override("matmul_nd", "aligned"),)
    found = calibrate(CalibrationRequest(path, "ascend:910b4", held, ("fixed_vector_us",)))
    write_calibration(found, tmp_path / "mine.toml")
    parameters = parameters_of(f"ascend:{tmp_path / 'mine.toml'}")
    assert parameters["cores"].value == parameters_of("ascend:910b4")["cores"].value
    assert parameters["matmul_nd"].value == "aligned"


def test_two_kernels_determine_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS[:2], cost_model("ascend", TRUTH))
    with pytest.raises(CalibrationError, match=r"2 kernels determine no parameter of ascend: .*too few"):
        calibrate(CalibrationRequest(path))


def test_a_parameter_at_the_end_of_its_range_is_marked(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend", {"memory_gbs": 320}))
    (entry,) = calibrate(CalibrationRequest(path, only=("memory_efficiency",))).learned
    assert entry.remark == "at the end of its range"
    assert entry.value == 1.0


def test_what_times_change_with_one_way_only_is_a_limit(tmp_path: Path) -> None:
    """Tanh takes no longer than memory does: its cycles may be anything below, and the default is above."""
    tanhs = [Kernel("Tanh", f"{2**k}", f"{2**k}", core="AI_VECTOR_CORE") for k in range(14, 22)]
    path = write(tmp_path / "profile.csv", tanhs * 3, cost_model(UNFITTED, {"vector_cycles.Tanh": 0.01}))
    (entry,) = calibrate(CalibrationRequest(path, cost=UNFITTED, only=("vector_cycles.Tanh",))).learned
    assert entry.remark == "at most"
    assert 0.01 < entry.value < 0.1976
    again = calibrate(CalibrationRequest(path, cost=UNFITTED, only=("fixed_vector_us", "vector_cycles.Abs")))
    assert again.kept["vector_cycles.Abs"] == "no time here depends on it"


def test_unknown_parameters_are_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UnknownParameterError, match="did you mean 'fixed_vector_us'"):
        calibrate(CalibrationRequest(tmp_path / "none.csv", only=("fixed_vectors_us",)))


def test_a_cost_model_without_numbers_cannot_be_fitted(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS, cost_model("ascend"))
    with pytest.raises(CalibrationError, match="nodes has no number"):
        calibrate(CalibrationRequest(path, cost="nodes"))


def test_a_profile_of_nothing_known_says_why(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.csv", ADDS[:3], cost_model("ascend"))
    path.write_text(path.read_text(encoding="utf-8").replace(",Add,", ",Ad,"), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"no row can be used: unknown type Ad \(3\)"):
        calibrate(CalibrationRequest(path))


def chain(folder: Path) -> Path:
    """Element-wise operators on growing values, with the names that compilers keep."""
    lines, names = [], []
    for k in range(16):
        lines.append(f"    t{k} = Concat <axis = 0> ({', '.join(['x' if k == 0 else f'r{k - 1}'] * 2)})")
        lines.append(f"    r{k} = Relu (t{k})")
        names += [f"/blocks.{k}/Concat", f"/blocks.{k}/act/Relu"]
    text = '<ir_version: 8, opset_import: ["" : 17]>\nnet (float[N, 64] x) => (float[M, 64] r15)\n'
    model = parser.parse_model(text + "{\n" + "\n".join(lines) + "\n}")
    for node, name in zip(model.graph.node, names, strict=True):
        node.name = name
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def test_a_profile_without_shapes_is_fitted_with_the_model(tmp_path: Path) -> None:
    model = chain(tmp_path)
    truth = cost_model("ascend", TRUTH)
    lines = [",".join(NEW)]
    for name, view in read_nodes(model, {"N": 4}).by_name.items():
        micros = truth.kernel_cost(typed(view, 0), "AI_VECTOR_CORE")
        kind = {"Concat": "ConcatD", "Relu": "Relu"}[view.op_type]
        lines.append(f"0,1,1,7,{name},{kind},static,AI_VECTOR_CORE,1.5\t,{micros:.4f},0,8,0,NO," + "N/A," * 6)
    path = tmp_path / "op_summary.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = calibrate(CalibrationRequest(path, model=model, sizes={"N": 4}))
    assert found.observations.left_out == {}
    assert values(found)["fixed_vector_us"] == pytest.approx(3.1, rel=0.01)
    assert values(found)["memory_efficiency"] == pytest.approx(0.5, rel=0.05)
    with pytest.raises(ProfileError, match=r"no shapes \(32\)"):
        calibrate(CalibrationRequest(path))
