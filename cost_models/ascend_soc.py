"""The parameters of an Ascend chip: a typed view of ``ascend.toml`` and the chip's own ``.toml`` file.

Units, confidence and sources of all numbers stand in those files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

import onnx

from egraph_opt.errors import UnknownCostModelError

_PACKAGE = "egraph_opt.cost_models"
_PREFIX = "ascend"

Rule = tuple[frozenset[str], frozenset[int]]
"""Operators (or ``*``) and data types (empty: all) that run on the AI CPU together."""


@dataclass(frozen=True)
class Soc:
    """One chip; ``*_us`` are microseconds, ``*_gbs`` 1e9 bytes a second, ``*_bytes`` bytes."""

    cores: int
    vector_cores: int
    clock_ghz: float
    memory_gbs: float
    l2_bytes: int
    l1_bytes: int
    matmul_nd: str
    fixed_vector_us: float
    fixed_cube_us: float
    fixed_transdata_us: float
    fixed_transpose_us: float
    fixed_aicpu_us: float
    fixed_control_us: float
    view_us: float
    fused_share: float
    fused_stages: int
    fused_operators: frozenset[str]
    memory_efficiency: float
    l2_speedup: float
    l2_share: float
    transdata_efficiency: float
    transpose_efficiency: float
    block_move_efficiency: float
    float_bytes: int
    block_bytes: int
    cube_side: int
    cube_efficiency: float
    conv_kernel: int
    conv_stride: int
    conv_pad: int
    conv_dilation: int
    row_width: int
    wide_row_cap: float
    slow_conv_factor: float
    pool_kernel: int
    pool_window: int
    pool_stride: int
    pool_efficiency: float
    aicpu_gops: float
    vector_cycles: Mapping[str, float]
    vector_steps: Mapping[str, tuple[str, ...]]
    aicpu_rules: tuple[Rule, ...]


def socs() -> tuple[str, ...]:
    """Names of the known chips, sorted, such as ``310p3``."""
    stems = (entry.name.removesuffix(".toml") for entry in files(_PACKAGE).iterdir() if ".toml" in entry.name)
    return tuple(sorted(stem.removeprefix(_PREFIX) for stem in stems if stem != _PREFIX))


@lru_cache(maxsize=64)
def load(name: str) -> Soc:
    """The parameters of a chip, named as in ``310p3`` or ``Ascend310P3``.

    Raises:
        UnknownCostModelError: there is no such chip.
    """
    known = socs()
    short = name.lower().removeprefix(_PREFIX)
    if short not in known:
        raise UnknownCostModelError(f"{_PREFIX}:{name}", [f"{_PREFIX}:{soc}" for soc in known])
    table = {**_read(_PREFIX), **_read(_PREFIX + short)}
    values: dict[str, object] = {key: entry["value"] for key, entry in table.items() if key != "aicpu_rules"}
    values["vector_steps"] = {op: tuple(steps) for op, steps in table["vector_steps"]["value"].items()}
    values["fused_operators"] = frozenset(table["fused_operators"]["value"])
    values["aicpu_rules"] = tuple(_rule(entry) for entry in table["aicpu_rules"])
    return Soc(**values)  # type: ignore[arg-type]  # names are checked by the call, values by the tests


def parameters() -> tuple[str, ...]:
    """Names of all parameters of a chip."""
    return tuple(field.name for field in fields(Soc))


def _read(stem: str) -> dict[str, Any]:
    return tomllib.loads((files(_PACKAGE) / f"{stem}.toml").read_text(encoding="utf-8"))


def _rule(entry: Mapping[str, object]) -> Rule:
    ops, dtypes = entry["ops"], entry["dtypes"]
    assert isinstance(ops, list)
    assert isinstance(dtypes, list)
    numbers = () if "*" in dtypes else (onnx.TensorProto.DataType.Value(d.upper()) for d in dtypes)
    return frozenset(ops), frozenset(numbers)
