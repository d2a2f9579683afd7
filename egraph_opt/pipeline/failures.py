"""What goes wrong inside: the model is handed on as it came, with the reason, and nothing is lost."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

from egraph_opt.errors import (
    EgraphOptError,
    EngineError,
    ExtractionError,
    InternalError,
    PriceError,
    UnsoundLawError,
)

_log = logging.getLogger(__name__)

INTERNAL = "an internal error, which is worth a report with the model"


def reason_of(error: Exception, source: str, *, strict: bool) -> str:
    """Why a model stays as it is after this error.

    Args:
        source: how messages name the model.

    Raises:
        EgraphOptError: the error itself, where it is no failure: a limit, a name, a cost model.
        EngineError, ExtractionError, InternalError, UnsoundLawError: with `strict`, any other.
    """
    if isinstance(error, UnsoundLawError) and not strict:
        return f"nothing can be said of it: {error}"
    failure = isinstance(error, (EngineError, ExtractionError)) and not isinstance(error, PriceError)
    if failure and not strict:
        return str(error)
    if isinstance(error, EgraphOptError):
        raise error
    _log.debug("%s: %s", source, INTERNAL, exc_info=error)
    if isinstance(error, MemoryError):
        text = "memory ran out"
    else:
        text = f"{INTERNAL}: {type(error).__name__} at {_place(error)}: {_one_line(error)}"
    if strict:
        raise InternalError(f"{source}: {text}") from error
    return text


def raised_by(error: BaseException, owner: type) -> bool:
    """Whether code of the module of a class was at work when an error came up."""
    frames = traceback.walk_tb(error.__traceback__)
    here = any(frame.f_globals.get("__name__") == owner.__module__ for frame, _ in frames)
    return here or (error.__cause__ is not None and raised_by(error.__cause__, owner))


def _place(error: Exception) -> str:
    """The innermost line of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "egraph_opt" in Path(frame.filename).parts] or frames[-1:]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "an unknown place"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
