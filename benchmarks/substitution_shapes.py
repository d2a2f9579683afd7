"""Shapes for TASO's substitutions: the most general ones for which both sides of a rule are well typed.

Every operand's dims are unknowns.  Operators state linear equations between them (a convolution in `group`
groups: the channels of x are `group` times those of W), a solution is taken that is positive, has odd
kernels, and has as many different numbers as possible, so that no law can profit from an accidental equality.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

Dims = tuple[int, ...]
Expression = Any
"""A name of an operand, or a tuple: an operator and its arguments (numbers and expressions)."""

SIZES, KERNELS = (2, 3, 4, 5, 6, 7), (1, 3, 5)
TRIES = 400


class Untypable(ValueError):
    """No shapes make both sides of a rule well typed."""


def parse(text: str) -> Expression:
    """`(matmul 0 ?input_1 ?input_2)` as ("matmul", 0, "?input_1", "?input_2").

    >>> parse("(relu (concat 1 2 ?a ?b))")
    ('relu', ('concat', 1, 2, '?a', '?b'))
    """
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    open_ones: list[list[Any]] = [[]]
    for token in tokens:
        if token == "(":
            open_ones.append([])
        elif token == ")":
            done = tuple(open_ones.pop())
            open_ones[-1].append(done)
        else:
            open_ones[-1].append(int(token) if token.isdigit() else token)
    (expression,) = open_ones[0]
    return expression


def _parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all below it, which are shallow."""
    yield expression
    if isinstance(expression, tuple):
        for argument in expression[1:]:
            if not isinstance(argument, int):
                yield from _parts(argument)


def ranks(pairs: Sequence[tuple[Expression, Expression]]) -> dict[Expression, int]:
    """The rank of every expression; 2 where nothing says more."""
    known: dict[Expression, int] = {}
    alike: list[tuple[Expression, ...]] = list(pairs)
    for part in (p for pair in pairs for side in pair for p in _parts(side)):
        if isinstance(part, str):
            continue
        op, operands = part[0], tuple(a for a in part[1:] if not isinstance(a, int))
        if op == "matmul":
            known |= dict.fromkeys((part, *operands), 2)
        elif op == "conv2d":
            known |= dict.fromkeys((part, *operands), 4)
        elif op == "concat":
            known |= dict.fromkeys((part, *operands), part[2])
        alike.append((part, *operands))
    for _ in alike:
        for group in alike:
            found = next((known[e] for e in group if e in known), None)
            if found is not None:
                known |= dict.fromkeys(group, found)
    return {e: known.get(e, 2) for group in alike for e in group}


