"""The optimized model as users run it: in a session with ONNX Runtime's own optimisations.

Some of these fail on graphs that are right (an Expand to a constant 0, a root mean square in double), so
that a model which agrees as it is written may not load, or answer otherwise, where it is used.  What they
do to the original as well is not ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx

from egraph_opt.model.encoding import graphs_of
from egraph_opt.verification.budget import BudgetError
from egraph_opt.verification.comparison import compare, paired_leaves
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, RunnableModel, Session, Value

MOST_BYTES = 2**28
"""Models above this size are not looked at: such a session folds and packs their weights once more."""

Difference = tuple[str, Any, Any]
"""An output by its path, what it was, and what it is."""

Run = Callable[[Session], list[Value]]


class NotDeployableError(Exception):
    """ONNX Runtime's own optimisations take the original, not the optimized model; the message says why."""


def differences_as_deployed(
    before: RunnableModel, after: RunnableModel, expected: Sequence[Value], run: Run, *, values: bool
) -> list[Difference]:
    """What differs between both models in such sessions; nothing where the original differs from itself.

    Args:
        expected: the outputs of the original, as it is written.
        run: gives a session the inputs that `expected` belongs to.
        values: compare them, and not types and shapes only.

    Raises:
        NotDeployableError: the optimized model does not load or run there, and the original does.
    """
    if max(before.bytes, after.bytes) > MOST_BYTES:
        return []
    try:
        names, found = _answers(after, run)
    except (OutOfMemoryError, BudgetError):
        return []
    except ExecutionError as error:
        if _runs(before, run):
            raise NotDeployableError(str(error)) from error
        return []
    values = values and not _is_quantised(after.proto)
    differing = _differing(names, expected, found, values)
    if not differing:
        return []
    try:
        names, meant = _answers(before, run)
    except (ExecutionError, BudgetError):
        return []
    return [] if _differing(names, expected, meant, values) else differing


def _answers(model: RunnableModel, run: Run) -> tuple[Sequence[str], list[Value]]:
    session = Session(model, as_written=False)
    return session.output_names, run(session)


def _runs(model: RunnableModel, run: Run) -> bool:
    try:
        _answers(model, run)
    except (ExecutionError, BudgetError):
        return False
    return True


def _differing(
    names: Sequence[str], expected: Sequence[Value], found: Sequence[Value], values: bool
) -> list[Difference]:
    differing = []
    for path, a, b in paired_leaves(names, expected, found):
        difference = compare(a, b, loosely=True)
        if not difference.agrees and (values or difference.bad is None):
            differing.append((path, a, b))
    return differing


def _is_quantised(model: onnx.ModelProto) -> bool:
    """Whether products may be made of quantised weights, which are less exact wherever one is found."""
    return any("Quantize" in node.op_type for graph in graphs_of(model.graph) for node in graph.node)
