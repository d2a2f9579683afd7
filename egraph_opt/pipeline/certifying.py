"""The certificate of a result, from what was recorded while its e-graphs were saturated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.cost.model import CostModel
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.model.reading import LoadedModel, reread
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.restarts import Iteration

if TYPE_CHECKING:
    from egraph_opt.certifying.bound import Selected
    from egraph_opt.certifying.making import Recorded

NOT_RECORDED = (
    "what laws did was not recorded: optimize(.., record=True), or egraph-opt optimize --certificate FILE"
)
REQUIRED = (
    "{source}: laws were applied wherever they match, before the search, which no certificate shows;"
    " name them without +"
)


def certificate_of_result(
    original: GivenModel,
    iterations: Sequence[Iteration],
    result: LoadedModel,
    bound_seconds: float | None,
    *,
    assume: Assumptions,
    model: CostModel,
) -> Certificate:
    """Why a result is equal to its model.

    Args:
        bound_seconds: see `Result.certificate`.
        assume: what the result is right within.
        model: what the result was chosen by.

    Raises:
        CertificateError: nothing was recorded, or what was is not enough.
    """
    from egraph_opt.certifying.making import (  # with ONNX's reference: few ask for it
        Optimized,
        certificate_of,
    )

    kept = all(iteration.region.saturation.record is not None for iteration in iterations)
    if original.required:
        raise CertificateError(REQUIRED.format(source=original.loaded.source))
    limits, loaded = original.limits, original.loaded
    found = certificate_of(
        Optimized(
            model=reread(loaded),
            result=result,
            recorded=[_recorded(iteration, loaded) for iteration in iterations] if kept else [],
            assume=assume,
            shapes=loaded.input_shapes,
            fold_bytes=limits.fold_bytes,
            fold_quantized=limits.fold_quantized,
            limits=original.target_limits,
            selected=_selected(iterations[-1], model, bound_seconds),
        )
    )
    if not kept and found.trusted:
        raise CertificateError(NOT_RECORDED)
    return found


def certificate_of_unchanged(loaded: LoadedModel) -> Certificate:
    """That of a model that was handed on as it came."""
    from egraph_opt.certifying.making import Optimized, certificate_of

    same = Optimized(reread(loaded), reread(loaded), [], {}, loaded.input_shapes, 0, False, {})
    return certificate_of(same)


def _selected(iteration: Iteration, model: CostModel, seconds: float | None) -> Selected | None:
    """What was chosen of the last e-graph; None where nothing is to be said of it."""
    from egraph_opt.certifying.bound import SECONDS, Selected

    region, extracted = iteration.region, iteration.extracted
    if seconds == 0 or not math.isfinite(extracted.solution.cost):
        return None
    written: defaultdict[int, list[str]] = defaultdict(list)
    for node in iteration.model.graph:
        origin = iteration.info.origins.get(node)
        if origin is not None and origin.snapshot is region.snapshot:
            written[origin.chosen].append(next(v.name for v in node.outputs if v.name))
    return Selected(
        problem=replace(region.compiled(iteration.key).problem, cost=extracted.prices.cost),
        choice=extracted.solution.choice,
        written=written,
        cost_model=model.name,
        unit=model.unit,
        bodies=len(region.walk()) - 1,
        seconds=SECONDS if seconds is None else seconds,
    )


def _recorded(iteration: Iteration, loaded: LoadedModel) -> Recorded:
    from egraph_opt.certifying.making import Recorded

    info, record = iteration.info, iteration.region.saturation.record
    assert record is not None
    owners = {
        value.name: owner
        for value, owner in info.owners.items()
        if value.name and info.choices[value] is iteration.extracted.choice
    }
    written = replace(loaded, model=iteration.model.clone())
    return Recorded(iteration.region.lowered, record, owners, written)
