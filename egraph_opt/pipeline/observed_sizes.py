"""Sizes of dims that nobody can derive: seen in a run of the original, where prices are measured.

What a node is timed on has to be as large as it will be.  Inference gives a dim that it cannot express a
symbol of its own; a run with every such value as an output tells how long it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Shape
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.feeds import feeds_for
from egraph_opt.model.reading import LoadedModel
from egraph_opt.model.writing import to_proto
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
        wanted = _unknown(region, found)
        if not wanted:
            return found
        inner = RuntimeSetting(level="disable").session(_with_outputs(loaded, wanted))
        arrays = inner.run(list(wanted), dict(feeds))
    except Exception:  # the runtime raises what it likes
        return dict(points)
    for dims, array in zip(wanted.values(), arrays, strict=True):
        for dim, length in zip(dims, getattr(array, "shape", ()), strict=False):
            name = _name(dim)
            if name is not None:
                found.setdefault(name, int(length))
    return found


def _unknown(region: Region, known: Mapping[str, int]) -> dict[str, Shape]:
    """Dims of inner values that are a symbol of their own, by the value's name."""
    facts, classes = region.snapshot.facts, region.snapshot.term_classes
    wanted: dict[str, Shape] = {}
    seen = set(known)
    for value, term in region.lowered.term_of.items():
        dims = facts[int(classes[term])].shape or ()
        new = {name for dim in dims if (name := _name(dim)) is not None} - seen
        if new and value.name and value.producer() is not None and len(wanted) < MOST:
            wanted[value.name] = dims
            seen |= new
    return wanted


def _name(dim: Dim) -> str | None:
    """The symbol that a dim is; None for a number or an expression."""
    if not isinstance(dim, str):
        return None
    names = symbolic.symbols(dim)
    return next((name for name in names if symbolic.symbol(name) == dim), None)


def _with_outputs(loaded: LoadedModel, names: Mapping[str, object]) -> bytes:
    """The model, as it was read and inlined, with these values as outputs in the place of its own."""
    proto = to_proto(loaded.model, loaded)
    del proto.graph.output[:]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    content: bytes = proto.SerializeToString()
    return content
