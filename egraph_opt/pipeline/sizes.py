"""Sizes of dims: those that are assumed, and those that nobody can derive, seen in a run of the original.

Inference gives a dim that it cannot express a symbol of its own; a run with every such value as an output
shows how long it is.  Without one it would be priced as if it were as long as any other.  Inner values of Ifs
are seen with their branches in their place.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx
from onnx import helper

from egraph_opt.cost.model import default_points, elements_at
from egraph_opt.facts import symbolic
from egraph_opt.facts.assumption import Assumptions, part_of
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.graph.isolation import apart
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.graph.timed_runtime import Feeds, Runtime
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.whole import feeds_near
from egraph_opt.model.external_data import share_folder
from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import to_proto
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.memory import run_needs
from egraph_opt.pipeline.region import Region


def points_of(
    inputs: Iterable[Fact], assume: Assumptions, said: Mapping[str, int] = MappingProxyType({})
) -> dict[str, int]:
    """What symbolic dims are priced at: as said, as assumed, else as `default_points` has it.

    A dim that has another symbol instead of its own has a point, and so has that symbol.
    """
    given = {name: int(known.low) for name, known in assume.items() if known.single is not None} | dict(said)
    facts = list(inputs)
    points, assumed = default_points(facts, given=given, most=math.inf), dict[str, int]()
    for name, known in assume.items():
        part = part_of(name, known)
        if part is not None and part in points:
            assumed[name] = known.nearest(given.get(name, points[part]))
            assumed[part] = (assumed[name] - known.least) // known.step
    return default_points(facts, given={**given, **assumed})


def observed_in(points: Mapping[str, int], assume: Assumptions) -> int:
    """How many numbers are of dims of inner values, which only a run shows."""
    parts = {part_of(name, known) for name, known in assume.items()}
    return sum(name.startswith("?") and name not in parts for name in points)


DEEPEST = 16
"""Ifs within each other that are looked into."""


def with_branches(
    proto: onnx.ModelProto, feeds: Mapping[str, Any], *, other: bool = False
) -> onnx.ModelProto:
    """A copy with every If of its graph replaced by what runs on these inputs, those within too.

    An If stays whose branch has names that the graph has already.

    Args:
        other: of the outermost Ifs take the branch that does not run.
    """
    copied = onnx.ModelProto()
    copied.CopyFrom(proto)
    proto = copied
    for depth in range(DEEPEST):
        conditions = sorted({node.input[0] for node in proto.graph.node if node.op_type == "If"})
        if not conditions:
            break
        arrays = values_of(proto, conditions, feeds)
        turned = other and depth == 0
        decided = {name: bool(array.item()) != turned for name, array in zip(conditions, arrays, strict=True)}
        if not _replaced(proto.graph, decided):
            break
    return proto


def values_of(proto: onnx.ModelProto, names: list[str], feeds: Mapping[str, Any]) -> list[Any]:
    """Values of a model's graph in a run."""
    shown = onnx.ModelProto()
    shown.CopyFrom(proto)
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    folder = share_folder(shown)
    session = RuntimeSetting(level="disable").session(shown.SerializeToString(), folder=folder)
    taken = {entry.name for entry in session.get_inputs()}
    given = {name: array for name, array in feeds.items() if name in taken}
    return list(session.run(names, given))


def _replaced(graph: onnx.GraphProto, decided: Mapping[str, bool]) -> bool:
    """Replace Ifs by their branches; whether there was one."""
    names = set(_names(graph))
    nodes: list[onnx.NodeProto] = []
    found = False
    for node in graph.node:
        branch = None
        if node.op_type == "If":
            wanted = "then_branch" if decided[node.input[0]] else "else_branch"
            branch = next(attribute.g for attribute in node.attribute if attribute.name == wanted)
        if branch is None or not names.isdisjoint(own := list(_names(branch))):
            nodes.append(node)
            continue
        found = True
        names.update(own)
        graph.initializer.extend(branch.initializer)
        nodes += branch.node
        for inner, outer in zip(branch.output, node.output, strict=False):
            if outer:
                nodes.append(helper.make_node("Identity", [inner.name], [outer]))
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return found


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """What a graph defines."""
    yield from (entry.name for entry in graph.initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)


MOST = 2000
"""Values that are looked at."""

