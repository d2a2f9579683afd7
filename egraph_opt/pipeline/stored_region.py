"""The e-graph of a model, out of what a file holds of it."""

from __future__ import annotations

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import SaturationReport
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.storage import Stored, fingerprint
from egraph_opt.egraph.validation import check_terms
from egraph_opt.errors import ModelReadError
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.laws.exactness import Exactness
from egraph_opt.model.reading import LoadedModel
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.region import Region, region_of


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
