"""The parameters of an Ascend chip: a typed view of ``ascend.toml`` and the chip's own ``.toml`` file.

Units, ranges, confidence and sources of all of them stand in those files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import product
from types import MappingProxyType
from typing import Any

import onnx

from egraph_opt.cost.domains import Names
from egraph_opt.cost.parameter_files import SUFFIX, TomlFile, overrides_in, read_declarations
from egraph_opt.cost.parameters import Parameter, overrides_of, resolved
from egraph_opt.cost_models.ascend_compiler import PASSES
from egraph_opt.errors import UnknownCostModelError
from egraph_opt.forking import cached_property

_PACKAGE = "egraph_opt.cost_models"
_PREFIX = "ascend"

EVERY = "*"
"""Chips of every family."""

Rule = tuple[frozenset[str], frozenset[int]]
"""Operators (or ``*``) and data types (empty: all) that run on the AI CPU together."""

Types = Mapping[str, frozenset[int]]
"""Data types that the AI cores take, by operator."""

SUMS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
"""Reductions that are a ReduceSum of something: without a list of their own they take what it takes."""

Casts = frozenset[tuple[int, int]]
"""Pairs of data types that the AI cores cast from and to."""


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
    dispatch: str
    host_us: float
    host_wait_us: float
    dynamic_factor: float
    loop_iterations: int
    branch_price: str
    then_probability: float
    view_us: float
    fused_stages: int
    fused_operators: frozenset[str]
    vector_stages: int
    composite_operators: tuple[Mapping[str, Any], ...]
    compiler_passes: tuple[Mapping[str, Any], ...]
    memory_efficiency: float
    l2_speedup: float
    l2_share: float
    buffer_optimize: str
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
    kernel_types: frozenset[int]
    conv_transpose_factor: float
    scalar_cycles: Mapping[str, float]
    scatter_cores: int
    vector_cycles: Mapping[str, float]
    op_select_implmode: str
    precise_steps: frozenset[str]
    vector_steps: Mapping[str, tuple[str, ...]]
    family: str
    aicore_types: tuple[Mapping[str, Any], ...]
    aicore_casts: tuple[Mapping[str, Any], ...]
    aicpu_rules: tuple[Rule, ...]

    @cached_property
    def types(self) -> Types:
        """What its AI cores take, of operators that have a list: that of its family, or the one for all."""
        found: dict[str, frozenset[int]] = {}
        for chips in (EVERY, self.family):
            for entry in self.aicore_types:
                if chips in entry["chips"]:
                    found |= dict.fromkeys(entry["ops"], _numbers(entry["dtypes"]))
        sums = dict.fromkeys(SUMS, found["ReduceSum"]) if "ReduceSum" in found else {}
        return {**sums, **found}

    @cached_property
    def composites(self) -> frozenset[str]:
        """Operators that its compiler finds in those that spell them."""
        return frozenset(
            op for entry in self.composite_operators if self._is_named(entry) for op in entry["ops"]
        )

    @cached_property
    def passes(self) -> tuple[str, ...]:
        """What its compiler does by itself: names of `ascend_compiler.PASSES`, each once."""
        found = (name for entry in self.compiler_passes if self._is_named(entry) for name in entry["passes"])
        return tuple(dict.fromkeys(found))

    @cached_property
    def has_types(self) -> bool:
        """Whether a list of types names its family."""
        return any(self.family in entry["chips"] for entry in self.aicore_types)

    def _is_named(self, entry: Mapping[str, Any]) -> bool:
        """Whether a record speaks of the chip."""
        return not {EVERY, self.family}.isdisjoint(entry["chips"])

    @cached_property
    def casts(self) -> Casts:
        """Casts on its AI cores: those of its family, and those of all."""
        return frozenset(
            pair
            for entry in self.aicore_casts
            if self._is_named(entry)
            for pair in product(_numbers(entry["from"]), _numbers(entry["to"]))
        )


def socs() -> tuple[str, ...]:
    """Names of the known chips, sorted, such as ``310p3``."""
    stems = (entry.name.removesuffix(SUFFIX) for entry in files(_PACKAGE).iterdir() if SUFFIX in entry.name)
    return tuple(sorted(stem.removeprefix(_PREFIX) for stem in stems if stem != _PREFIX))


@lru_cache(maxsize=64)
def declared(name: str) -> Mapping[str, Parameter]:
    """The parameters of a chip, named as in ``310p3`` or ``Ascend310P3``.

    Raises:
        UnknownCostModelError: there is no such chip.
    """
    known = socs()
    short = str(name).lower().removeprefix(_PREFIX)
    if short not in known:
        raise UnknownCostModelError(f"{_PREFIX}:{name}", [f"{_PREFIX}:{soc}" for soc in known])
    own = _file(_PREFIX + short)
    return {**shared(), **resolved(shared(), overrides_in(own, own.table(), shared()), _PREFIX)}


@lru_cache(maxsize=1)
def shared() -> Mapping[str, Parameter]:
    """The parameters of all chips; those that each chip has a value of its own for have none."""
    return read_declarations(_file(_PREFIX), _names())


def load_soc(name: str, overrides: Mapping[str, object] = MappingProxyType({})) -> Soc:
    """A chip, with other values of some parameters.

    Raises:
        UnknownCostModelError: there is no such chip.
        UnknownParameterError, ParameterError: no such parameter, or a value that it cannot have.
    """
    chip = declared(name)
    values = {**chip, **resolved(chip, overrides_of(overrides), _PREFIX)}
    return Soc(**{key: _FORMS.get(key, _same)(entry.value) for key, entry in values.items()})


def _file(stem: str) -> TomlFile:
    name = stem + SUFFIX
    return TomlFile(name, (files(_PACKAGE) / name).read_text(encoding="utf-8"))


def _names() -> dict[str, Names]:
    """The names that ``ascend.toml`` speaks of: ONNX operators and data types."""
    operators = tuple(sorted({schema.name for schema in onnx.defs.get_all_schemas()}))
    types = tuple(sorted(name.lower() for name, _ in onnx.TensorProto.DataType.items()))
    return {
        "operators": Names("ONNX operators", operators),
        "operators or *": Names("ONNX operators, or *", ("*", *operators)),
        "families": Names("families of chips, or *", (EVERY, "310b", "310p", "910a", "910b")),
        "passes": Names("passes of the compiler", tuple(PASSES)),
        "types": Names("ONNX data types", types),
        "types or *": Names("ONNX data types, or *", ("*", *types)),
    }


def _rules(entries: Iterable[Mapping[str, Iterable[str]]]) -> tuple[Rule, ...]:
    return tuple(_rule(frozenset(entry["ops"]), frozenset(entry["dtypes"])) for entry in entries)


def _rule(ops: frozenset[str], dtypes: frozenset[str]) -> Rule:
    return ops, frozenset() if "*" in dtypes else _numbers(dtypes)


def _numbers(names: Iterable[str]) -> frozenset[int]:
    """Data types as numbers."""
    return frozenset(onnx.TensorProto.DataType.Value(name.upper()) for name in names)


def _same(value: Any) -> Any:
    return value


_FORMS: dict[str, Callable[[Any], Any]] = {
    "fused_operators": frozenset,
    "kernel_types": _numbers,
    "precise_steps": frozenset,
    "aicpu_rules": _rules,
}
"""What `Soc` keeps in another form than TOML has it in."""
