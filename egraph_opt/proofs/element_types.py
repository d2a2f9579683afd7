"""Element types along a path: which are equal, and which are possible, before anybody asks which they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.proofs.paths import Dead, Unproved
from egraph_opt.semantics.pointwise import TYPES
from egraph_opt.semantics.values import ElementType


class Types:
    """What is known of element types, by their tokens.

    Args:
        choose: one of so many cases.
    """

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose
        self.roots: dict[Any, Any] = {}
        self.allowed: dict[Any, Sequence[int]] = {}
        self.waiting: list[tuple[ElementType, Callable[[int], None]]] = []

    def settled(self, dtype: ElementType) -> int:
        """Which type it is: all that are possible are tried."""
        token = self.root(dtype)
        if not isinstance(token, int):
            types = self._types(token)
            self.roots[token] = token = types[self.choose(len(types))]
            self._run_waiting()
        return token

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
        root = self.root(dtype)
        if isinstance(root, int) or root[0] != "leaf":
            return dtype() in INTEGERS
        kinds = {t in INTEGERS for t in self._types(root)}
        whole = kinds.pop() if len(kinds) == 1 else self.choose(2) == 1
        self.among(dtype, [t for t in TYPES if (t in INTEGERS) == whole], showing=False)
        return whole

    def root(self, dtype: ElementType) -> Any:
        """What all types have in common that are known to be this one: it, where it is chosen."""
        token = dtype.token()
        while token in self.roots:
            token = self.roots[token]
        return token

    def _types(self, root: Any) -> Sequence[int]:
        return (root,) if isinstance(root, int) else self.allowed.get(root, TYPES)

    def _allow(self, root: Any, types: Sequence[int]) -> None:
        if isinstance(root, tuple) and root[0] == "leaf":
            if len(types) == 1:
                self.roots[root] = types[0]
            else:
                self.allowed[root] = types


def _how_known(token: Any) -> int:
    """Types, then those of operands, then of what is computed from them."""
    return 2 if isinstance(token, int) else int(token[0] == "leaf")
