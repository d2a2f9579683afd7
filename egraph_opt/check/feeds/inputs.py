"""The inputs on which both sides of a law are run: of each kind (`kinds`) so many sets that every input holds
every value of its table.

All of them get what is around the numbers that the law itself names: a threshold shows beside it only.
Operands that are indices, counts or divisors get what suits those, by operand and not by graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx

from egraph_opt.check import tables
from egraph_opt.check.feeds.kinds import (
    BEYOND_FLOAT32,
    DIVISORS,
    HALF_APART,
    HALF_RANGE,
    INTEGERS,
    RANGE,
    SHARE,
    TABLES,
    Kind,
)
from egraph_opt.check.feeds.points import AROUND, BESIDE, points_of
from egraph_opt.check.feeds.roles import ADDING, DIVIDED, cast_range, compared_with, constants_of, roles_of
from egraph_opt.check.feeds.sizes import symbol_of
from egraph_opt.check.feeds.underflow import adds_nothing, underflowing
from egraph_opt.facts.dtypes import INTEGERS as INTEGER_TYPES

Feeds = dict[str, npt.NDArray[Any]]

MOST_KEPT = 2**9
"""Elements of an input that is kept for the next term."""

MOST_FEEDS = 50
"""Sets of inputs of a kind, where an input has few elements: of a single one this holds every table."""

USUAL, OF_HALVES = 8, 96
"""Elements of inputs that have no table; of halves, of which some sums have to cancel."""

NO_NUMBERS = frozenset({"tiny", "level", "low", "ends", "small values", *TABLES})
"""Kinds of floats that hold none of the numbers that a law or its constants name."""

FEW = 3
"""Elements of an input that are so few that a table is dealt out twice."""

SMALL_BELOW = frozenset("Exp Sigmoid Softplus Elu Celu Selu Gelu Swish Mish Erf Tanh Softmax".split())
"""Functions that are 0 or level far below 0."""

PLACES = frozenset({"ArgMax", "ArgMin", "TopK"})
"""Operators that answer where numbers are."""

UNKNOWN_RANKS = ((3,), (1,), (2, 3), ())
"""Shapes of inputs of any rank, in turns."""

FACTORS = (1, 2, 3, 5, 6, 7, 11, 13, 23, 47, 99, 100)
"""By which a divisor is multiplied."""

EPSILON = float(np.finfo(np.float32).eps)
"""The step of float32 at 1."""

INTEGERS_OR_BOOL = INTEGER_TYPES | {onnx.TensorProto.BOOL}


class Inputs:
    """Makes inputs for a model.

    Args:
        numbers: those that the law or its constants name.
    """

    def __init__(self, model: onnx.ModelProto, numbers: Iterable[float] = ()) -> None:
        roles = roles_of(model)
        self.values = [(v.name, v.type.tensor_type, roles[v.name]) for v in model.graph.input]
        near = {float(n) for n in numbers if np.isfinite(n) and abs(n) < RANGE}
        beside = {s * (n + d) for n in near for s in (1, -1) for d in (0, 1e-3, -1e-3, 0.5, -0.5)}
        self.numbers = tuple(sorted(beside | {0.0}))
        self.range = cast_range(model, adds=not adds_nothing(model))
        self._is_small_below = any(node.op_type in SMALL_BELOW for node in model.graph.node)
        near_divisors = {k * c + d for c in constants_of(model, DIVIDED) for k in FACTORS for d in (0, 1, -1)}
        points = points_of(model)
        self._beside: dict[str, tuple[float, ...]] = {
            "multiples": tuple(sorted(near_divisors)),
            "cancelling": tuple(sorted(constants_of(model, ADDING))),
            "ties": tuple(sorted(next_to for n in compared_with(model) for next_to in _next_to(n))),
            "points": tuple(
                sorted(
                    {p * (1 + s * d) for p in points.turns for d in AROUND for s in (-1, 0, 1)}.union(
                        *map(_floats_around, points.jumps)
                    )
                )
            ),
            "zeros": points.zeros,
        }
        self._usual = USUAL, OF_HALVES if any(map(_is_of_halves, self.values)) else USUAL
        self._underflowing = underflowing(model)
        self._tells_places = any(node.op_type in PLACES for node in model.graph.node)

    def feeds(self, sizes: Mapping[str, int], kind: Kind, *, turn: int | None = None) -> Iterator[Feeds]:
        """Sets of inputs of one kind: as many as hold the whole table in every input, or one in turn."""
        integers = any(role == "value" and _is_whole(tensor) for _, tensor, role in self.values)
        if kind == "ends" and not (integers or self._tells_places):
            return
        if kind == "small values" and not self._is_small_below:
            return
        if not self._beside.get(kind, True) or (kind == "underflow" and not self._underflowing):
            return
        shapes = {name: self._shape(tensor, k, sizes) for k, (name, tensor, _) in enumerate(self.values)}
        if kind == "alike":
            yield from self._alike(shapes)
            return
        elements = {name: math.prod(shape) for name, shape in shapes.items() if 0 not in shape}
        needs = [-(-self._elements(t, kind) // elements[n]) for n, t, _ in self.values if n in elements]
        sets = min(max(needs, default=1), MOST_FEEDS)
        if kind == "zeros":
            sets = len(BESIDE) * len(self._beside[kind])
        if kind == "underflow":
            sets = (1 if min(elements.values(), default=1) > FEW else 2) * len(self._underflowing)
        if kind == "ends":
            sets = 6 if self._tells_places else 4 if len(self.values) > 1 else 2
        if turn is not None and kind != "ends":  # these are few, and no two alike
            turns: Iterable[int] = [turn % sets]
        else:
            turns = range(sets)
        for number in turns:
            yield {
                name: self._tensor(_Place(number, k, shapes[name], kind, tensor.elem_type, role))
                for k, (name, tensor, role) in enumerate(self.values)
            }

    def _elements(self, tensor: Any, kind: Kind) -> int:
        """Of how many elements of an input all that is to be tried in it is there."""
        if kind in TABLES and tensor.elem_type != onnx.TensorProto.BOOL:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            return max(_turn(kind, dtype), len(_every_integer(dtype)) if _is_whole(tensor) else 0)
        return len(self._beside[kind]) if kind in self._beside else self._usual[kind == "normal"]

    def _shape(self, tensor: Any, number: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
        if not tensor.HasField("shape"):
            return UNKNOWN_RANKS[number % len(UNKNOWN_RANKS)]
        return tuple(
            d.dim_value if d.HasField("dim_value") else sizes[symbol_of(d, number, axis)]
            for axis, d in enumerate(tensor.shape.dim)
        )

    def _alike(self, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Feeds]:
        """Inputs of one type and shape that are each other's neighbours, among large numbers; or equal."""
        neighbours: Feeds = {}
        equal: Feeds = {}
        first: dict[object, npt.NDArray[Any]] = {}
        for k, (name, tensor, role) in enumerate(self.values):
            made = self._tensor(_Place(0, k, shapes[name], "wide", tensor.elem_type, role))
            like = (tensor.elem_type, made.shape, role)
            neighbours[name] = _beside(first[like], k) if like in first and made.dtype.kind in "iuf" else made
            equal[name] = first.setdefault(like, made)
        if len(first) < len(equal):
            yield from (neighbours, equal)

    def _tensor(self, place: _Place) -> npt.NDArray[Any]:
        small = math.prod(place.shape) <= MOST_KEPT
        numbers = self._beside.get(place.kind, self.numbers)
        if place.kind == "underflow":
            numbers = self._underflowing[place.number % len(self._underflowing)]
        elif place.kind in NO_NUMBERS and place.elem_type not in INTEGER_TYPES:
            numbers = ()  # of which what is made does not depend: it is there again of other terms
        return (_tensor if small else _tensor.__wrapped__)(place, numbers, self.range)


