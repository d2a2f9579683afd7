"""Bad files through the command line: an exit code, one line or a model, in time; nothing raw is raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from egraph_opt.errors import EgraphOptError
from egraph_opt.model.reading import read_model

from .corpus import CASES
from .judging import examine, findings
from .mutations import mutated
from .running import Outcome, Worker

LONG = set(
    """
    a_chain_of_doublings a_concat_of_many_different_inputs a_loop_of_computed_trips
    a_loop_of_more_trips_than_numbers_hold a_loop_that_grows a_loop_that_only_its_condition_ends
    a_name_of_a_megabyte a_node_of_many_attributes functions_that_call_once ifs_as_deep_as_is_looked_into
    many_outputs_of_one_value products_of_small_results seven_hundred_million_zeros sums_of_many_symbols
    """.split()
)
"""Half of the seconds: `make fuzz-files` has them."""

TOLD = {
    "a_location_with_a_nul": "tensor 'w' is in .* which cannot be the name of a file",
    "a_location_of_five_thousand_characters": "tensor 'w' is in .* which cannot be the name of a file",
    "an_offset_below_zero": "tensor 'w' has an offset or length that is no number: '-8'",
    "external_dims_below_zero": r"tensor 'w' has a dim below zero: \[-2, 3\]",
    "external_dims_beyond_numbers": "tensor 'w' is larger than any memory",
    "raw_data_too_short": "tensor 'w' has 20 bytes of data, but its type and shape need 24",
    "no_data": "tensor 'w' has 0 elements of data, but its shape needs 6",
    "a_function_that_calls_itself": "functions must not call themselves: 'own:f0' -> 'own:f0'",
    "functions_that_call_each_other": "functions must not call themselves: 'own:f0' -> 'own:f1' -> 'own:f0'",
    "functions_that_call_twice": "its functions are 3.3e.12 nodes when every call is written out",
    "ifs_deeper_than_protobuf_takes": "nested deeper than protobuf reads",
    "an_axis_that_is_a_text": "'Softmax_y' .* attribute 'axis' of type string, which has to be int",
    "concat_without_an_axis": "'Concat_y' .* lacks the attribute 'axis'",
    "an_if_without_branches": "'If_y' .* lacks the attribute",
    "an_operator_without_inputs": "Relu .* has 0 inputs, the schema needs 1",
    "gather_out_of_range": "not compared with the original: the original does not run",
    "gather_of_a_far_axis": r"warning: node 'Gather_y' .*: its operands contradict each other",
    "slice_of_step_zero": r"warning: node 'Slice_y' .*: its operands contradict each other",
    "a_perm_that_is_none": r"warning: node 'Transpose_y' .*: its operands contradict each other",
    "a_concat_of_many_inputs": "has 100000 inputs, and not 1024 at most",
    "a_split_into_many_outputs": "has 50000 outputs, and not 1024 at most",
    "ten_thousand_million_zeros": r"not compared with the original: .*: a run takes 4e\+10 bytes",
    "an_input_of_forty_gigabytes": r"not compared with the original: .*: a run takes 1.6e\+11 bytes",
    "products_of_large_squares": r"not compared with the original: a run takes .* operations",
    "a_loop_without_end": "not compared with the original: a run takes longer than",
}
"""What is said of some of them."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def outcome_of(name: str, worker: Worker, folder: Path) -> tuple[str, list[str]]:
    """All that was said of a bad file, on one line; and what is wrong with how it was taken."""
    places = [folder / name / part for part in ("in", "out")]
    for place in places:
        place.mkdir(parents=True)
    source = CASES[name](places[0])
    outcome, wrong = examine(worker, source, places[1] / "out.onnx", patience=120, slow=60)
    return " ".join(f"{outcome.said} {outcome.shown}".split()), [f"{name}: {finding}" for finding in wrong]


@pytest.mark.parametrize("part", range(4))
def test_a_bad_file_is_refused_in_a_line_or_handed_on(part: int, worker: Worker, tmp_path: Path) -> None:
    wrong: list[str] = []
    for name in sorted(set(CASES) - LONG)[part::4]:
        said, found = outcome_of(name, worker, tmp_path)
        wrong += found
        if not re.search(TOLD.get(name, ""), said):
            wrong.append(f"{name}: says {said[:300]}")
    assert not wrong


def test_what_is_said_is_looked_at() -> None:
    assert not set(TOLD) - (set(CASES) - LONG)


def test_damaged_models_are_read_or_refused_by_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    kinds, told = set(), {}
    for seed in range(300):
        path.write_bytes(mutated(seed))
        try:
            read_model(path)
            kinds.add("read")
        except EgraphOptError as error:
            kinds.add(type(error).__name__)
            told[seed] = str(error)
    assert all(str(path) in text and "\n" not in text for text in told.values()), told
    assert kinds >= {"read", "ModelReadError", "InvalidModelError"}


@pytest.mark.parametrize("seed", [383, 527, 625])
def test_what_was_found_stays_mended(seed: int, worker: Worker, tmp_path: Path) -> None:
    """A node without outputs, a Loop of too many, a body's output whose declared shape is not true."""
    places = [tmp_path / part for part in ("in", "out")]
    for place in places:
        place.mkdir()
    (places[0] / "bad.onnx").write_bytes(mutated(seed))
    _, wrong = examine(worker, places[0] / "bad.onnx", places[1] / "out.onnx", patience=120, slow=60)
    assert not wrong


def test_equal_seeds_damage_alike() -> None:
    assert [mutated(seed) for seed in range(30)] == [mutated(seed) for seed in range(30)]
    assert len({mutated(seed) for seed in range(30)}) > 25


@pytest.mark.parametrize(
    ("outcome", "finding"),
    [
        (Outcome(None, raised="Traceback\nKeyError: 'x'"), "raises KeyError"),
        (Outcome(None, raised="takes too long"), "takes too long"),
        (Outcome(1, said="egraph-opt: error: in.onnx: bad\nTraceback"), "says"),
        (Outcome(1, said="egraph-opt: error: something is wrong"), "does not name the file"),
        (Outcome(3, said="egraph-opt: error: in.onnx: unsound"), "exits with 3"),
        (Outcome(1, said="egraph-opt: error: in.onnx: bad", seconds=99), "takes 99.0 s"),
        (Outcome(0, shown="unchanged: an internal error, which"), "is an internal error"),
        (Outcome(0, shown="fallback: wrong"), "is said to be wrong"),
        (Outcome(0), "has an output that does not load"),
    ],
)
def test_what_may_not_be_is_found(outcome: Outcome, finding: str, tmp_path: Path) -> None:
    found = list(findings(outcome, Path("in.onnx"), tmp_path / "out.onnx", slow=5))
    assert any(finding in text for text in found), found


def test_files_that_are_left_are_found(tmp_path: Path) -> None:
    (tmp_path / ".out.onnx.tmp").touch()
    (tmp_path / "out.onnx").touch()
    outcome = Outcome(1, said="egraph-opt: error: in.onnx: bad")
    found = list(findings(outcome, Path("in.onnx"), tmp_path / "out.onnx", slow=5))
    assert any(text.startswith("leaves ['.out") for text in found)
    assert "leaves an output beside an error" in found