PLAIN = OrtRuntime(level="disable")
"""How the original runs for its sizes where no price is measured."""

MOST_OPERATIONS, MOST_CONSTANTS = 3e10, 2**28
"""Of a model that is run for its sizes where no price is measured: some seconds, and 256 MiB of weights."""

MOST_ELEMENTS, A_SECOND = 2**26, 2**22
"""Of its inputs in all, and for each second of the limit: they are drawn, and sent between processes."""


def true_sizes(
    loaded: LoadedModel,
    region: Region,
    points: Mapping[str, int],
    limits: Limits,
    runtime: Runtime | None = None,
    *,
    end: float = math.inf,
) -> Mapping[str, int]:
    """Numbers for symbolic dims at which the model runs, with those of inner values, as a run has them.

    Without a runtime, in which prices are measured, only where a run takes little: else those given.

    Args:
        end: when the runs have to end, as `time.monotonic` has it.
    """
    if runtime is not None:
        return sizes_that_run(loaded, region, points, runtime, end=end)
    asks = any(not name.startswith("?") for name in points) or has_unknown(region, points)
    if not asks or constant_bytes(loaded.model.graph) > MOST_CONSTANTS:
        return points
    drawn = sum(elements_at(fact, points) for fact in region.inputs)
    if drawn > min(MOST_ELEMENTS, A_SECOND * limits.seconds):
        return points
    needs = run_needs(region, points, {})
    if needs.operations > MOST_OPERATIONS or needs.bytes > limits.memory().left:
        return points
    return sizes_that_run(loaded, region, points, PLAIN, end=end)


def has_unknown(region: Region, points: Mapping[str, int]) -> bool:
    """Whether inner values have dims that are symbols of their own, without a number."""
    return any(_unknown(part, points) for part in region.walk())


def sizes_that_run(
    loaded: LoadedModel, region: Region, points: Mapping[str, int], runtime: Runtime, *, end: float = math.inf
) -> dict[str, int]:
    """Numbers for symbolic dims at which a model runs: those given if it does, with those of inner values.

    Those given where it cannot be run at all, or not by the `end`.
    """
    original = loaded.runnable()
    try:
        feeds, sizes = _fed(original, points, runtime, end)
        found = {name: sizes.get(name, number) for name, number in points.items()}
        feeds, found = _without_empty(
            region, original, feeds, found, run=partial(_fed, runtime=runtime, end=end)
        )
        proto = to_proto(loaded.model, loaded, embed=False)
    except Exception:  # the runtime raises what it likes, or ends its process
        return dict(points)
    for other in (False, True):
        with suppress(Exception):  # the branch that does not run may not fit these inputs
            found |= _seen(region, proto, feeds, found, look=partial(_looked, other=other, end=end))
    # What could not be run is taken to be small: of two branches the one that was seen decides.
    unseen = [dim for part in region.walk() for dims in _unknown(part, found).values() for dim in dims]
    return {name: 1 for dim in unseen if (name := _name(dim)) is not None} | found


SECONDS = 30.0
"""That a model may take to be run for its sizes, and no more than what is left of the limit."""


def _left(end: float) -> float:
    """Seconds that are left; raises TimeoutError where none are."""
    left = min(end - time.monotonic(), SECONDS)
    if left <= 0:
        raise TimeoutError("the limit of seconds was reached")
    return left


def _fed(
    original: Path | onnx.ModelProto, points: Mapping[str, int], runtime: Runtime, end: float
) -> tuple[Feeds, dict[str, int]]:
    """Inputs on which a model runs, and their sizes; raises whatever the runtime does."""
    seconds = _left(end)
    found: tuple[Feeds, dict[str, int]] = apart(
        *(_feeds, original, dict(points), runtime, seconds), seconds=seconds
    )
    return found


FACTORS = (1.5, 2.0, 3.0, 4.0)
"""How much larger sizes are tried where inner dims vanish."""


def _without_empty(
    region: Region,
    original: Path | onnx.ModelProto,
    feeds: Feeds,
    found: dict[str, int],
    *,
    run: Callable[..., tuple[Feeds, dict[str, int]]],
) -> tuple[Feeds, dict[str, int]]:
    """Larger sizes where some inner dim is 0 by its expression, if the model runs at them.

    There a window is longer than what it slides along: runtimes answer with one element, or the branch of an
    If that does so does not run.  Nobody means such sizes.
    """
    small = _emptied(region, found)
    for factor in FACTORS if small else ():
        larger = {**found, **{name: int(factor * found[name]) for name in small}}
        if _emptied(region, larger):
            continue
        with suppress(Exception):  # the runtime raises what it likes
            given, sizes = run(original, larger)
            if all(sizes.get(name, larger[name]) == larger[name] for name in small):
                return given, larger
    return feeds, found


