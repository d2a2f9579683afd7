"""Random inputs in ranges that make sense for their types."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto

from egraph_opt.facts.assumption import Assumption, assumptions_of
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import MOST_DIMS
from egraph_opt.verification.interface import ValueSpec, interface
from egraph_opt.verification.sizes import MAX_ELEMENTS, candidates, shape_of

Distribution = Literal["normal", "uniform", "ones", "smooth", "large"]
Integers = tuple[int, int]
Value = Any

INTEGERS: Integers = (0, 7)
"""Integer inputs are small and not negative unless told otherwise: most are indices."""
WORDS = ("", "a", "b", "onnx", "Graph", "x y", "0", "1.5", "-3", "été", "long words as well")
BYTES = frozenset({TensorProto.INT8, TensorProto.UINT8})
SEQUENCE_LENGTH = 3

BLOCK = 2**22 - 3
"""Of inputs with more than `MAX_ELEMENTS` so many are drawn, and repeated: a prime, so that no two rows or
channels are alike."""


class UnsupportedInputError(Exception):
    """No value can be made up for an input of this type; the message names the input and its type."""


def random_inputs(
    model: onnx.ModelProto | Sequence[ValueSpec],
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    distribution: Distribution = "normal",
    integers: Integers | Mapping[str, Integers] = INTEGERS,
    assume: Mapping[str, Any] | None = None,
    rank: int = 1,
    absent: Collection[str] = (),
) -> dict[str, Value]:
    """One value for every input that a caller has to give.

    The value of an input depends on its name, the seed, its type and its shape only, so that two models with
    equal inputs get equal values.

    Args:
        model: a model, or the specifications of inputs (`interface(model).required`).
        seed: another seed, other values.
        sizes: numbers for symbolic dims, by name (``<input>.<axis>`` for a dim without a name); those left
            out get 2 if they lead an input, else 32 or a multiple of it.
        distribution: of floats: "normal" (mean 0, variance 1), "uniform" ([0, 1)), "ones", "smooth" (waves,
            as in images and sound) or "large" (normal, times 20).
        integers: least and largest value of integer inputs, for all or by name; 8-bit integers take their
            whole range unless they are named.
        assume: what inputs stay within, by name, see `optimize`; floats are uniform in it.
        rank: of inputs whose rank is not declared.
        absent: optional inputs to leave empty.

    Returns:
        Arrays by name; lists of arrays for sequences, None for what is absent.

    Raises:
        UnsupportedInputError: an input is a map, a sparse tensor, a sequence of sequences, or of a dtype that
            NumPy and ONNX Runtime do not exchange.
    """
    specs = interface(model).required if isinstance(model, onnx.ModelProto) else tuple(model)
    filled = {**next(candidates(specs), {}), **(sizes or {})}
    assumed = assumptions_of(assume)
    values: dict[str, Value] = {}
    for spec in specs:
        if spec.optional and spec.name in absent:
            values[spec.name] = None
            continue
        shape = shape_of(spec, filled, rank)
        if len(shape) > MOST_DIMS:
            raise UnsupportedInputError(
                f"input {spec.name!r}: no values are made up for {len(shape)} dims, more than {MOST_DIMS}"
            )
        bounds = assumed.get(spec.name)
        own = integers.get(spec.name, INTEGERS) if isinstance(integers, Mapping) else integers
        if spec.dtype in BYTES and not (isinstance(integers, Mapping) and spec.name in integers):
            own = _whole_range(spec.dtype)
        generator = np.random.default_rng([seed, number_of(spec.name)])
        if spec.kind == "tensor":
            values[spec.name] = random_tensor(
                generator, spec, shape, distribution=distribution, integers=own, bounds=bounds
            )
        elif spec.kind == "sequence":
            values[spec.name] = [
                random_tensor(generator, spec, shape, distribution=distribution, integers=own, bounds=bounds)
                for _ in range(SEQUENCE_LENGTH)
            ]
        else:
            raise UnsupportedInputError(f"input {spec.name!r}: no values are made up for {spec.type}")
    return values


class LastDrawn:
    """Random inputs; the last ones are kept, as a plan often ends with those that are compared first."""

    def __init__(self, specs: Sequence[ValueSpec]) -> None:
        self._specs = specs
        self._asked: Mapping[str, Any] | None = None
        self._values: dict[str, Value] = {}

    def __call__(self, **asked: Any) -> dict[str, Value]:
        """As `random_inputs` of these inputs."""
        asked.setdefault("absent", ())
        if asked != self._asked:
            self._asked, self._values = None, {}  # not to have both in memory
            self._values = random_inputs(self._specs, **asked)
            self._asked = asked
        return dict(self._values)


def random_tensor(
    generator: np.random.Generator,
    spec: ValueSpec,
    shape: Sequence[int],
    *,
    distribution: Distribution = "normal",
    integers: Integers = INTEGERS,
    bounds: Assumption | None = None,
) -> np.ndarray[Any, np.dtype[Any]]:
    """One tensor of a specification's dtype; see `random_inputs` for the arguments."""
    if math.prod(shape) > MAX_ELEMENTS and distribution != "smooth":
        named: Any = {"distribution": distribution, "integers": integers, "bounds": bounds}
        return np.resize(random_tensor(generator, spec, (BLOCK,), **named), tuple(shape))
    if spec.dtype == TensorProto.STRING:
        words = np.array(WORDS, dtype=object)
        drawn = words[generator.integers(0, len(WORDS), tuple(shape))]
        return np.asarray(drawn, dtype=object).reshape(shape)
    if spec.dtype == TensorProto.BOOL:
        low, high = (int(bool(bounds[0])), int(bool(bounds[1]))) if bounds else (0, 1)
        return generator.integers(low, high, tuple(shape), endpoint=True).astype(np.bool_).reshape(shape)
    if spec.dtype in ALL_FLOATS:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(spec.dtype))
        return np.asarray(_floats(generator, shape, distribution, bounds)).astype(dtype).reshape(shape)
    if spec.dtype in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(spec.dtype))
        parts = [np.asarray(_floats(generator, shape, distribution, bounds)) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype).reshape(shape)
    if spec.dtype in _INTEGER_TYPES:
        integer = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(spec.dtype))
        limits = np.iinfo(integer)
        low, high = (int(bounds[0]), int(bounds[1])) if bounds else integers
        low, high = max(low, int(limits.min)), min(high, int(limits.max))
        drawn = generator.integers(low, max(low, high), tuple(shape), endpoint=True, dtype=integer.type)
        return np.asarray(drawn, dtype=integer).reshape(shape)
    raise UnsupportedInputError(f"input {spec.name!r}: no values are made up for {spec.type}")