def _next_to(number: float) -> tuple[float, ...]:
    """A number, and those before and behind it: float32s, and whole ones of a whole number."""
    steps = (np.nextafter(np.float32(number), np.float32(end)) for end in (-np.inf, np.inf))
    whole = (int(number) - 1, int(number) + 1) if number == int(number) else ()
    return (number, *map(float, steps), *whole)


def _floats_around(number: float) -> list[float]:
    """The float32 that is nearest, and some on either side of it."""
    spacing = float(np.spacing(np.float32(number)))
    return [float(np.float32(number)) + k * spacing for k in (-2, -1, 0, 1, 2)]


def _is_of_halves(value: tuple[str, Any, str]) -> bool:
    return bool(value[1].elem_type == onnx.TensorProto.FLOAT16)


def _is_whole(tensor: Any) -> bool:
    """Whether a tensor is one of integers or conditions."""
    return tensor.elem_type in INTEGERS_OR_BOOL


def _beside(array: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
    """Of each element itself, the next number of its type or the one before."""
    turn = np.random.default_rng([k, array.size]).integers(0, 3, array.shape)
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            up, down = (np.nextafter(array, array.dtype.type(end)) for end in (np.inf, -np.inf))
        return np.choose(turn, (array, up, down)).astype(array.dtype)
    info, step = np.iinfo(array.dtype), array.dtype.type(1)
    up = np.where(array < info.max, array + step, array)
    return np.choose(turn, (array, up, array)).astype(array.dtype)


@dataclass(frozen=True)
class _Place:
    """Which tensor of the table: of which set of inputs, and for which input of a model."""

    number: int
    k: int
    shape: tuple[int, ...]
    kind: Kind
    elem_type: int
    role: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        return onnx.helper.tensor_dtype_to_np_dtype(self.elem_type)


@lru_cache(maxsize=1 << 14)
def _tensor(place: _Place, numbers: tuple[float, ...], within: tuple[float, float]) -> npt.NDArray[Any]:
    """Terms of a law have inputs of the same shapes again and again: what depends on nothing else is kept."""
    rng, dtype = np.random.default_rng([place.number, place.k]), place.dtype
    with np.errstate(all="ignore"):
        if dtype == np.bool_:
            all_alike = np.full(place.size, (1 - place.number) % 2)
            found: Any = all_alike if place.kind == "ends" else rng.integers(0, 2, place.size)
        elif np.issubdtype(dtype, np.integer):
            found = _integers(rng, place, numbers)
        else:
            found = _within(_floats(rng, place, np.array(numbers)), dtype, within)
        made: npt.NDArray[Any] = np.asarray(found).reshape(place.shape).astype(dtype)
    made.flags.writeable = False
    return made


def _integers(rng: np.random.Generator, place: _Place, numbers: tuple[float, ...]) -> Any:
    info, size, kind = np.iinfo(place.dtype), place.size, place.kind
    if place.role == "index":
        return rng.choice((-1, 0, 0, 1) if kind == "wide" and info.min < 0 else (0, 1), size)
    if place.role == "view":
        if place.number % 3 == 2:
            return np.zeros(size, np.int64)  # of what has no elements, whatever its dims are
        view = rng.choice(tables.VIEWS, size)
        view[rng.integers(0, max(size, 1)) :][:1] = -1
        return view
    if place.role == "shift":
        return rng.choice((0, 1, 2, 3, info.bits - 1, info.bits, info.max - 1, info.max), size)
    if place.role == "count":
        return rng.choice(tables.COUNTS, size)
    if place.role == "divisor":
        table: Iterable[int] = DIVISORS
    elif kind == "ends":
        return _at_ends(place)
    elif kind in ("multiples", "ties"):
        table = [int(n) for n in numbers if n == int(n)]
    elif kind in (
        "cancelling",
        "points",
        "zeros",
        "underflow",
        "normal",
        "tiny",
        "level",
        "low",
        "small values",
    ):
        near = [int(n) for n in numbers if n == int(n)]
        table = [*range(-5, 6), *near, *(n + step for n in near for step in (-1, 1, n, 2 * n))]
    elif kind == "wide":
        bits = rng.integers(0, info.bits, size).astype(np.uint64)
        signs = rng.choice((-1, 1) if info.min < 0 else (1,), size).astype(place.dtype)
        return signs * (((np.uint64(1) << bits) + bits) & np.uint64(info.max)).astype(place.dtype)
    else:
        return _dealt(rng, place, _every_integer(place.dtype))
    fits = [n for n in table if info.min <= n <= info.max] or range(6)  # multiples of fractions, say
    return _dealt(rng, place, np.array(fits, dtype=place.dtype))


def _every_integer(dtype: Any) -> npt.NDArray[Any]:
    """Of a type all of the table and both its ends."""
    info = np.iinfo(dtype)
    whole = dict.fromkeys((*INTEGERS, int(info.min), int(info.max)))
    return np.array([n for n in whole if info.min <= n <= info.max], dtype=dtype)


def _at_ends(place: _Place) -> Any:
    """All of them the greatest, or the least, in all inputs or in every other one; then in order numbers one
    apart that floats cannot tell."""
    info = np.iinfo(place.dtype)
    if place.number < 4:
        turned = place.number % 2 != (place.k % 2 if place.number > 1 else 0)
        return np.full(place.size, info.min if turned else info.max, place.dtype)
    order = (np.arange(place.size) % (info.max // 4)).astype(place.dtype)
    beyond = order + place.dtype.type(info.max // 2)
    return beyond[:: 1 if place.number % 2 == 0 else -1]


def _within(values: Any, dtype: Any, within: tuple[float, float]) -> Any:
    """Numbers that may be cast as the model does."""
    low, high = within
    if low == -np.inf and high == np.inf:
        return values
    values = np.abs(values) if low == 0 else values
    high = min(high, float(ml_dtypes.finfo(dtype).max))  # type: ignore[no-untyped-call]
    return np.where((values >= max(low, -high)) & (values <= high), values, 0.5)


def _floats(rng: np.random.Generator, place: _Place, numbers: npt.NDArray[Any]) -> Any:
    half, size, kind = place.dtype == np.float16, place.size, place.kind
    values = rng.standard_normal(size)
    if kind == "level":
        rows = place.shape[0] if place.shape else 1
        return np.repeat(4 * rng.standard_normal(rows), size // max(rows, 1))
    if kind in ("multiples", "ties", "points", "underflow"):
        return _dealt(rng, place, numbers)
    if kind == "zeros":
        zero, apart = numbers[place.number // len(BESIDE)], BESIDE[place.number % len(BESIDE)]
        return zero * (1 + apart * rng.choice((-1, -0.5, 0.5, 1), size))
    if kind == "cancelling":
        return rng.choice(-numbers) + 1e-2 * values
    if kind == "tiny":
        return values * (1e-3 if half else 1e-9)
    if kind == "ends":
        order = np.arange(size)[:: -1 if place.number % 2 else 1]
        # No finer than float32's: what float64 rounds, no wider type tells apart.
        step = max(float(ml_dtypes.finfo(place.dtype).eps), EPSILON)  # type: ignore[no-untyped-call]
        return order / max(size, 1) if place.number < 2 else 2 - (order + 1) * step
    if kind == "low":
        return -2.5 - np.abs(values)
    if kind == "small values":
        return rng.uniform(-16 if half else -30, -6 if half else -12, size)
    if kind == "normal":
        near = rng.choice(numbers[np.abs(numbers) <= 50], size)
        return np.where(rng.random(size) < 0.2, near, values)
    if kind == "wide":
        near = rng.choice(numbers[np.abs(numbers) <= HALF_APART] if half else numbers, size)
        spread = np.exp(rng.uniform(np.log(1e-3), np.log(50 if half else 1e4), size))
        return np.where(rng.random(size) < 0.4, near, spread * np.sign(values))
    table = _odd_floats(kind, place.dtype)
    from_table = _dealt(rng, place, np.arange(_turn(kind, place.dtype)))
    values = np.where(from_table < len(table), table[np.minimum(from_table, len(table) - 1)], values)
    if kind == "moderate" and half:
        return np.clip(values, -4, 4)  # Exp(-20) is 0 there
    return np.clip(values, -HALF_RANGE, HALF_RANGE) if kind == "large" and half else values


def _odd_floats(kind: Kind, dtype: Any) -> npt.NDArray[np.float64]:
    more = BEYOND_FLOAT32.get(kind, ()) if dtype == np.float64 else ()
    return np.array((*more, *TABLES[kind]))


def _turn(kind: Kind, dtype: Any) -> int:
    """Of how many elements each of the table is one, and the others are ordinary."""
    return math.ceil(len(_odd_floats(kind, dtype)) / SHARE[kind])


def _dealt(rng: np.random.Generator, place: _Place, table: npt.NDArray[Any]) -> Any:
    """Elements of a table one after the other, so that all are there in the end, shuffled.

    Every input has an order of its own.
    """
    order = np.random.default_rng([place.k, len(table)]).permutation(len(table))
    first = place.number * place.size
    return rng.permutation(table[order][np.arange(first, first + place.size) % len(table)])
