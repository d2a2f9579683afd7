"""Several sizes of a model's inputs, each with a weight: for what runs now with one image, now with four.

A choice is priced at the mean of what it costs at each of them, and timed at each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.repricing import key_of
from egraph_opt.errors import InputShapeError, hint_of
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.inference.graph import names_of_dims
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.original import OriginalNode, original_cost
from egraph_opt.pipeline.region import Region

SizesLike = Mapping[str, str] | Sequence[Mapping[str, int] | tuple[Mapping[str, int], float]]
"""By the name of an input its sizes, as `parse_sizes` reads them; or sizes by dim, perhaps with a weight."""


@dataclass(frozen=True)
class SizePoint:
    """Sizes at which a graph is priced.

    Attributes:
        points: a number per symbol, see `default_points`.
        weight: its share of all that is run.
        said: those of the dims that the user named.
    """

    points: Mapping[str, int]
    weight: float
    said: Mapping[str, int]


def parse_sizes(text: str) -> list[tuple[tuple[int, ...], float]]:
    """Sizes of an input's symbolic dims in their order, and the weight of each.

    >>> parse_sizes("1x320,4x640@3")
    [((1, 320), 1.0), ((4, 640), 3.0)]

    Raises:
        InputShapeError: it is of no such form.
    """
    found = []
    for part in text.split(","):
        sizes, at, weight = part.strip().partition("@")
        try:
            numbers, share = tuple(int(size) for size in sizes.split("x")), float(weight) if at else 1.0
        except ValueError:
            numbers, share = (), 0.0
        if not numbers or min(numbers) < 1 or not 0 < share < math.inf:
            raise InputShapeError(
                f"{text!r} says no sizes: write 1x320,4x640 for two sizes of two dims each, 1 or more,"
                " and 4x640@3 for one that counts three times"
            )
        found.append((numbers, share))
    return found


def check_sizes(sizes: SizesLike | None) -> None:
    """Raises InputShapeError for what says no sizes of any model."""
    if sizes is None or (isinstance(sizes, Sequence) and not isinstance(sizes, str)):
        return
    if not isinstance(sizes, Mapping) or not all(isinstance(text, str) for text in sizes.values()):
        raise InputShapeError(f"sizes: {sizes!r} says none: write {{'images': '1x320,4x640'}}, by inputs")
    for text in sizes.values():
        parse_sizes(text)


def sizes_said(loaded: LoadedModel, sizes: SizesLike | None) -> list[tuple[dict[str, int], float]]:
    """Sizes by dim with their weights, which add up to 1; none where nothing is said.

    Raises:
        InputShapeError: no such input or dim, another number of dims, or of sizes of two inputs.
    """
    if not sizes:
        return []
    dims = {value.name or "": _symbols(value) for value in loaded.model.graph.inputs}
    if isinstance(sizes, Mapping):
        found = _of_inputs(loaded.source, dims, sizes)
    else:
        found = [_with_weight(loaded.source, entry) for entry in sizes]
    known = {name for names in dims.values() for name in names}
    for point, _ in found:
        for name in point:
            if name not in known:
                has, hint = ", ".join(sorted(known)) or "none", hint_of(name, sorted(known))
                raise InputShapeError(
                    f"{loaded.source}: sizes: no input has a dim {name!r}{hint} (symbolic dims: {has})"
                )
    whole = math.fsum(weight for _, weight in found)
    return [(point, weight / whole) for point, weight in found]


def _symbols(value: Any) -> list[str]:
    return list(dict.fromkeys(name for name in names_of_dims(value) if name))


def _of_inputs(
    source: str, dims: Mapping[str, Sequence[str]], sizes: Mapping[str, str]
) -> list[tuple[dict[str, int], float]]:
    found: list[tuple[dict[str, int], float]] = []
    for name, text in sizes.items():
        only = next(iter(dims)) if not name and len(dims) == 1 else name
        if only not in dims:
            has = ", ".join(dims) or "none"
            raise InputShapeError(
                f"{source}: sizes: no input is named {name!r}{hint_of(name, list(dims))} (inputs: {has})"
            )
        parsed = parse_sizes(text)
        for numbers, _ in parsed:
            if len(numbers) != len(dims[only]):
                has = ", ".join(dims[only]) or "none"
                raise InputShapeError(
                    f"{source}: sizes: input {only!r} has {len(dims[only])} symbolic dims ({has}),"
                    f" not {len(numbers)}"
                )
        found = found or [({}, weight) for _, weight in parsed]
        if len(found) != len(parsed):
            raise InputShapeError(f"{source}: sizes: {len(found)} of one input and {len(parsed)} of {only!r}")
        for (point, weight), (numbers, other) in zip(found, parsed, strict=True):
            for dim, number in zip(dims[only], numbers, strict=True):
                if point.setdefault(dim, number) != number or other not in (weight, 1.0):
                    raise InputShapeError(f"{source}: sizes: two inputs say something else of one size")
    return found


def _with_weight(source: str, entry: Any) -> tuple[dict[str, int], float]:
    point, weight = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, 1.0)
    is_weight = isinstance(weight, (int, float)) and 0 < weight < math.inf
    if not isinstance(point, Mapping) or not is_weight or not all(map(_is_size, point.values())):
        raise InputShapeError(
            f"{source}: sizes: {entry!r} says no sizes: write {{'batch': 4}}, or ({{'batch': 4}}, 3.0)"
        )
    return dict(point), float(weight)


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1


def size_points(
    loaded: LoadedModel,
    sizes: SizesLike | None,
    ranges: Assumptions,
    points_at: Callable[[Mapping[str, int]], Mapping[str, int]],
) -> list[SizePoint]:
    """The sizes at which graphs are priced; one where nothing is said.

    Args:
        ranges: what is assumed.
        points_at: a number per symbol, where the user wants some of them.

    Raises:
        InputShapeError: what is said makes no sense, see `sizes_said`; or the model does not run there.
    """
    found = []
    for said, weight in sizes_said(loaded, sizes) or [({}, 1.0)]:
        check_assumed(ranges, said, loaded.source)
        points = points_at(said)
        check_runs(points, said, loaded.source)
        found.append(SizePoint(points, weight, said))
    return found


def check_assumed(ranges: Assumptions, said: Mapping[str, int], source: str) -> None:
    """Raises InputShapeError where a size is none that was assumed."""
    for name, size in said.items():
        if name in ranges and ranges[name].nearest(size) != size:
            low, high, step = ranges[name]
            what = f"{low:g} to {high:g}" + (f", a multiple of {step}" if step > 1 else "")
            raise InputShapeError(f"{source}: sizes: {name!r} is assumed to be {what}, not {size}")


def check_runs(points: Mapping[str, int], said: Mapping[str, int], source: str) -> None:
    """Raises InputShapeError where a model runs at other sizes than those."""
    if any(points.get(name, size) != size for name, size in said.items()):
        sizes = ", ".join(f"{name}={size}" for name, size in said.items())
        raise InputShapeError(f"{source}: sizes: it does not run at {sizes}")


def prepare(
    model: CostModel,
    region: Region,
    sizes: Sequence[SizePoint],
    fold_bytes: int,
    share: Callable[[float], None],
) -> None:
    """Let a cost model measure, or look up, all that it will price; `share` is told how much is done."""
    for size in sizes:
        key = key_of(model, size.points, fold_bytes)
        for part in region.walk():
            model.prepare(part.compiled(key).view.views, share)


def mean_cost(nodes: Sequence[OriginalNode], model: CostModel, sizes: Sequence[SizePoint]) -> float:
    """What nodes of the input cost in the mean of all sizes."""
    return math.fsum(size.weight * original_cost(nodes, model, size.points) for size in sizes)