@dataclass
class _Typing:
    """Dims of expressions as linear expressions of unknowns, and the equations between them."""

    rank: dict[Expression, int]
    groups: dict[Expression, int]
    dims: dict[Expression, tuple[Any, ...]] = field(default_factory=dict)
    cuts: dict[tuple[Expression, int], Any] = field(default_factory=dict)
    equations: list[Any] = field(default_factory=list)
    odd: list[Any] = field(default_factory=list)

    def equal(self, a: Sequence[Any], b: Sequence[Any]) -> None:
        self.equations += [x - y for x, y in zip(a, b, strict=True)]

    def cut_like(self, expression: Expression, axis: int, other: Expression, other_axis: int) -> None:
        """A Split of `expression` along an axis cuts where one of `other` would."""
        if (other, other_axis) in self.cuts:
            self.cuts[expression, axis] = self.cuts[other, other_axis]

    def visit(self, expression: Expression) -> tuple[Any, ...]:
        if expression not in self.dims:
            self.dims[expression] = self._dims_of(expression)
        return self.dims[expression]

    def _dims_of(self, expression: Expression) -> tuple[Any, ...]:
        if isinstance(expression, str):
            return tuple(sympy.Symbol(f"{expression}.{k}") for k in range(self.rank[expression]))
        op = expression[0]
        operands = [a for a in expression[1:] if not isinstance(a, int)]
        known = [self.visit(a) for a in operands]
        if op == "matmul":
            (m, inner), (summed, n) = known
            self.equal((inner,), (summed,))
            for axis in (0, 1):
                self.cut_like(expression, axis, operands[axis], axis)
            return m, n
        if op == "conv2d":
            return self._convolution(expression, operands[0], operands[1])
        if op == "concat":
            axis = expression[1]
            x, y = known
            self.equal([d for k, d in enumerate(x) if k != axis], [d for k, d in enumerate(y) if k != axis])
            self.cuts[expression, axis] = x[axis]
            return tuple(a + b if k == axis else a for k, (a, b) in enumerate(zip(x, y, strict=True)))
        if op == "split":
            return known[0]
        if op in ("split_0", "split_1"):
            _, axis, whole = expression[1]
            first = self.cuts[whole, axis]
            size = first if op == "split_0" else known[0][axis] - first
            return tuple(size if k == axis else d for k, d in enumerate(known[0]))
        for other in known[1:]:
            self.equal(known[0], other)
        for operand in operands:
            for axis in range(len(known[0])):
                self.cut_like(expression, axis, operand, axis)
        return known[0]

    def _convolution(self, expression: Expression, x: Expression, w: Expression) -> tuple[Any, ...]:
        (n, c, *image), (m, d, *kernel) = self.visit(x), self.visit(w)
        group = self.groups[expression]
        self.equations.append(c - group * d)
        self.odd += kernel
        if group > 1 and (w, 0) in self.cuts:  # groups have equal numbers of channels
            self.equations.append(m - group * self.cuts[w, 0])
        self.cut_like(expression, 0, x, 0)
        self.cut_like(expression, 1, w, 0)
        return n, m, *image


def _solution(typing: _Typing) -> dict[Any, int] | None:
    """Numbers for all unknowns."""
    unknowns = sorted({s for dims in typing.dims.values() for d in dims for s in d.free_symbols}, key=str)
    solved = sympy.linsolve(typing.equations or [sympy.Integer(0)], unknowns)
    if not solved:
        return None
    values = dict(zip(unknowns, next(iter(solved)), strict=True))
    free = sorted({s for value in values.values() for s in value.free_symbols}, key=str)
    kernels = {s for d in typing.odd for s in d.subs(values).free_symbols}
    rng = random.Random(0)
    best: tuple[tuple[int, int], dict[Any, int]] | None = None
    for _ in range(TRIES):
        chosen = {s: rng.choice(KERNELS if s in kernels else SIZES) for s in free}
        numbers = {u: int(v.subs(chosen)) for u, v in values.items()}
        if min(numbers.values()) < 1 or any(int(d.subs(numbers)) % 2 == 0 for d in typing.odd):
            continue
        score = (len(set(numbers.values())), -sum(numbers.values()))
        if best is None or score > best[0]:
            best = score, numbers
    return None if best is None else best[1]


def typed_shapes(pairs: Sequence[tuple[Expression, Expression]]) -> dict[Expression, Dims]:
    """The shapes of all expressions of a rule (pairs of a left and a right side).

    Raises:
        Untypable: there are none, with convolutions in one or two groups.
    """
    rank = ranks(pairs)
    convolutions = [e for e in rank if isinstance(e, tuple) and e[0] == "conv2d"]
    choices = sorted(itertools.product((1, 2), repeat=len(convolutions)), key=sum)
    for choice in choices:
        typing = _Typing(rank, dict(zip(convolutions, choice, strict=True)))
        for left, right in pairs:
            typing.equal(typing.visit(left), typing.visit(right))
        numbers = _solution(typing)
        if numbers is not None:
            return {e: tuple(int(d.subs(numbers)) for d in dims) for e, dims in typing.dims.items()}
    raise Untypable("no shapes fit both sides")
