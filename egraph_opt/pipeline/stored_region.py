"""The e-graph of a model, out of what a file holds of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.storage import Stored, fingerprint
from egraph_opt.egraph.validation import check_terms
from egraph_opt.errors import ModelReadError
from egraph_opt.facts.assumption import Assumption, Assumptions
from egraph_opt.graph.constants import constant_bytes
from egraph_opt.graph.node_counts import nodes_of
from egraph_opt.laws.exactness import Exactness
from egraph_opt.model.files import parse_model
from egraph_opt.model.reading import LoadedModel, read_model
from egraph_opt.model.streams import is_stream
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region, region_of
from egraph_opt.pipeline.target import SaturatedFor


def restored(path: str, stored: Stored) -> tuple[Any, ...]:
    """A model with its e-graph, out of what a file holds: the arguments of `Saturated`, in their order."""
    if stored.model is None and is_stream(Path(str(stored.path))):  # which no file is saturated from
        raise ModelReadError(f"{path}: not a saturated model: {stored.path} is no file")
    loaded = read_model(str(stored.path) if stored.model is None else parse_model(stored.model, path))
    header = stored.header
    limits, saturated_for = Limits(**header["limits"]), SaturatedFor.of_header(header)
    assume = {name: Assumption(*said) for name, said in header["assume"].items()}
    region = stored_region(path, stored, loaded, limits, assume=assume, exactness=saturated_for.exactness)
    return (
        loaded,
        region,
        nodes_of(loaded.model),
        constant_bytes(loaded.model.graph),
        limits,
        saturated_for,
        header["seconds"],
        tuple(header["warnings"]),
        header["reason"],
        assume,
        header["legalize"],
    )


def stored_region(
    path: str,
    stored: Stored,
    loaded: LoadedModel,
    limits: Limits,
    *,
    assume: Assumptions,
    exactness: Exactness,
) -> Region | None:
    """The graphs of a model with what was stored of each; None where nothing was.

    Raises:
        ModelReadError: it was stored of another model.
    """
    regions = iter(stored.regions)

    def next_region(lowered: Lowered) -> tuple[Snapshot, SaturationReport]:
        entry = next(regions, None)
        if entry is None or entry.terms != fingerprint(lowered):
            raise ModelReadError(
                f"{path}: the model is another one than was saturated, or another release reads it"
                " differently; saturate it again"
            )
        check_terms(entry.snapshot, lowered)
        return entry.snapshot, entry.saturation

    if not stored.regions:
        return None
    return region_of(
        *(loaded, limits, assume, next_region), exactness=exactness, warnings=[], clock=lambda stage: None
    )
