"""Profiles as tools write them: headers, encodings, units, cells that say nothing, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from egraph_opt.errors import ProfileError
from egraph_opt.lab.calibration.profiles import ProfileRow, read_profile
from egraph_opt.lab.calibration.tensors import KernelTensor, kernel_tensors

HEADER = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes,Output Shapes"
ROW = 'add,Add,AI_CORE,1.5\t,2.5,"""4,8;4,8""","""4,8"""'


def written(folder: Path, *lines: str, encoding: str = "utf-8", end: str = "\n") -> Path:
    path = folder / "profile.csv"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def only_row(path: Path) -> ProfileRow:
    (row,) = read_profile(path).rows
    return row


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends_do_not_matter(tmp_path: Path, encoding: str, end: str) -> None:
    row = only_row(written(tmp_path, HEADER, ROW, encoding=encoding, end=end))
    assert (row.name, row.type, row.core, row.micros) == ("add", "Add", "AI_CORE", 2.5)
    assert row.inputs == (KernelTensor((4, 8)), KernelTensor((4, 8)))
    assert row.outputs == (KernelTensor((4, 8)),)


@pytest.mark.parametrize(
    ("header", "micros"),
    [
        ("Duration(us)", 2500.0),
        ("Task Duration", 2500.0),
        ("Duration(ns)", 2.5),
        ("Duration(ms)", 2.5e6),
        ("task_duration (μs)", 2500.0),
    ],
)
def test_times_come_in_the_unit_of_their_header(tmp_path: Path, header: str, micros: float) -> None:
    assert only_row(written(tmp_path, f"Type,{header}", "Add,2500")).micros == pytest.approx(micros)


def test_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"'Duration\(cycles\)': the unit is none of ns, us"):
        read_profile(written(tmp_path, "Type,Duration(cycles)", "Add,2500"))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_seen(tmp_path: Path, separator: str) -> None:
    lines = (HEADER.replace(",", separator), separator.join(("a", "Add", "", "1", "2.5", "N/A", "N/A")))
    assert only_row(written(tmp_path, *lines)).micros == 2.5


def test_lines_before_the_header_are_passed_over(tmp_path: Path) -> None:
    assert only_row(written(tmp_path, "exported by a tool", "", HEADER, ROW)).line == 4


def test_a_kernel_that_ran_often_is_one_row_with_the_median_of_its_times(tmp_path: Path) -> None:
    rows = [ROW.replace(",2.5,", f",{time},") for time in (11.0, 2.0, 2.4)]  # the first one is cold
    row = only_row(written(tmp_path, HEADER, *rows))
    assert (row.micros, row.count) == (2.4, 3)


def test_steps_and_devices_are_put_together(tmp_path: Path) -> None:
    header = "Device_id,Step Id,Name,Type,Accelerator Core,Duration(us)"
    lines = [f"{device},{step},a,Add,AI_CORE,{device + step}" for device in (0, 1) for step in (1, 2)]
    row = only_row(written(tmp_path, header, *lines))
    assert (row.micros, row.count) == (2.0, 4)


@pytest.mark.parametrize("time", ["N/A", "", "0", "-1", "nan", "inf", "fast"])
def test_rows_without_a_time_are_counted(tmp_path: Path, time: str) -> None:
    found = read_profile(written(tmp_path, HEADER, ROW, ROW.replace(",2.5,", f",{time},")))
    assert found.left_out == {"no time": 1}
    assert found.lines == 2


def test_short_rows_and_rows_without_a_type_do_no_harm(tmp_path: Path) -> None:
    found = read_profile(written(tmp_path, HEADER, ROW, "add", "add,N/A,AI_CORE,1,2.5"))
    assert found.left_out == {"no type of kernel": 2}


@pytest.mark.parametrize(
    ("cell", "shapes"),
    [
        ("4,1024;2;2", [(4, 1024), (2,), (2,)]),
        ('"4,1024;"', [(4, 1024), ()]),
        ('""', [()]),
        ("[1,2]", [(1, 2)]),
        ("1*3*4;5", [(1, 3, 4), (5,)]),
        ("4,1024\t", [(4, 1024)]),
    ],
)
def test_shapes_are_read_as_tools_write_them(cell: str, shapes: list[tuple[int, ...]]) -> None:
    found = kernel_tensors(cell, "", "")
    assert found is not None
    assert [tensor.stored for tensor in found] == shapes


@pytest.mark.parametrize("cell", ["N/A", "NULL", "4,?", "4,-1"])
def test_shapes_that_are_not_known_are_none(cell: str) -> None:
    assert kernel_tensors(cell, "FLOAT", "ND") is None


def test_types_and_formats_lose_their_prefixes() -> None:
    found = kernel_tensors("4;4;4", "DT_BF16;FLOAT16;UNDEFINED", "FORMAT_ND;NCHW;NULL")
    assert found == (KernelTensor((4,), 16, "ND"), KernelTensor((4,), 10, "NCHW"), KernelTensor((4,), 0, ""))


@pytest.mark.parametrize(
    ("layout", "stored", "dims"),
    [
        ("NC1HWC0", (1, 4, 56, 57, 16), (1, 64, 56, 57)),
        ("NDC1HWC0", (1, 8, 4, 56, 57, 16), (1, 64, 8, 56, 57)),
        ("FRACTAL_NZ", (8, 2, 7, 16, 16), (8, 112, 32)),
        ("NHWC", (1, 56, 57, 64), (1, 64, 56, 57)),
        ("NC1HWC0", (1, 64, 56, 57), (1, 64, 56, 57)),
        ("ND", (3, 4), (3, 4)),
    ],
)
def test_storage_formats_are_undone(layout: str, stored: tuple[int, ...], dims: tuple[int, ...]) -> None:
    assert KernelTensor(stored, 10, layout).dims == dims


def test_an_op_statistic_has_a_row_a_type(tmp_path: Path) -> None:
    header = (
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    )
    row = only_row(written(tmp_path, header, "0,MatMulV2,AI_CORE,12,60,4,5,6,33.3"))
    assert (row.type, row.micros, row.count, row.total) == ("MatMulV2", 5.0, 12, True)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["Op Name,OP Typ,Task Duration(us)", "a,Add,2"], "no column 'OP Type' .*nearest is 'OP Typ'"),
        (["OP Type,Task Durations(us)", "Add,2"], "no column 'Task Duration' .*nearest is 'Task Durations"),
        (["a,b,c", "1,2,3"], "no column 'OP Type' or 'Type'; no column 'Task Duration'"),
        (["OP Type,Core Type,Counts,Avg Time(us)", "Add,AI_CORE,1,2"], "no column 'Count' .*an op_statistic"),
        ([HEADER], "has no rows"),
        ([""], "has no rows"),
        ([HEADER, ROW.replace(",2.5,", ",N/A,")], r"no row can be used \(no time: 1\)"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_profile_says_what_is_missing(tmp_path: Path, lines: list[str], told: str) -> None:
    with pytest.raises(ProfileError, match=told):
        read_profile(written(tmp_path, *lines))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x08\x07\x12\x0bpytorch\x00\x00", "is no table"),
        (b"Op Name,\xff\xfe\xfa", r"is no text in UTF-8 \(byte 8\)"),
        (b"", "has no rows"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "profile.csv"
    path.write_bytes(data)
    with pytest.raises(ProfileError, match=told):
        read_profile(path)


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there is no such file"):
        read_profile(tmp_path / "none.csv")
    with pytest.raises(ProfileError, match="cannot be read"):
        read_profile(tmp_path)
