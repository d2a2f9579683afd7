"""Element types along a path: which are equal, and which are possible, before anybody asks which they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import z3

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.proofs.numbers import TypeNumber
from egraph_opt.proofs.paths import Dead, Path, Unproved
from egraph_opt.semantics.taken_types import TYPES
from egraph_opt.semantics.values import ElementType


class Types:
    """What is known of element types, by their tokens.

    Args:
        path: along which it is known.

    Attributes:
        numbers: what is a type to the solver: those that host functions were handed before they were settled.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.types = self
        self.numbers: dict[Any, z3.ArithRef] = {}
        self.narrowed = set[Any]()
        self.roots: dict[Any, Any] = {}
        self.allowed: dict[Any, Sequence[int]] = {}
        self.waiting: list[tuple[ElementType, Callable[[int], None]]] = []

    def settled(self, dtype: ElementType) -> int:
        """Which type it is: all that are possible are tried."""
        token = self.root(dtype)
        if not isinstance(token, int):
            types, number = self._types(token), self.numbers.get(token)
            if number is not None:
                types = self.path.possible(number, types)
            self.roots[token] = chosen = types[self.path.choose(len(types))]
            self._is_number(token, [chosen])
            token = chosen
            self._run_waiting()
        return token

    def declare(self, dtype: ElementType) -> bool:
        """Make a type a number to the solver; False where it has to be settled instead."""
        root = self.root(dtype)
        if isinstance(root, int) or root[0] != "leaf":
            return False
        if root not in self.numbers:
            self.numbers[root] = self.path.fresh("type")
            self._is_number(root, self._types(root))
        return True

    def on_way(self, dtype: ElementType) -> Any:
        """Which type it is on a way through a function; None where it is no number to the solver yet."""
        root = self.root(dtype)
        if isinstance(root, int):
            return root
        number = self.numbers.get(root)
        if number is None:
            return None
        known = self.path.kept_on_way(root)
        return TypeNumber(number, self.path, root) if known is None else known

    def decided_on_way(self, root: Any) -> int:
        """Which type it is on a way: all that are possible are tried."""
        known: int | None = self.path.kept_on_way(root)
        if known is None:
            inner, types = self.path.innermost, self._types(root)
            number = self.numbers[root]
            inner.kept[root] = known = types[inner.one_of(len(types), lambda k: number == types[k])]
        return known

    def decided(self, root: Any) -> int:
        """Which type what stands for it is."""
        if self.path.inner is not None:
            return self.decided_on_way(root)
        root = self.root_of(root)
        known = ElementType(lambda: root, lambda: root)
        return root if isinstance(root, int) else self.settled(known)

    def _is_number(self, root: Any, types: Sequence[int]) -> None:
        """Let the solver know of the types that a type can be."""
        if root in self.numbers:
            self.path.assume(z3.Or([self.numbers[root] == t for t in types]))

    def once_known(self, dtype: ElementType, function: Callable[[int], None]) -> None:
        """Run a function with the type, as soon as it is known."""
        self.waiting.append((dtype, function))
        self._run_waiting()

    def _run_waiting(self) -> None:
        waiting, self.waiting = self.waiting, []
        for dtype, function in waiting:
            root = self.root(dtype)
            if isinstance(root, int):
                function(root)
            else:
                self.waiting.append((dtype, function))

    def alike(self, a: ElementType, b: ElementType, showing: bool) -> None:
        """Two types are one, or have to be shown to be.

        Raises:
            Dead: they cannot be.
            Unproved: it does not follow.
        """
        left, right = sorted((self.root(a), self.root(b)), key=_how_known)
        if left == right:
            return
        if showing:
            if a() != b():
                raise Unproved("that the types of operands are equal, which the right side needs")
            return
        both = [t for t in TYPES if all(t in self._types(root) for root in (left, right))]
        if isinstance(left, int) or not both:
            raise Dead
        self.roots[left] = right
        if left in self.numbers:
            if isinstance(right, int):
                self._is_number(left, [right])
            else:
                number = self.numbers.setdefault(right, self.numbers[left])
                self.path.assume(number == self.numbers[left])
        self._allow(self.root(a), both)
        self._run_waiting()

    def retyped(self, token: Any, known: ElementType) -> None:
        """What was known of a type by another token is so of this one."""
        if token in self.roots and token != known.token():
            other = self.roots.pop(token)
            self.alike(known, ElementType(lambda: other, lambda: other), showing=False)

    def among(self, dtype: ElementType, types: Sequence[int], showing: bool) -> None:
        """A type is one of some, or has to be shown to be."""
        root = self.root(dtype)
        both = [t for t in self._types(root) if t in types]
        if len(both) == len(self._types(root)):
            return
        if showing:
            if dtype() in types:
                return
            raise Unproved("that the right side has a type that its operators take")
        if not both:
            raise Dead
        if isinstance(root, tuple) and root[0] == "leaf":
            self._allow(root, both)
            self._run_waiting()
        elif dtype() not in types:
            raise Dead

    def is_whole(self, dtype: ElementType) -> bool:
        """Whether it is a type of integers: both cases are looked at, where both are possible."""
        return self.is_in(dtype, INTEGERS)

    def is_surely_in(self, dtype: ElementType, types: Collection[int]) -> bool:
        """Whether all types that a type can be are among some."""
        self._narrowed(self.root(dtype))
        return all(t in types for t in self._types(self.root(dtype)))

    def narrow(self) -> None:
        """More was assumed, which may leave fewer types."""
        self.narrowed.clear()

    def _narrowed(self, root: Any) -> None:
        """Leave out the types that are no longer possible."""
        if root not in self.numbers or root in self.narrowed or isinstance(self.root_of(root), int):
            return
        self.narrowed.add(root)
        types = self._types(root)
        left = self.path.possible(self.numbers[root], types)
        if len(left) < len(types):
            self._allow(root, left)
            self._run_waiting()

    def is_in(self, dtype: ElementType, types: Collection[int]) -> bool:
        """Whether a type is one of some: both cases are looked at, where both are possible."""
        root = self.root(dtype)
        if isinstance(root, int) or root[0] != "leaf":
            return dtype() in types
        self._narrowed(root)
        root = self.root_of(root)
        kinds = {t in types for t in self._types(root)}
        inside = kinds.pop() if len(kinds) == 1 else self.path.choose(2) == 1
        self.among(dtype, [t for t in TYPES if (t in types) == inside], showing=False)
        return inside

    def root(self, dtype: ElementType) -> Any:
        """What all types have in common that are known to be this one: it, where it is chosen."""
        return self.root_of(dtype.token())

    def root_of(self, token: Any) -> Any:
        while token in self.roots:
            token = self.roots[token]
        return token

    def possible(self, root: Any) -> Sequence[int]:
        """The types that a type can be."""
        known = self.path.kept_on_way(root)
        return self._types(self.root_of(root)) if known is None else (known,)

    def _types(self, root: Any) -> Sequence[int]:
        return (root,) if isinstance(root, int) else self.allowed.get(root, TYPES)

    def _allow(self, root: Any, types: Sequence[int]) -> None:
        if isinstance(root, tuple) and root[0] == "leaf":
            self._is_number(root, types)
            if len(types) == 1:
                self.roots[root] = types[0]
            else:
                self.allowed[root] = types


def _how_known(token: Any) -> int:
    """Types, then those of operands, then of what is computed from them."""
    return 2 if isinstance(token, int) else int(token[0] == "leaf")
