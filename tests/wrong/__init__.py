"""Wrong laws, a few lines each, which the gate has to refuse: the other half of `rewrites/`.

Each is a law as an engineer may write it on a tired day: it is declared as a law has to be, it fires on
terms that are well-typed, and on some of them it computes other numbers, another type or shape, something
that onnxruntime refuses, or keeps less than the class that it claims.  Its docstring says where.

A law comes with a `witness`, a term that shows it: `test_they_are_wrong.py` computes both sides.  Laws that
are `endless` may be right as formulas; they make e-graphs grow without end.

`wrong_laws()` answers all of them by name.  None is registered: `egraph-opt` does not know them.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import hosted
from egraph_opt.laws.exactness import Approximate, Numerics
from egraph_opt.laws.examples import FLOAT, SIZES, Operands
from egraph_opt.laws.law import Auxiliary, Example, Examples, Law

Witness = Callable[[Operands], Any]

NEWEST = 20
"""The opset in which a witness is computed, where none is said."""


@dataclass(frozen=True)
class WrongLaw:
    """A law that has to be refused.

    Attributes:
        law: as users declare it, with the examples that they would write (most write none).
        witness: builds a term (a tuple of terms, where several have to be there) on which it goes wrong, or
            grows.
        opset: in which it does.
        values: the elements of the witness's inputs, in turn; by default a table of odd ones.
        sizes: what the symbolic dims of the witness stand for.
        endless: it grows without end.
    """

    law: Law
    witness: Witness
    opset: int
    values: tuple[float, ...] | None
    sizes: dict[str, int]
    endless: bool


WRONG: dict[str, WrongLaw] = {}
"""By name, as far as files have been imported; see `wrong_laws`."""


def wrong(
    numerics: Numerics | Approximate,
    witness: Witness,
    *,
    opset: int = NEWEST,
    values: Sequence[float] | None = None,
    sizes: dict[str, int] = SIZES[1],
    examples: Examples | None = None,
    uses: tuple[Auxiliary, ...] = (),
    endless: bool = False,
) -> Callable[[Callable[..., Any]], Law]:
    """Declare a wrong law; see the module's text and `WrongLaw`."""

    def declare(function: Callable[..., Any]) -> Law:
        formula = (inspect.getdoc(function) or "").splitlines()[0]
        within = numerics if isinstance(numerics, Approximate) else None
        word: Numerics = "approximate" if isinstance(numerics, Approximate) else numerics
        law = Law(
            "wrong", function.__name__, formula, "algebra", word, function, examples, uses=uses, within=within
        )
        if law.name in WRONG:
            raise ValueError(f"{law.name} is declared twice")
        given = None if values is None else tuple(values)
        WRONG[law.name] = WrongLaw(law, witness, opset, given, sizes, endless)
        return law

    return declare


def of_one(make: Callable[[Any], Any], shape: Sequence[Any] = (2, 5), dtype: int = FLOAT) -> Witness:
    """The witness that is a term of one input."""
    return lambda g: make(g.input(shape, dtype))


def of_two(make: Callable[[Any, Any], Any], shape: Sequence[Any] = (2, 5), dtype: int = FLOAT) -> Witness:
    """The witness that is a term of two inputs of one type."""
    return lambda g: make(g.input(shape, dtype), g.input(shape, dtype))


@hosted()
def is_single(x: Fact) -> bool:
    """Of float32."""
    return x.dtype == FLOAT


def dims(x: Fact) -> Any:
    """Its shape, of whose dims a host function knows that they are numbers."""
    return x.shape


def fires_on(*witnesses: Witness, opset: int = 17) -> Examples:
    """Examples as they are written by hand, of what the author thought of: the law is right there."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for make in witnesses:
            g = Operands(rng)
            yield replace(g.fires(make(g)), opset=opset)

    return examples


def wrong_laws() -> dict[str, WrongLaw]:
    """All wrong laws by name, but for those of operators that they declare (`own`)."""
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg and not module.name.startswith("test_"):
            import_module(f"{__name__}.{module.name}")
    return dict(sorted(WRONG.items()))