_INTEGER_TYPES = frozenset(
    {
        TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
        TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64,
    }
)  # fmt: skip


def is_integer(spec: ValueSpec) -> bool:
    """Whether values of this input are drawn from a range of integers."""
    return spec.dtype in _INTEGER_TYPES


def _floats(
    generator: np.random.Generator,
    shape: Sequence[int],
    distribution: Distribution,
    bounds: Assumption | None,
) -> Any:
    if bounds is not None:
        return generator.uniform(bounds[0], bounds[1], tuple(shape))
    match distribution:
        case "normal":
            return generator.standard_normal(tuple(shape))
        case "uniform":
            return generator.random(tuple(shape))
        case "ones":
            return np.ones(tuple(shape))
        case "large":
            return 20 * generator.standard_normal(tuple(shape))
        case "smooth":
            return _waves(generator, shape)


def _waves(generator: np.random.Generator, shape: Sequence[int]) -> Any:
    """A product of one wave along each axis, of a few periods and any phase, with a little noise."""
    waves: Any = 0.05 * generator.standard_normal(tuple(shape))
    product: Any = 1.0
    for axis, length in enumerate(shape):
        if length > 1:
            phase = 2 * np.pi * (generator.uniform(0.5, 4) * np.arange(length) / length + generator.random())
            along = [1] * len(shape)
            along[axis] = length
            product = product * np.cos(phase).reshape(along)
    return waves + product


def _whole_range(dtype: int) -> Integers:
    return (0, 255) if dtype == TensorProto.UINT8 else (-128, 127)


def number_of(name: str) -> int:
    """A number that depends on the text alone (`hash` differs between processes)."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
