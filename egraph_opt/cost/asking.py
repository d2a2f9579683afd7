"""What a cost model answers, held to what it has to be; a message names the file and line where it is not."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import egraph_opt.cost as package
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.errors import EgraphOptError, PriceError


def price_of(model: CostModel, view: NodeView) -> float:
    """The price of a node.

    Raises:
        PriceError: the model raises, or answers something else than a number of 0 or more.
    """
    with _told(model, view):
        price = model.cost(view)
    return _checked(model, view, price)


def price_of_bodies(model: CostModel, view: NodeView, costs: Sequence[float]) -> float:
    """What the bodies of a node cost together.

    Raises:
        PriceError: as `price_of`.
    """
    with _told(model, view):
        price = model.of_bodies(view, costs)
    return _checked(model, view, price)


def _checked(model: CostModel, view: NodeView, price: object) -> float:
    if not isinstance(price, (int, float, np.integer, np.floating)) or not price >= 0:
        shown = repr(price) if isinstance(price, str) else price
        told = f"cost model {model.name!r} prices {view.op_type} at {shown}"
        raise PriceError(f"{_place(model)}{told}; a price must be 0 or more")
    return float(price)


@contextmanager
def _told(model: CostModel, view: NodeView) -> Iterator[None]:
    try:
        yield
    except (EgraphOptError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise PriceError(
            f"{_place(model, error)}cost model {model.name!r} cannot price {view.op_type}: {text}"
        ) from error


def _place(model: CostModel, error: BaseException | None = None) -> str:
    """The file and line of a cost model: where it raised, or where its prices are."""
    inside = str(Path(package.__file__ or "").parent.parent)
    for frame in traceback.extract_tb(error.__traceback__) if error else ():
        if not frame.filename.startswith(inside):
            return f"{frame.filename}:{frame.lineno}: "
    code = getattr(type(model).cost, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""
