"""Whether a law holds at all sizes: proved, refuted with an example, or open for a reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import z3

from egraph_opt.check.refusal import LawRefusedError
from egraph_opt.check.scope import Rejected, parts
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.check.whole_law import check_law
from egraph_opt.laws.law import Law
from egraph_opt.proofs.equality import prove_equal
from egraph_opt.proofs.hosts import is_question
from egraph_opt.proofs.instance import Arithmetic, Instance
from egraph_opt.proofs.paths import Dead, Path, Unproved, explore
from egraph_opt.proofs.python import symbolic_python
from egraph_opt.proofs.sides import Sides
from egraph_opt.proofs.sums import decided, index_below
from egraph_opt.proofs.trail import Open
from egraph_opt.semantics.values import NoMeaningError, Value

Status = Literal["proved", "refuted", "open"]

MOST_RANK = 4
"""Operands of any rank are tried up to here; see `least_rank` for what has to be reached."""

MOST_RANK_OF_SYMBOLS = 2
"""Where dims are symbols; what may differ of them is how host functions read a dim."""

MOST_AXES = 4
"""Of dims that a pattern leaves open."""

MOST_STEPS = 4
"""Entries of tables that are filled for a statement: a chain along a list, say, has so many links."""

SECONDS = 10.0

SHARE_OF_RANKS = 0.2
"""Of the time, for ranks above the least."""

SHARE_OF_WEAK = 0.1
"""Of the time, for what follows without conditions."""


@dataclass(frozen=True)
class LawProof:
    """What became of a law.

    Attributes:
        name: of the law.
        status: of all its statements together.
        reason: why it is open, or what is not so.
        arithmetic: in which it follows, the one that it claims; see `instance.Instance`.
        ranks: of operands that may have any, up to which it is proved.
        cases: how many were looked at.
        notes: what the proof takes for granted.
    """

    name: str
    status: Status
    reason: str
    arithmetic: Arithmetic
    ranks: int
    cases: int
    seconds: float
    notes: tuple[str, ...] = ()


def prove(law: Law, seconds: float = SECONDS, *, refute: bool = True) -> LawProof:
    """Prove a law for all sizes, as far as is known how.

    Args:
        seconds: after which it stays open.
        refute: where it does not follow, look for an example on which it is wrong.
    """
    began = time.process_time()
    state = _State(
        law, lambda: time.process_time() - began > seconds, seconds, CLAIMED.get(law.numerics, "real")
    )
    status: Status = "proved"
    try:
        with symbolic_python(law):
            for side in sides_of(law):
                state.take(side)
        reason = state.shortfall()
        status = "open" if reason else "proved"
    except Open as error:
        status, reason = "open", str(error)
    except NoMeaningError as error:
        status, reason = "open", f"{error} has no meaning yet"
    except z3.Z3Exception as error:
        status, reason = "open", f"the solver says: {error}"
    except Unproved as error:
        found = _counterexample(law) if refute else ""
        status, reason = ("refuted", found) if found else ("open", f"it does not follow {error}")
    except Exception as error:  # of what no law had before: said, and no proof
        status, reason = "open", f"the prover fails: {type(error).__name__}: {error}"
    spent = time.process_time() - began
    return LawProof(
        law.key, status, reason, state.arithmetic, state.ranks, state.cases, spent,
        tuple(sorted(state.notes)),
    )  # fmt: skip


def _counterexample(law: Law) -> str:
    """What the gate says of an example on which a law is wrong; nothing where it finds none."""
    try:
        check_law(law, conditions=False, neighbours=False)
    except LawRefusedError as error:
        return str(error)
    return ""


OF_MATRICES = frozenset(("matmul", "einsum"))


def least_rank(side: Side) -> int:
    """The rank up to which a statement has to be looked at.

    Axes that no attribute names are all treated alike, so one that is broadcast and one that is not are
    enough.  An attribute names axes in front of others, behind them, and two at once: that is three.  A
    permutation of three axes is not its own inverse, as those of two are; and products have two axes of
    their own, next to which two can be exchanged.
    """
    terms = (*side.tops, *side.named.values(), *side.written)
    every = {part for top in terms for part in parts(top)}
    sorts = {part.sort.name for part in every}
    heads = {getattr(part.head, "name", "") for part in every}
    if "Permutation" in sorts:
        return 4 if heads & OF_MATRICES else 3
    return 3 if sorts & NAMING_AXES or heads & OF_MATRICES else 2


NAMING_AXES = frozenset("Axis Axes Cut Dims Pads Place Ranges Sizes Slices Steps".split())
"""Sorts of attributes that tell axes apart."""

CLAIMED: dict[str, Arithmetic] = {"bitwise": "bitwise", "finite": "finite"}
"""By class of a law what it has to be proved in; others are about real numbers."""


@dataclass
class _State:
    """How far a law is proved.

    Attributes:
        arithmetic: the one that the law claims.
        of_symbols: why it is not shown where dims are symbols to the host.
    """

    law: Law
    stop: Callable[[], bool]
    seconds: float
    arithmetic: Arithmetic
    ranks: int = MOST_RANK
    of_symbols: str = ""
    cases: int = 0
    notes: set[str] = field(default_factory=set)
    asks_dims: bool = False
    new: int = 0

    def shortfall(self) -> str:
        """What is missing where the law claims more than follows."""
        return f"it holds where dims are numbers; of symbols: {self.of_symbols}" if self.of_symbols else ""

    def take(self, side: Side) -> None:
        """Prove a statement: rank after rank with numbers for dims, then with symbols.

        Raises:
            Unproved: one of its cases does not follow.
            Open: time is up before `least_rank` is reached, or no case meets the conditions.
        """
        self.asks_dims, least = False, least_rank(side)
        numbers, reached = self._follow(side, range(least + 1), False, self.stop), least
        while not numbers and reached < MOST_RANK:  # a law of images, say
            reached += 1
            numbers = self._follow(side, range(reached + 1), False, self.stop, new=True)
        if self.asks_dims or not numbers:  # else symbols are the same to it
            self._of_symbols(side, numbers, reached if reached > least and numbers else 0)
        until = time.process_time() + self.seconds * SHARE_OF_RANKS
        with suppress(Open):
            for rank in range(reached + 1, MOST_RANK + 1):
                stop = lambda: self.stop() or time.process_time() > until  # noqa: E731
                self._follow(side, range(rank + 1), False, stop, new=True)
                reached = rank
        self.ranks = min(self.ranks, reached)

    def _of_symbols(self, side: Side, numbers: int, only: int) -> None:
        """Prove a statement where dims are symbols.

        Args:
            only: the least rank that there is a case of, where it is above that which has to be reached.
        """
        try:
            ranks = range((only or MOST_RANK_OF_SYMBOLS) + 1)
            found = self._follow(side, ranks, True, self.stop, new=bool(only))
        except (Open, NoMeaningError) as error:
            if not numbers:
                raise
            self.of_symbols = str(error)
        else:
            if not found and not numbers:
                raise Open(f"no case that was looked at meets the conditions of statement {side.rule}")

    def _follow(
        self, side: Side, ranks: Sequence[int], texts: bool, stop: Callable[[], bool], *, new: bool = False
    ) -> int:
        """How many cases follow; where only the highest rank is new, those that have it."""
        self.new = ranks[-1] if new else 0
        found = self._weakly(side, ranks, texts) or self._cases(side, ranks, texts, stop)
        self.cases += found
        return found

    def _weakly(self, side: Side, ranks: Sequence[int], texts: bool) -> int:
        """How many cases follow without conditions; 0 where it has some and needs them."""
        if not any(map(is_question, (*side.statement.conditions, *side.conditions))):
            return 0
        until = time.process_time() + self.seconds * SHARE_OF_WEAK
        try:
            return self._cases(
                side, ranks, texts, lambda: self.stop() or time.process_time() > until, weakly=True
            )
        except (Open, Unproved, NoMeaningError):
            return 0

    def _cases(
        self, side: Side, ranks: Sequence[int], texts: bool, stop: Callable[[], bool], *, weakly: bool = False
    ) -> int:
        return sum(explore(lambda path: self._case(side, path, ranks, texts, weakly), stop))

    def _case(self, side: Side, path: Path, ranks: Sequence[int], texts: bool, weakly: bool) -> int:
        most_axes = max(ranks[-1], MOST_AXES)
        scene = Instance(path, arithmetic=self.arithmetic, most_axes=most_axes, texts=texts)
        if side.asks_tables:
            side = _joined(side, scene)
        sides = Sides(side, scene, ranks, new=self.new)
        try:
            sides.match(weakly=weakly)
            matched = dict(sides.environment)
            try:
                _show_goals(sides)
            except Unproved:
                sides.go_back(matched)
                if not scene.split():
                    raise
                _show_goals(sides)
        finally:
            self.asks_dims |= scene.asks_dims
        self.notes |= scene.notes
        return 1


def _joined(side: Side, scene: Instance) -> Side:
    """A statement with what fills the tables that it asks, for any rules that do."""
    scene.notes.add(f"entries of tables are filled by at most {MOST_STEPS} rules")
    try:
        return side.joined_by(scene.choose, MOST_STEPS)
    except Rejected as error:
        raise Dead from error


def _show_goals(sides: Sides) -> None:
    """Show that one of the pairs that have to be equal is; each is another path.

    Raises:
        Unproved: it does not follow.
    """
    pairs = [pair for goal in sides.goals() for pair in _pairs(*goal)]
    if pairs:
        _show(sides.scene, *pairs[sides.scene.choose(len(pairs))])


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]]:
    """The tensors that have to be one, of bundles their outputs."""
    if not (isinstance(left, tuple) and isinstance(right, tuple)):
        return [(left, right)]
    if len(left) != len(right):
        raise Unproved("that there are as many outputs")
    return list(zip(left, right, strict=True))


def _show(scene: Instance, left: Any, right: Any) -> None:
    """Show that two values are one.

    Raises:
        Unproved: it does not follow.
    """
    if left is None or right is None:
        if left is not right:
            raise Unproved("that an operand is there")
        return
    assert isinstance(left, Value) and isinstance(right, Value)
    if left is right:
        return
    if left.rank != right.rank:
        raise Unproved(f"that the ranks are equal: {left.rank} and {right.rank}")
    for a, b in zip(left.shape, right.shape, strict=True):
        if not scene.same(a, b) and not prove_equal(scene, a, b):
            raise Unproved(f"that dims are equal: {a} and {b}")
    if scene.root(left.dtype) != scene.root(right.dtype) and left.dtype() != right.dtype():
        raise Unproved("that the types are equal")
    if left.origin is right.origin:  # views with the same dims
        return
    scene.showing = False
    index = [_index(scene, dim) for dim in right.shape]
    scene.showing = True
    a, b = (decided(scene.path.follows, value.at(index)) for value in (left, right))
    if not prove_equal(scene, a, b):
        raise Unproved(f"that elements are equal: {z3.simplify(a)} and {z3.simplify(b)}"[:600])


def _index(scene: Instance, dim: z3.ArithRef) -> z3.ArithRef:
    """Any index along an axis."""

    def fresh(bound: z3.ArithRef) -> z3.ArithRef:
        made = scene.whole("i")
        scene.path.assume(z3.And(made >= 0, made < bound))  # there is none where the bound is 0
        return made

    return index_below(z3.simplify(dim), fresh)
