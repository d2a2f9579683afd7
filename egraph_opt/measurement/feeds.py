"""Inputs on which a model is timed: of the sizes at which it was priced, where it runs on these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import onnx

from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.execution import ExecutionError
from egraph_opt.verification.inputs import random_inputs
from egraph_opt.verification.interface import interface
from egraph_opt.verification.planning import PlanSearch
from egraph_opt.verification.sizes import candidates

Feeds = Mapping[str, npt.NDArray[Any]]


def feeds_for(
    model: onnx.ModelProto, session: Any, sizes: Mapping[str, int], *, seed: int = 0
) -> tuple[Feeds, Mapping[str, int]]:
    """An array per input, and the sizes that symbolic dims have in them.

    Args:
        model: the model, of which the interface is read.
        session: of ONNX Runtime, that runs it.
        sizes: of symbolic dims; others are looked for where it does not run on these.

    Raises:
        ExecutionError: nothing that was tried runs.
        UnsupportedInputError: an input of a type that has no random values.
    """
    specs = interface(model).required

    def run(feeds: Mapping[str, Any], sizes: Mapping[str, int]) -> list[Any]:
        try:
            return list(session.run(None, dict(feeds)))
        except Exception as error:  # the runtime raises what it likes
            raise ExecutionError(str(error)) from error

    beyond = RunBudget().beyond(specs, {**next(candidates(specs), {}), **sizes})
    if beyond:
        raise ExecutionError(beyond)
    feeds = random_inputs(specs, seed=seed, sizes=sizes)
    try:
        run(feeds, sizes)
        return feeds, sizes
    except ExecutionError:
        pass
    try:
        plan = PlanSearch(specs, run, seed).plan()
    except BudgetError as error:
        raise ExecutionError(str(error)) from error
    feeds = random_inputs(specs, seed=seed, sizes=plan.sizes[0], integers=plan.integers, rank=plan.rank)
    return feeds, plan.sizes[0]