def _emptied(region: Region, points: Mapping[str, int]) -> frozenset[str]:
    """The symbols of inputs, of 1 or more, for which a dim of an inner value vanishes."""
    parts = region.walk()
    dims = {dim for part in parts for term in part.lowered.term_of.values() for dim in _dims(part, term)}
    small: set[str] = set()
    for dim in dims:
        names = symbolic.symbols(dim)
        if any(name.startswith("?") or points.get(name, 0) < 1 for name in names):
            continue
        with suppress(ArithmeticError):
            if symbolic.evaluate(dim, {name: points[name] for name in names}) <= 0:
                small |= names
    return frozenset(small)


def _dims(region: Region, term: int) -> Iterator[str]:
    shape = region.snapshot.facts[int(region.snapshot.term_classes[term])].shape
    return (dim for dim in shape or () if isinstance(dim, str))


def _feeds(
    original: Path | onnx.ModelProto, points: dict[str, int], runtime: Runtime, seconds: float
) -> tuple[Feeds, dict[str, int]]:
    """Inputs on which a model runs, and their sizes, looked for so many seconds."""
    end = time.monotonic() + seconds
    if isinstance(original, Path):
        proto, session = onnx.load(original, load_external_data=False), runtime.session(str(original))
    else:
        proto, session = original, runtime.session(original.SerializeToString())
    feeds, sizes = feeds_near(proto, session, points, end=end)
    return feeds, dict(sizes)


def _seen(
    region: Region,
    proto: onnx.ModelProto,
    feeds: Feeds,
    known: Mapping[str, int],
    *,
    look: Callable[..., list[tuple[str, tuple[int, ...]]]],
) -> dict[str, int]:
    """Dims of inner values, also in branches (see `with_branches`)."""
    unknown = {name: dims for part in region.walk() for name, dims in _unknown(part, known).items()}
    if not unknown:
        return {}
    found: dict[str, int] = {}
    for name, shape in look(proto, feeds, list(unknown)):
        for dim, length in zip(unknown[name], shape, strict=False):
            symbol = _name(dim)
            if symbol is not None:
                found.setdefault(symbol, int(length))
    return found


def _looked(
    proto: onnx.ModelProto, feeds: Feeds, names: list[str], *, other: bool, end: float
) -> list[tuple[str, tuple[int, ...]]]:
    """As `_shapes`, in the process for onnxruntime."""
    found: list[tuple[str, tuple[int, ...]]] = apart(_shapes, proto, feeds, names, other, seconds=_left(end))
    return found


def _shapes(
    proto: onnx.ModelProto, feeds: Feeds, names: list[str], other: bool
) -> list[tuple[str, tuple[int, ...]]]:
    """The shapes of inner values in a run, by name."""
    inner = with_branches(proto, feeds, other=other)
    there = {name for node in inner.graph.node for name in node.output}
    wanted = [name for name in names if name in there][:MOST]
    arrays = values_of(inner, wanted, feeds)
    return [(name, getattr(array, "shape", ())) for name, array in zip(wanted, arrays, strict=True)]


def _unknown(region: Region, known: Mapping[str, int]) -> dict[str, Shape]:
    """Dims of inner values that are a symbol of their own, by the value's name."""
    facts, classes = region.snapshot.facts, region.snapshot.term_classes
    wanted: dict[str, Shape] = {}
    seen = set(known)
    for value, term in region.lowered.term_of.items():
        dims = facts[int(classes[term])].shape or ()
        new = {name for dim in dims if (name := _name(dim)) is not None} - seen
        if new and value.name and value.producer() is not None:
            wanted[value.name] = dims
            seen |= new
    return wanted


def _name(dim: Dim) -> str | None:
    """The symbol that a dim is; None for a number or an expression."""
    if not isinstance(dim, str):
        return None
    names = symbolic.symbols(dim)
    return next((name for name in names if symbolic.symbol(name) == dim), None)
