"""Sizes of dims that nobody can derive: seen in a run of the original, where prices are measured.

What a node is timed on has to be as large as it will be.  Inference gives a dim that it cannot express a
symbol of its own; a run with every such value as an output tells how long it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import onnx

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Shape
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.feeds import Feeds, feeds_for
from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import to_proto
from egraph_opt.pipeline.inlined_branches import values_of, with_branches
from egraph_opt.pipeline.region import Region

MOST = 2000
"""Values that are looked at."""


def sizes_that_run(
    loaded: LoadedModel, region: Region, points: Mapping[str, int], setting: RuntimeSetting
) -> dict[str, int]:
    """Numbers for symbolic dims at which a model runs: those given if it does, with those of inner values.

    Those given where it cannot be run at all.
    """
    original = loaded.runnable()
    try:
        if isinstance(original, Path):
            proto, session = onnx.load(original, load_external_data=False), setting.session(str(original))
        else:
            proto, session = original, setting.session(original.SerializeToString())
        feeds, sizes = feeds_for(proto, session, points)
        found = {name: sizes.get(name, number) for name, number in points.items()}
        proto = to_proto(loaded.model, loaded, embed=False)
    except Exception:  # the runtime raises what it likes
        return dict(points)
    for other in (False, True):
        with suppress(Exception):  # the branch that does not run may not fit these inputs
            found |= _seen(region, proto, feeds, found, other=other)
    # What could not be run is taken to be small: of two branches the one that was seen decides.
    unseen = [dim for part in region.walk() for dims in _unknown(part, found).values() for dim in dims]
    return {name: 1 for dim in unseen if (name := _name(dim)) is not None} | found


def _seen(
    region: Region, proto: onnx.ModelProto, feeds: Feeds, known: Mapping[str, int], *, other: bool
) -> dict[str, int]:
    """Dims of inner values, also in branches (see `with_branches`)."""
    unknown = {name: dims for part in region.walk() for name, dims in _unknown(part, known).items()}
    if not unknown:
        return {}
    inner = with_branches(proto, feeds, other=other)
    there = {name for node in inner.graph.node for name in node.output}
    wanted = [name for name in unknown if name in there][:MOST]
    found: dict[str, int] = {}
    for name, array in zip(wanted, values_of(inner, wanted, feeds), strict=True):
        for dim, length in zip(unknown[name], getattr(array, "shape", ()), strict=False):
            symbol = _name(dim)
            if symbol is not None:
                found.setdefault(symbol, int(length))
    return found


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
