"""What a user assumes, checked against the model: a name that is nowhere would be taken in silence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from egraph_opt.errors import AssumptionError, hint_of
from egraph_opt.facts.assumption import Assumption, assumptions_of
from egraph_opt.inference.graph import names_of_dims
from egraph_opt.model.reading import LoadedModel


def assumptions_for(loaded: LoadedModel, assume: Mapping[str, Any] | None) -> dict[str, Assumption]:
    """Assumptions about inputs of a model and their symbolic dims.

    Raises:
        AssumptionError: one says nothing, is of nothing that the model has, or of a dim has no whole number.
    """
    said = assumptions_of(assume)
    if not said:
        return said
    inputs = {value.name for value in loaded.model.graph.inputs if value.name}
    dims = {name for value in loaded.model.graph.inputs for name in names_of_dims(value) if name}
    for name, known in said.items():
        place = f"{loaded.source}: what is assumed of {name!r}"
        if name in inputs:
            if known.step > 1:
                raise AssumptionError(f"{place}: elements of an input are not told to be multiples, dims are")
        elif name not in dims:
            hint = hint_of(name, [*inputs, *dims])
            has = ", ".join(sorted(dims)) or "none"
            raise AssumptionError(f"{place}: no input or dim has this name{hint} (symbolic dims: {has})")
        elif (
            known.high < 0
            or known.low == math.inf
            or any(math.isfinite(end) and end % 1 for end in (known.low, known.high))
        ):
            ends = known.low if known.single is not None else f"{known.low}..{known.high}"
            raise AssumptionError(f"{place}: a dim is a whole number from 0 on, not {ends}")
    return said
