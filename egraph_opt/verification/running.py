"""Whether ONNX Runtime runs a model at all."""

from __future__ import annotations

from collections.abc import Mapping

from egraph_opt.verification.budget import BudgetError, RunBudget
from egraph_opt.verification.execution import ExecutionError, ModelLike, OutOfMemoryError, Session, load
from egraph_opt.verification.inputs import UnsupportedInputError, Value
from egraph_opt.verification.interface import interface
from egraph_opt.verification.planning import PlanSearch
from egraph_opt.verification.sizes import Sizes


def trouble_of(model: ModelLike) -> str:
    """Why ONNX Runtime runs a model on no inputs that are tried, in its own words.

    "" where it runs one, or where memory, time or the types of inputs do not let it be known.
    """
    runnable, budget = load(model), RunBudget()
    try:
        session = Session(runnable)

        def run(feeds: Mapping[str, Value], sizes: Sizes) -> list[Value]:
            return session.run(feeds, seconds=budget.seconds(sizes), bytes_=budget.most_bytes(sizes))

        PlanSearch(interface(runnable.proto).required, run, budget=budget).plan()
    except (OutOfMemoryError, BudgetError, UnsupportedInputError):
        return ""
    except ExecutionError as error:
        return str(error)
    return ""


__all__ = ["trouble_of"]
