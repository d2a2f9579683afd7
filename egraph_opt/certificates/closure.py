"""Terms, and which of them are equal: congruence closure with explanations.

After Nieuwenhuis and Oliveras, "Proof-producing congruence closure" (RTA 2005): whatever makes two terms
equal is an edge of a forest, in which the way from one term to another says why they are.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.operators.expressions import declared_functions

Edge = tuple[int, int, Any]
"""Two terms that are equal and the reason: a `Congruent`, or what `unite` was given."""

TRUE = "true"
"""The term that what holds of relations is equal to."""


@dataclass(frozen=True)
class Congruent:
    """One function of operands that are equal."""


CONGRUENT = Congruent()


def operands_first(
    root: int, done: Container[int], needed: Callable[[int], Iterable[int]], *, most: int
) -> Iterator[int]:
    """The terms that one is made of and that are not done, operands first; whoever asks for one does it.

    Args:
        needed: the operands of a term.
        most: terms that one may be made of, one within the other.

    Raises:
        CertificateError: a term is made of itself.
    """
    pending = [root]
    while pending:
        current = pending[-1]
        missing = [] if current in done else [k for k in needed(current) if k not in done]
        if missing and len(pending) > most:
            raise CertificateError(f"term {current} is made of itself")
        pending += missing
        if missing:
            continue
        if current not in done:
            yield current
        pending.pop()


class Closure:
    """Terms by number, hash-consed, and their classes.

    Attributes:
        functions: of terms, by number.
        arguments: of terms: operands as numbers of terms, attributes as they are.
        operands: the operands alone.
    """

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []
        self.operands: list[tuple[int, ...]] = []
        self.members: dict[int, list[int]] = {}
        self.uses: dict[int, list[int]] = {}
        self._heads: dict[Any, int] = {}
        self._head: list[int] = []
        self._exact: dict[tuple[int, tuple[int, ...]], int] = {}
        self._signatures: dict[tuple[int, tuple[int, ...]], int] = {}
        self._root: list[int] = []
        self._edge: list[tuple[int, Any] | None] = []
        self._uniting: list[tuple[int, int, Any]] = []
        self._busy = False

    def __len__(self) -> int:
        return len(self.functions)

    def root(self, term: int) -> int:
        """The number that all terms of a class share."""
        return self._root[term]

    def same(self, a: int, b: int) -> bool:
        return self._root[a] == self._root[b]

    def _split(self, function: str, arguments: tuple[Any, ...]) -> tuple[int, tuple[int, ...]]:
        """The number of a function with its attributes, as they are written, and the operands."""
        declared = declared_functions.get(function)
        places = () if declared is None else declared.operand_positions
        if not places:
            key: Any = (function, repr(arguments))
            return self._heads.setdefault(key, len(self._heads)), ()
        kept = tuple(None if k in places else repr(item) for k, item in enumerate(arguments))
        head = self._heads.setdefault((function, kept), len(self._heads))
        return head, tuple(arguments[k] for k in places)

    def places(self, function: str) -> tuple[bool, ...]:
        """Of each parameter of a function whether it is an operand."""
        declared = declared_functions[function]
        operands = declared.operand_positions
        return tuple(k in operands for k in range(len(declared.parameters)))

    def attributes(self, term: int) -> tuple[Any, ...]:
        """The arguments of a term that are no operands."""
        declared = declared_functions.get(self.functions[term])
        operands = () if declared is None else declared.operand_positions
        return tuple(item for k, item in enumerate(self.arguments[term]) if k not in operands)

    def kind(self, term: int) -> str:
        """What a term is: "tensor", "tensors", "bundle", or something that tables have."""
        declared = declared_functions.get(self.functions[term])
        return "" if declared is None else declared.result.kind

    def is_bundle(self, term: int) -> bool:
        """Whether a term has several outputs."""
        return self.kind(term) == "bundle"

    def find(self, function: str, arguments: tuple[Any, ...]) -> int | None:
        """A term that there is, up to what is equal."""
        head, operands = self._split(function, arguments)
        return self._signatures.get((head, tuple(self._root[k] for k in operands)))

    def signature(self, term: int) -> tuple[int, tuple[int, ...]]:
        """What terms share that are equal for their operands being so."""
        return self._head[term], tuple(self._root[k] for k in self.operands[term])

    def add(self, function: str, arguments: tuple[Any, ...]) -> int:
        """The term of a function, which is made where there is none that is written alike."""
        head, operands = self._split(function, arguments)
        known = self._exact.get((head, operands))
        if known is not None:
            return known
        term = len(self.functions)
        self._exact[head, operands] = term
        self.functions.append(function)
        self.arguments.append(arguments)
        self.operands.append(operands)
        self._head.append(head)
        self._root.append(term)
        self._edge.append(None)
        self.members[term], self.uses[term] = [term], []
        for operand in dict.fromkeys(self._root[k] for k in operands):
            self.uses[operand].append(term)
        self.is_new(term)
        self._sign(term)
        self._settle()
        return term

    def _sign(self, term: int) -> None:
        """Enter a term under its operands' classes; it is equal to the one that is there."""
        other = self._signatures.setdefault(self.signature(term), term)
        if self._root[other] != self._root[term]:
            self._uniting.append((term, other, CONGRUENT))

    def unite(self, a: int, b: int, reason: Any) -> bool:
        """Make two terms equal, and all that follows; whether they were not."""
        if self._root[a] == self._root[b]:
            return False
        self._uniting.append((a, b, reason))
        self._settle()
        return True

    def _settle(self) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            while self._uniting:
                self._join(*self._uniting.pop())
        finally:
            self._busy = False

    def _join(self, a: int, b: int, reason: Any) -> None:
        kept, gone = self._root[a], self._root[b]
        if kept == gone:
            return
        if len(self.members[kept]) + len(self.uses[kept]) < len(self.members[gone]) + len(self.uses[gone]):
            a, b, kept, gone = b, a, gone, kept
        self._lead_to(b)
        self._edge[b] = a, reason
        for member in self.members[gone]:
            self._root[member] = kept
        self.members[kept] += self.members.pop(gone)
        users = self.uses.pop(gone)
        self.uses[kept] += users
        self.are_one(kept, gone, users)
        for user in users:
            self._sign(user)

    def _lead_to(self, term: int) -> None:
        """Turn the edges of a tree, so that they lead to this term."""
        before: tuple[int, Any] | None = None
        current: int | None = term
        while current is not None:
            edge = self._edge[current]
            self._edge[current] = before
            before = (current, edge[1]) if edge is not None else None
            current = edge[0] if edge is not None else None

    def is_new(self, term: int) -> None:
        """Called with each term that is made."""

    def are_one(self, kept: int, gone: int, users: list[int]) -> None:
        """Called with the numbers of two classes that have become one, and the users of the second."""

    def why(self, a: int, b: int) -> Iterator[Edge]:
        """The edges between two terms that are equal.

        Raises:
            CertificateError: they are not.
        """
        if self._root[a] != self._root[b]:
            raise CertificateError(f"terms {a} and {b} are not known to be equal")
        above: dict[int, int] = {}
        current: int | None = a
        while current is not None:
            above[current] = len(above)
            edge = self._edge[current]
            current = edge[0] if edge is not None else None
        meeting = b
        while meeting not in above:
            edge = self._edge[meeting]
            assert edge is not None
            yield meeting, edge[0], edge[1]
            meeting = edge[0]
        current = a
        while current != meeting:
            edge = self._edge[current]
            assert edge is not None
            yield current, edge[0], edge[1]
            current = edge[0]
