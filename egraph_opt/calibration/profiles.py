"""Profiles: what kernels took, as profilers and our own measurements have written it down.

- `op_summary` of msprof, with old and new headers, and `kernel_details` of torch_npu: a row a kernel;
- `op_statistic` of either: a row a type of kernel, without shapes;
- what `egraph-opt measurements export` writes: a row a node that was timed alone.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from egraph_opt.calibration.columns import Table, read_table
from egraph_opt.calibration.tensors import NOTHING, KernelTensor, tensors_of
from egraph_opt.errors import ProfileError

KERNELS = ("type", "duration")
STATISTICS = ("type", "count", "average")
MEASUREMENTS = ("machine", "runtime", "setting", "key", "micros")

NO_TIME = "no time"
NO_TYPE = "no type of kernel"


@dataclass(frozen=True)
class ProfileRow:
    """What a kernel took.

    Attributes:
        line: where it stands first.
        name: of the operator, as far as it has one.
        type: of the kernel, or of the ONNX operator where `key` describes it.
        core: the unit that ran it; "" where nobody says.
        micros: the time of a run, the median of all.
        count: how often it ran.
        inputs, outputs: its operands; None where they are not known.
        total: it stands for all kernels of a type, whose mean `micros` is.
        key: of a measurement of ours, what was timed.
    """

    line: int
    name: str
    type: str
    core: str
    micros: float
    count: int = 1
    inputs: tuple[KernelTensor, ...] | None = None
    outputs: tuple[KernelTensor, ...] | None = None
    total: bool = False
    key: str = ""


@dataclass(frozen=True)
class Profile:
    """The rows of one file, those of one kernel on the same operands put together.

    Attributes:
        label: the file.
        rows: in the order of the file.
        left_out: how many lines say nothing, by reason.
        remarks: what a user has to know of it.
    """

    label: str
    rows: tuple[ProfileRow, ...]
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines the file has below its header."""
        return sum(row.count if not row.total else 1 for row in self.rows) + self.left_out.total()


def read_profile(path: Path) -> Profile:
    """Read a profile of any kind.

    Raises:
        ProfileError: it cannot be read, columns are missing, or no line has a time.
    """
    table = read_table(path)
    if table.has(*MEASUREMENTS):
        found = _measurements(table)
    elif table.has(*KERNELS):
        found = _kernels(table)
    elif table.has(*STATISTICS):
        found = _statistics(table)
    else:
        raise ProfileError(f"{path}: {_missing(table)}")
    if not found.rows:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in found.left_out.items())
        raise ProfileError(f"{path}: no row can be used ({reasons})")
    return found


def _missing(table: Table) -> str:
    """What is missing of the kind of table that this seems to be."""
    kinds = {
        KERNELS: "a profile of kernels (op_summary, kernel_details)",
        STATISTICS: "an op_statistic",
        MEASUREMENTS: "an export of measurements",
    }
    lacks = {kind: sum(meaning not in table.columns for meaning in kind) for kind in kinds}
    wanted = min(kinds, key=lambda kind: lacks[kind] / len(kind))
    return f"{table.missing(wanted)}: is it {kinds[wanted]}?"


def _kernels(table: Table) -> Profile:
    rows, left_out = [], Counter[str]()
    for line, cells in table.lines:
        kind, micros = table.cell(cells, "type"), table.number(cells, "duration")
        reason = _useless(kind, micros)
        if reason or micros is None:
            left_out[reason] += 1
            continue
        inputs, outputs = (
            tensors_of(*(table.cell(cells, f"{side} {what}") for what in ("shapes", "types", "formats")))
            if table.has(f"{side} shapes")
            else None
            for side in ("input", "output")
        )
        name, core = table.cell(cells, "name"), table.cell(cells, "core").upper()
        rows.append(ProfileRow(line, name, kind, core, micros, inputs=inputs, outputs=outputs))
    return Profile(table.label, _together(rows), left_out)


def _useless(kind: str, micros: float | None) -> str:
    """Why a line says nothing of a cost; "" where it does."""
    if kind.upper() in ("", *NOTHING):
        return NO_TYPE
    return "" if micros is not None and math.isfinite(micros) and micros > 0 else NO_TIME


def _together(rows: Iterable[ProfileRow]) -> tuple[ProfileRow, ...]:
    """One row for what ran often: in several steps, on several devices."""
    groups: dict[tuple[object, ...], list[ProfileRow]] = {}
    for row in rows:
        groups.setdefault((row.name, row.type, row.core, row.inputs, row.outputs), []).append(row)
    return tuple(
        replace(group[0], micros=statistics.median(row.micros for row in group), count=len(group))
        for group in groups.values()
    )


def _statistics(table: Table) -> Profile:
    rows, left_out = [], Counter[str]()
    for line, cells in table.lines:
        kind, micros = table.cell(cells, "type"), table.number(cells, "average")
        count = table.number(cells, "count")
        reason = _useless(kind, micros)
        if reason or micros is None or not count or not math.isfinite(count):
            left_out[reason or NO_TIME] += 1
            continue
        core = table.cell(cells, "core").upper()
        rows.append(ProfileRow(line, kind, kind, core, micros, int(count), total=True))
    return Profile(table.label, tuple(rows), left_out)


def _measurements(table: Table) -> Profile:
    """The measurements of the place that has most of them."""
    places: dict[tuple[str, ...], list[ProfileRow]] = {}
    left_out: Counter[str] = Counter()
    for line, cells in table.lines:
        micros = table.number(cells, "micros")
        if micros is None or not micros > 0:
            left_out["onnxruntime cannot run it alone" if table.cell(cells, "refusal") else NO_TIME] += 1
            continue
        place = tuple(table.cell(cells, part) for part in MEASUREMENTS[:3])
        row = ProfileRow(line, "", "", "", micros, key=table.cell(cells, "key"))
        places.setdefault(place, []).append(row)
    if not places:
        return Profile(table.label, (), left_out)
    chosen = max(places, key=lambda place: len(places[place]))
    others: Sequence[int] = [len(rows) for place, rows in places.items() if place != chosen]
    if others:
        left_out["measured on another machine, or in another setting"] += sum(others)
    return Profile(table.label, tuple(places[chosen]), left_out, (f"measured on {', '.join(chosen)}",))
