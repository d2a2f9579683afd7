"""The certificate of a result, from what was recorded while its e-graphs were saturated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from egraph_opt.certificates.certificate import Certificate
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.facts.assumption import Assumptions
from egraph_opt.model.reading import LoadedModel, reread
from egraph_opt.pipeline.original import GivenModel
from egraph_opt.pipeline.restarts import Iteration

if TYPE_CHECKING:
    from egraph_opt.certifying.making import Recorded

NOT_RECORDED = (
    "what laws did was not recorded: optimize(.., record=True), or egraph-opt optimize --certificate FILE"
)
REQUIRED = (
    "{source}: laws were applied wherever they match, before the search, which no certificate shows;"
    " name them without +"
)


def certificate_of_result(
    original: GivenModel, iterations: Sequence[Iteration], assume: Assumptions, result: LoadedModel
) -> Certificate:
    """Why a result is equal to its model.

    Args:
        assume: what the result is right within.

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
