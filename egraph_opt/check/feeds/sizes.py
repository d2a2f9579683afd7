"""What the symbolic dims of a term stand for when it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import onnx
from onnx import numpy_helper

from egraph_opt.laws.examples import SIZES

ANY = "D"
"""The symbol D4 stands for a dim that the example as written has as 4."""

USUAL_DIMS, MOST_SLICED = 24, 20_000
"""Ends of slices that symbols are made to go beyond."""

MOST_BESIDE = 2
"""Numbers among dims that all symbols are as well."""


UNNAMED = "?"
"""A dim without a name, as of the first axis of the second input, is called ?1.0: it equals no other one."""

PATTERNS: tuple[Callable[[int, int], int], ...] = (
    lambda place, axis: 2,
    lambda place, axis: 2 + axis,
    lambda place, axis: 2 + (place + axis) % 2,
    lambda place, axis: 3 + place if axis == 0 else 3,
    lambda place, axis: 3 + place if axis == 1 else 3,
    lambda place, axis: 3 + place if axis > 1 else 3,
    lambda place, axis: 1 if place else 3,
    lambda place, axis: 3 if place else 1,
)
"""What dims without names are, by the place of the input and the axis: alike, as others, and unlike all."""


def symbols(model: onnx.ModelProto) -> frozenset[str]:
    """The names of the dims of a model's inputs that are no numbers."""
    found = (
        symbol_of(d, place, axis)
        for place, value in enumerate(model.graph.input)
        for axis, d in enumerate(value.type.tensor_type.shape.dim)
        if not d.HasField("dim_value")
    )
    return frozenset(found)


def symbol_of(dim: onnx.TensorShapeProto.Dimension, place: int, axis: int) -> str:
    return dim.dim_param or f"{UNNAMED}{place}.{axis}"


def ends_of_slices(model: onnx.ModelProto) -> set[int]:
    """Where slices end, as far as these are constants and no axis of a tensor that is tried anyhow."""
    ends = {node.input[2] for node in model.graph.node if node.op_type == "Slice" and len(node.input) > 2}
    found = (numpy_helper.to_array(t).ravel().tolist() for t in model.graph.initializer if t.name in ends)
    return {int(end) for several in found for end in several if USUAL_DIMS <= end < MOST_SLICED}


def numbers_of_dims(model: onnx.ModelProto) -> set[int]:
    """The dims of a model's inputs that are numbers."""
    dims = (d for value in model.graph.input for d in value.type.tensor_type.shape.dim)
    return {d.dim_value for d in dims if d.HasField("dim_value")}


def sizes_of(
    names: frozenset[str], numbers: Iterable[int] = (), ends: Iterable[int] = ()
) -> Iterator[dict[str, int]]:
    """What symbolic dims are to stand for.

    Some choices that suit every example, numbers that are dims as well, what is beyond the ends of slices,
    each of them 0, and all of them 0.
    """
    unnamed = sorted(name for name in names if name.startswith(UNNAMED))
    for k, sizes in enumerate(SIZES if names else SIZES[:1]):
        yield sizes | _sized(names, k) | _patterned(unnamed, PATTERNS[k])
    for pattern in PATTERNS[len(SIZES) :] if unnamed else ():
        yield SIZES[1] | _sized(names, 0) | _patterned(unnamed, pattern)
    first = SIZES[1] | _sized(names, 0) | _patterned(unnamed, PATTERNS[0])
    for size in sorted({*numbers} & {*range(2, 25)})[: MOST_BESIDE if names else 0]:
        yield first | dict.fromkeys(names, size)
    if names and ends:
        yield first | dict.fromkeys(names, max(ends) + 2)
    for name in sorted(names):
        yield first | {name: 0}
    if len(names) > 1:
        yield first | dict.fromkeys(names, 0)


def _sized(names: Iterable[str], k: int) -> dict[str, int]:
    return {name: int(name[1:]) + 2 * k for name in names if name[0] == ANY and name[1:].isdigit()}


def _patterned(unnamed: Iterable[str], pattern: Callable[[int, int], int]) -> dict[str, int]:
    places = {name: name[1:].split(".") for name in unnamed}
    return {name: pattern(int(place), int(axis)) for name, (place, axis) in places.items()}


def most_elements(model: onnx.ModelProto, sizes: Mapping[str, int]) -> int:
    """Of the largest input or output at these sizes; dims that are not known count as the largest size."""
    shapes = [v.type.tensor_type.shape.dim for v in (*model.graph.input, *model.graph.output)]
    dims = [[d.dim_value if d.HasField("dim_value") else sizes.get(d.dim_param) for d in s] for s in shapes]
    other = max(sizes.values(), default=1)
    return max((math.prod(other if d is None else d for d in shape) for shape in dims), default=0)
