"""Terms that laws are tried on: as they are written, whether anybody runs them, and what came of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from egraph_opt.check.batches import lowered_at
from egraph_opt.check.judging.outcomes import Failure
from egraph_opt.check.judging.trials import MOST_ADDED, Original
from egraph_opt.check.terms import show_all, shown
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws.law import Example

LARGEST_SYMBOL = 24
"""What a symbol counts as where elements are counted."""


@dataclass(frozen=True)
class TriedTerm:
    """A term, ready to be tried.

    Attributes:
        original: the term as it was written, with every inner value as an output.
        snapshot: what the law makes of it, where that is known.
    """

    example: Example
    lowered: Lowered
    original: Original
    snapshot: Snapshot | None = None

    @property
    def size(self) -> int:
        """Operators first, then elements: what is smaller is easier to read."""
        elements = sum(array.size for trial in self.original.trials[:1] for array in trial.feeds.values())
        return 1000 * len(self.lowered.terms) + int(elements)


@dataclass(frozen=True)
class FiredTerm:
    """A term on which a law may do something, which need be no term that anybody runs.

    Attributes:
        snapshot: what the law makes of it; None where to make that again tells more, as which rule fails.
    """

    example: Example
    lowered: Lowered
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class Verdict:
    """What came of a term.

    Attributes:
        alternatives: the graphs that were compared.
        changed: whether the law did anything.
    """

    candidate: TriedTerm
    alternatives: int = 0
    changed: bool = False
    failure: Failure | None = None

    def __str__(self) -> str:
        assert self.failure is not None
        return f"on {shown(self.candidate.lowered)}: {self.failure.message}"


def is_huge(fact: Fact | None) -> bool:
    """Whether a value has more elements than a machine should hold, symbols at their largest."""
    if fact is None or fact.shape is None:
        return False
    dims = (d if isinstance(d, int) else LARGEST_SYMBOL for d in fact.shape)
    return math.prod(dims) > MOST_ADDED


def lowered_if_typed(example: Example) -> Lowered | None:
    """A term as it is written, all that is in it an output, where inference finds nothing wrong with it."""
    try:
        lowered = lowered_at(example)
        show_all(lowered)
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return None
    typed = all(fact is None or fact == ABSENT or fact.dtype > 0 for fact in lowered.facts)
    return lowered if typed and not any(map(is_huge, lowered.facts)) else None


def is_changed(lowered: Lowered, snapshot: Snapshot) -> bool:
    """Whether there is more in an e-graph than a term, or less than its parts."""
    classes = set(snapshot.term_classes.tolist())
    return snapshot.n_nodes > len(lowered.terms) or len(classes) < len(lowered.terms)


def is_rewritten(lowered: Lowered, snapshot: Snapshot) -> bool:
    """The same, where constants that are equal, which are one class, do not count as less."""
    apart: dict[object, int] = {}
    numbers: list[int] = []
    for term in lowered.terms:
        made = tuple(
            tuple(numbers[k] for k in item) if isinstance(item, tuple) else numbers[item]
            for item in term.operands
        )
        array = lowered.leaves[term.attributes[0]].const_value if term.operator == "leaf" else None
        key = (term.operator, term.attributes, made) if array is None else _key_of(array.numpy())
        numbers.append(apart.setdefault(key, len(apart)))
    return bool(snapshot.made_by.any()) or len(set(snapshot.term_classes.tolist())) < len(apart)


def _key_of(array: Any) -> object:
    return array.dtype, array.shape, array.tobytes()


def is_run(candidate: TriedTerm) -> bool:
    """Whether anybody runs a term, and computes the shapes that ONNX says."""
    original = candidate.original
    return original.is_valid and original.runs and _is_as_inferred(candidate.lowered, original)


def _is_as_inferred(lowered: Lowered, original: Original) -> bool:
    """Whether kernels compute the shapes that ONNX says: not where the x of a PRelu is broadcast."""
    for trial in original.trials:
        for index, found in zip(lowered.outputs, trial.expected, strict=True):
            known = lowered.facts[index]
            dims = () if known is None or known.shape is None else known.shape
            ranks = known is None or known.shape is None or len(dims) == found.ndim
            if not ranks or any(
                (isinstance(a, int) and a != b) or trial.sizes.get(str(a), b) != b
                for a, b in zip(dims, found.shape, strict=False)
            ):
                return False
    return True
