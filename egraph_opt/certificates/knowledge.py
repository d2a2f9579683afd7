"""What is known of terms: types, constancy and elements, as operators say it of their operands.

The same as the analysis of an e-graph, with the origin of each fact, so that what a step needs can be given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from egraph_opt.certificates.closure import Closure
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.facts.fact import CLASH, UNKNOWN, Fact, meet
from egraph_opt.operators.constants import content_of
from egraph_opt.operators.declaration import declared_operators
from egraph_opt.operators.expressions import declared_functions
from egraph_opt.operators.typing import infer_operator

MOST_STEPS = 1_000_000
"""Inferences after which facts are not taken to settle."""


@dataclass(frozen=True, eq=False)
class Known:
    """A fact with its origin.

    Attributes:
        fact: of a tensor; of a bundle a tuple of those of its outputs.
        term: of which it was found.
        of: the facts that it follows from, each with the term that it was asked of.
        lists: the terms that were read as lists, each with the one that was taken to say its elements.
    """

    fact: Any
    term: int
    of: tuple[tuple[int, Known], ...] = ()
    lists: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class SameContent:
    """The reason of two constants to be equal: they have the same elements."""

    one: tuple[int, Known]
    other: tuple[int, Known]


@dataclass(frozen=True)
class Appended:
    """The reason of an `append` to be a list: the first list is known to be this term."""

    first: int
    read: int


class Knowledge(Closure):
    """Terms, what is equal, and what is known of them.

    Args:
        opset: of ONNX's default domain.
    """

    def __init__(self, opset: int) -> None:
        super().__init__()
        self.opset = opset
        self.known: dict[int, Known] = {}
        self.lists: dict[int, int] = {}
        self._contents: dict[str, tuple[int, Known]] = {}
        self._dirty: deque[int] = deque()
        self._joined: list[Known] = []
        self._settling = False

    # --- what has changed -----------------------------------------------------------------------------------

    def is_new(self, term: int) -> None:
        if self.functions[term] in ("nil", "cons"):
            self.lists[self.root(term)] = term
        self._dirty.append(term)

    def are_one(self, kept: int, gone: int, users: list[int]) -> None:
        read, known, old = self.lists.pop(gone, None), self.known.pop(gone, None), self.known.get(kept)
        if read is not None and kept not in self.lists:
            self.lists[kept] = read
            self._dirty.extend(self.uses[kept])
        if known is not None:
            self._joined.append(known)
        if old is not None and (known is None or known.fact != old.fact):
            self._dirty.extend(users)
        self.has_changed(kept)

    def has_changed(self, root: int) -> None:
        """Called with each class that has more terms, or of which more is known."""

    def settle(self) -> None:
        """Let everything follow: facts of new terms, equal constants, joined lists.

        Raises:
            CertificateError: facts of one class contradict each other.
        """
        if self._settling:
            return
        self._settling = True
        steps = 0
        try:
            while self._dirty or self._joined:
                steps += 1
                if steps > MOST_STEPS:
                    raise CertificateError("what is known of terms does not settle")
                if self._joined:
                    known = self._joined.pop()
                    self.learn(known.term, known)
                else:
                    self._look_at(self._dirty.popleft())
        finally:
            self._settling = False

    def _look_at(self, term: int) -> None:
        function = self.functions[term]
        if function in ("nil", "cons"):
            self._dirty.extend(self.uses[self.root(term)])
        elif function == "append":
            self._append(term)
        elif function == "output":
            self._pick(term)
        else:
            self._infer(term)

    # --- facts ----------------------------------------------------------------------------------------------

    def of(self, term: int) -> Known | None:
        """What is known of a tensor or a bundle."""
        return self.known.get(self.root(term))

    def learn(self, term: int, new: Known) -> None:
        """Note what is known of a term, beside what is known of its class."""
        root = self.root(term)
        old = self.known.get(root)
        if old is None:
            met = new
        elif isinstance(new.fact, tuple):
            return
        else:
            fact = meet(old.fact, new.fact)
            if fact == old.fact:
                return
            if fact.dtype == CLASH.dtype:
                terms = f"{self.text(old.term)} and {self.text(new.term)}"
                raise CertificateError(f"{terms} cannot be equal: {old.fact} and {new.fact}")
            met = new if fact == new.fact else Known(fact, term, ((term, old), (term, new)))
        self.known[root] = met
        self._dirty.extend(self.uses[root])
        self.has_changed(root)
        if isinstance(met.fact, Fact) and met.fact.const:
            self._find_equal(term, met)

    def _find_equal(self, term: int, known: Known) -> None:
        """Constants of the same elements are one."""
        text = content_of(known.fact)
        if text is None:
            return
        other = self._contents.setdefault(text, (term, known))
        if not self.same(other[0], term):
            self.unite(term, other[0], SameContent((term, known), other))

    def _infer(self, term: int) -> None:
        declared = declared_operators.get(self.functions[term])
        if declared is None or (declared.form is None and declared.infer is None and declared.expand is None):
            return
        of: list[tuple[int, Known]] = []
        lists: list[tuple[int, int]] = []
        for k, operand in zip(declared.operand_positions, self.operands[term], strict=True):
            for item in self._elements(operand, lists) if declared.kinds[k] == "tensors" else (operand,):
                known = None if item < 0 else self.of(item)
                if known is None:
                    return
                of.append((item, known))
        facts = tuple(known.fact for _, known in of)
        try:
            found = infer_operator(declared.name, self.opset, self.attributes(term), facts)
        except Exception:  # as in an e-graph, where it is a host function's
            found = UNKNOWN
        self.learn(term, Known(found, term, tuple(of), tuple(lists)))

    def _pick(self, term: int) -> None:
        bundle, index = self.arguments[term]
        known = self.of(bundle)
        if known is not None and isinstance(known.fact, tuple) and 0 <= index < len(known.fact):
            self.learn(term, Known(known.fact[index], term, ((bundle, known),)))

    def fact(self, term: int) -> Any:
        """The fact of a tensor, or those of a bundle; None where nothing is known."""
        known = self.of(term)
        return None if known is None else known.fact

    # --- lists ----------------------------------------------------------------------------------------------

    def _elements(self, items: int, read: list[tuple[int, int]]) -> list[int]:
        """The elements of a list; with -1 at the end where that is not known."""
        found: list[int] = []
        while True:
            term = self.lists.get(self.root(items))
            if term is None:
                return [*found, -1]
            read.append((items, term))
            if self.functions[term] == "nil":
                return found
            first, items = self.operands[term]
            found.append(first)

    def elements(self, items: int, read: list[tuple[int, int]]) -> list[int]:
        """The elements of a list, with the terms that say so.

        Raises:
            CertificateError: its end is not known.
        """
        found = self._elements(items, read)
        if found and found[-1] < 0:
            raise CertificateError(f"{self.text(items)} is no list whose end is known")
        return found

    def each_operand(self, term: int, read: list[tuple[int, int]] | None = None) -> list[int]:
        """The operands of a term of an operator, those of lists one by one.

        Args:
            read: gets the terms that are lists, with those that say their elements.

        Raises:
            CertificateError: it is no operator, or the end of a list is not known.
        """
        declared = declared_operators.get(self.functions[term])
        if declared is None:
            raise CertificateError(f"{self.text(term)} is no operator")
        found: list[int] = []
        read = [] if read is None else read
        for k, operand in zip(declared.operand_positions, self.operands[term], strict=True):
            found += self.elements(operand, read) if declared.kinds[k] == "tensors" else (operand,)
        return found

    def listed(self, items: Sequence[int]) -> int:
        """The list of some terms."""
        made = self.add("nil", ())
        for item in reversed(items):
            made = self.add("cons", (item, made))
        return made

    def _append(self, term: int) -> None:
        """The elements of one list, then those of another."""
        left, right = self.operands[term]
        read = self.lists.get(self.root(left))
        if read is None:
            return
        if self.functions[read] == "nil":
            made = right
        else:
            first, rest = self.operands[read]
            made = self.add("cons", (first, self.add("append", (rest, right))))
        self.unite(term, made, Appended(left, read))

    # --- words ----------------------------------------------------------------------------------------------

    def text(self, term: int, depth: int = 2) -> str:
        """A term as people read it, its inner terms as numbers."""
        declared = declared_functions.get(self.functions[term])
        places = () if declared is None else declared.operand_positions
        parts = [
            str(item)[:60] if k not in places else self.text(item, depth - 1) if depth > 1 else f"#{item}"
            for k, item in enumerate(self.arguments[term])
        ]
        return f"{self.functions[term]}({', '.join(parts)})"
